//===- InterpreterOptions.h - Extent and limits of a run --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_INTERPRETEROPTIONS_H
#define NVFP4_REFERENCE_INTERPRETEROPTIONS_H

#include <cstdint>

namespace nvfp4::reference {

/// The outputs of products to compute. The others have an infinite bound, so
/// that comparisons skip them. The first and the last row and column are always
/// among the sample.
struct SampleSpec {
  /// Rows of each group, and columns of each result; 0 means all.
  int64_t maxRows = 0;
  int64_t maxColumns = 0;
  uint64_t seed = 0;
};
/// The terms that the compared implementation adds with rounding, where both
/// operands are FP4 (docs/Spec.md, section 3).
enum class ProductTerms {
  /// Exact sums of blocks, scaled: x86-64 and sm_100a.
  Blocks,
  /// Scaled products of elements: sm_90a, whose wgmma knows no blocks.
  Elements
};
/// Limits of an interpretation, which fails with a message beyond them.
struct InterpreterOptions {
  /// The largest tensor, in bytes of the interpreter's memory.
  int64_t maxTensorBytes = int64_t{8} << 30;
  /// How many operations may run before the program counts as endless.
  int64_t maxSteps = int64_t{1} << 30;
  /// How deep calls may nest.
  int maxCallDepth = 64;
  /// Threads of a product; 0 means as many as the machine has.
  unsigned threads = 0;
  /// Decides how far products may be from the exact ones.
  ProductTerms terms = ProductTerms::Blocks;
  SampleSpec sample;
};

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_INTERPRETEROPTIONS_H
