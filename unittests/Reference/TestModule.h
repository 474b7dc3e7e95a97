//===- TestModule.h - Running .mlir text in tests ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a module, runs one function, and makes operands whose codes and
// scales are plain arrays, so that a test can compute its own answer.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_REFERENCE_TESTMODULE_H
#define NVFP4_UNITTESTS_REFERENCE_TESTMODULE_H

#include "nvfp4/Reference/Compare.h"
#include "nvfp4/Reference/Interpreter.h"

#include "gtest/gtest.h"

#include <random>
#include <string>
#include <vector>

namespace nvfp4::reference::test {

/// The results of `function`, or what went wrong as text.
struct Outcome {
  std::vector<Value> results;
  std::string error;

  const Tensor &tensor(size_t i = 0) const {
    return std::get<Tensor>(results.at(i));
  }
  const ScaledValue &scaled(size_t i = 0) const {
    return std::get<ScaledValue>(results.at(i));
  }
};

/// Parses `text` and runs `@f` in it.
Outcome run(const std::string &text, std::vector<Value> args,
            InterpreterOptions options = {});

/// A random NVFP4 matrix (or stack of them) with linear scales whose products
/// are exact in f32: any code, scales 1 and 2.
struct Lattice {
  int64_t batches, rows, columns;
  /// One code and one scale byte an element and a block.
  std::vector<uint8_t> codes, scales;

  Lattice(int64_t batches, int64_t rows, int64_t columns, uint32_t seed);
  /// The value of an element, scale included, by a table of its own.
  double at(int64_t batch, int64_t row, int64_t column) const;
  /// Packed values and scales, of rank 2, or 3 with `stacked`.
  std::vector<Value> values(bool stacked = false) const;
};

inline Value reals(Element element, std::vector<int64_t> shape,
                   std::vector<double> values) {
  return Tensor::ofReals(element, shape, std::move(values));
}
inline Value integers(Element element, std::vector<int64_t> shape,
                      std::vector<int64_t> values) {
  return Tensor::ofIntegers(element, shape, std::move(values));
}
inline Value f32(double x) { return Scalar::ofReal(Element::F32, {x, 0.0}); }
/// A tensor that nobody wrote.
inline Value fresh(Element element, std::vector<int64_t> shape) {
  return Tensor::unwritten(element, shape);
}

/// Joins argument lists.
std::vector<Value> join(std::initializer_list<std::vector<Value>> parts);

} // namespace nvfp4::reference::test

#endif // NVFP4_UNITTESTS_REFERENCE_TESTMODULE_H
