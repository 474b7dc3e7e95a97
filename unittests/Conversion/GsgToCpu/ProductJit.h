//===- ProductJit.h - functions on memrefs, compiled and run ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers a module whose function @f holds operations in storage form through
// gsg-expand-epilogue, convert-gsg-to-cpu and upstream passes, and runs it in
// process. Buffers end at guard pages and start as bytes 0xFF, which is NaN in
// every float format.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTJIT_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTJIT_H

#include "GuardedBuffer.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"

#include <memory>
#include <string>
#include <vector>

namespace nvfp4::gsg::cpu {

/// One memref argument with its memory.
class Buffer {
public:
  /// `element` is the MLIR spelling; the first extent is written `?` if
  /// `dynamic`.
  Buffer(std::string name, std::vector<int64_t> shape, std::string element,
         int64_t elementBytes, bool dynamic = false);

  std::string name, type;
  std::vector<int64_t> shape;
  int64_t count;
  std::unique_ptr<GuardedBuffer> memory;
  uint8_t *bytes() { return memory->data(); }
  int64_t byteCount() const { return memory->size(); }
  template <typename T> T *as() { return memory->as<T>(); }
  /// The words of the memref descriptor.
  std::vector<int64_t> descriptor();
};

/// The arguments of @f. References stay valid.
class Arguments {
public:
  Buffer &add(std::string name, std::vector<int64_t> shape, std::string element,
              int64_t elementBytes, bool dynamic = false);
  /// "%a: memref<..>, .."
  std::string signature() const;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

struct RunOptions {
  /// As the pass option `isa`.
  std::string isa = "auto";
  /// 0: one thread without OpenMP.
  int threads = 0;
};

/// Compiles `module` for `options`; null after a message.
std::unique_ptr<mlir::ExecutionEngine> compile(const std::string &module,
                                               const RunOptions &options);

/// Runs @f of `engine`.
bool run(mlir::ExecutionEngine &engine, Arguments &arguments,
         const RunOptions &options);

/// Whether OpenMP's library was found.
bool haveThreads();

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTJIT_H
