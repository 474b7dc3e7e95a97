//===- OpJit.h - operations on memrefs as callable functions ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a function of operations in storage form in process, and the
// arguments to call it with. Memory of arguments ends at a guard page.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_OPJIT_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_OPJIT_H

#include "GuardedBuffer.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace nvfp4::gsg::cpu {

/// The memory of one memref argument of identity layout, filled with bytes
/// 0xFF: NaN in every float format.
template <typename T> class Memory {
public:
  explicit Memory(std::vector<int64_t> extents)
      : shape(std::move(extents)), count(1) {
    for (int64_t extent : shape)
      count *= extent;
    buffer = std::make_unique<GuardedBuffer>(count *
                                             static_cast<int64_t>(sizeof(T)));
    std::memset(buffer->data(), 0xFF, static_cast<size_t>(buffer->size()));
  }
  Memory(std::vector<int64_t> extents, const std::vector<T> &values)
      : Memory(std::move(extents)) {
    std::copy_n(values.data(), static_cast<size_t>(count), buffer->as<T>());
  }

  T &operator[](int64_t i) { return buffer->as<T>()[i]; }
  T *data() { return buffer->as<T>(); }
  int64_t size() const { return count; }
  std::vector<T> values() { return {data(), data() + count}; }
  void fill(T value) { std::fill(data(), data() + count, value); }

  const std::vector<int64_t> shape;

private:
  int64_t count;
  std::unique_ptr<GuardedBuffer> buffer;
};

/// One argument: a memref or a scalar of at most 64 bits.
class Argument {
public:
  template <typename T> Argument(Memory<T> &memory) : isMemRef(true) {
    auto address = reinterpret_cast<intptr_t>(memory.data());
    words = {address, address, 0};
    words.insert(words.end(), memory.shape.begin(), memory.shape.end());
    std::vector<int64_t> strides(memory.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;)
      strides[i - 1] = strides[i] * memory.shape[i];
    words.insert(words.end(), strides.begin(), strides.end());
  }
  Argument(float value) : words(1) {
    std::memcpy(words.data(), &value, sizeof(value));
  }
  Argument(int64_t value) : words{value} {}

  std::vector<int64_t> words;
  bool isMemRef = false;
};

class OpJit {
public:
  /// Compiles `func.func @f(arguments) { body; return }` for this machine, or
  /// for any x86-64 if `baseline`.
  OpJit(const std::string &arguments, const std::string &body,
        bool baseline = false);

  bool succeeded() const { return engine != nullptr; }
  void operator()(std::vector<Argument> arguments) const;

private:
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_OPJIT_H
