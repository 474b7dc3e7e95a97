//===- Compare.h - Does a result agree with the reference? ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares what a target computed with what the interpreter computed, element
// by element against the interpreter's bounds. Elements that the reference
// leaves unspecified (rows outside every group of a fresh destination, outputs
// that sampling left out) are skipped and counted.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_COMPARE_H
#define NVFP4_REFERENCE_COMPARE_H

#include "nvfp4/Reference/Value.h"

#include <string>

namespace nvfp4::reference {
/// How results are held against the interpreter's.
struct CompareOptions {
  /// Demand the bits of the reference rounded to the element type (zeros of
  /// either sign agree), whatever the bounds are: for lattice inputs.
  bool exact = false;
  /// Multiplies every bound.
  double boundFactor = 1.0;
};

/// The result of a comparison.
struct CompareReport {
  bool passed = false;
  /// Why the tensors cannot be compared; empty when they can.
  std::string error;
  int64_t compared = 0;
  /// Elements that the reference does not specify.
  int64_t skipped = 0;
  int64_t failures = 0;
  /// The comparison was CompareOptions::exact; of the failures, those within
  /// the bound.
  bool exact = false;
  int64_t failuresWithinBound = 0;
  /// Elements of which exactly one is NaN.
  int64_t nanMismatches = 0;
  /// Elements that are NaN in both, which agree.
  int64_t bothNan = 0;
  /// Against the reference before it is rounded to the element type, where it
  /// has a bound and the comparison is not exact, so that half a step is an
  /// error too; else against the rounded one.
  double maxAbsError = 0.0;
  /// The largest error divided by its bound; infinity where the bound is zero
  /// and the error is not.
  double maxBoundRatio = 0.0;
  /// Row-major index of the element that decides maxBoundRatio, and its values.
  int64_t worstIndex = -1;
  double worstActual = 0.0, worstExpected = 0.0, worstBound = 0.0;
  /// ||actual - reference|| / ||reference||.
  double relativeL2 = 0.0;
  /// Fraction of compared elements that equal the rounded reference.
  double exactFraction = 1.0;
  /// Scaled tensors: fractions of codes and of scales whose bytes are equal,
  /// and codes that are one or more steps away under an equal scale.
  double codesEqualFraction = 1.0;
  double scalesEqualFraction = 1.0;
  int64_t oneStepFlips = 0;
  int64_t largerFlips = 0;

  /// One line of text.
  std::string str() const;
};

/// Compares tensors of one element type and shape.
CompareReport compare(const Tensor &actual, const Tensor &reference,
                      const CompareOptions &options = {});

/// Compares scaled tensors by their dequantised values (value times scale).
/// `actualScales` may be larger than the reference's; padding is not compared.
CompareReport compare(const Tensor &actualData, const Tensor &actualScales,
                      const ScaledValue &reference,
                      const CompareOptions &options = {});

/// Compares any two values of the same kind.
CompareReport compare(const Value &actual, const Value &reference,
                      const CompareOptions &options = {});

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_COMPARE_H
