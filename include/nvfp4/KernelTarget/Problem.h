//===- Problem.h - a product as the cost model sees it ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents, formats and what the epilogue moves; no values and no IR.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_PROBLEM_H
#define NVFP4_KERNELTARGET_PROBLEM_H

#include "nvfp4/Format/BlockFormat.h"

#include <cstdint>
#include <vector>

namespace nvfp4::strategy {

/// The `kind` of tcgen05.mma: block-scaled, or of weights decoded to 16 bits.
enum class InstructionKind { MXF4NVF4, MXF4, MXF8F6F4, F16 };

/// What happens to the accumulator; bits are for one element of the product z.
struct Epilogue {
  /// Bits written to and read from DRAM: results, pre-activation; addend.
  double storedBits = 16;
  double loadedBits = 0;
  /// Bytes of one buffer of shared memory through which they pass.
  int64_t stagedBytes = 2;
  /// There is an activation or a quantiser.
  bool heavy = false;
  /// Pairs of gate and up columns; blocks of `gateGranularity` rows of each
  /// alternate in the weights, 0 for halves.
  bool paired = false;
  int64_t gateGranularity = 0;
  /// Tiles begin at multiples of so many rows within their group: those of the
  /// blocks of transposed copies.
  int64_t rowBlock = 1;
};

/// A grouped product. Rows are tokens, n are rows of the weights.
struct Problem {
  /// `count` groups of one shape. Groups of the same weights (a batch) count
  /// as groups with weights of their own.
  struct Group {
    int64_t count;
    int64_t rows;
    int64_t n;
    int64_t k;
  };
  std::vector<Group> groups;
  format::BlockFormat lhs = format::BlockFormat::NVFP4;
  format::BlockFormat rhs = format::BlockFormat::NVFP4;
  /// Rows are of 16 bits without scales, and `lhs` says nothing.
  bool unscaledRows = false;
  /// The unscaled rows are f16 and not bf16.
  bool f16Rows = false;
  Epilogue epilogue;
  /// K is grouped (ragged_k): `wholeK` is what the groups share.
  bool groupedK = false;
  int64_t wholeK = 0;
  /// K is known only when the kernel is launched; groups have an assumed one.
  bool anyK = false;
  /// Extents of groups are read on the device.
  bool extentsOnDevice = false;
  /// Sums may be reordered (`determinism = relaxed`).
  bool relaxed = false;
  /// Only tiles of which convert-gsg-to-warpspec makes kernels are legal. Their
  /// launches pad rows along K, so that TMA can address all of them.
  bool forKernels = false;
  /// Multiprocessors to choose for, 0 for those of the target's largest device.
  int64_t multiprocessors = 0;

  /// Rows of all groups.
  int64_t getRows() const;
  /// The same divided by the groups, rounded up; 0 without groups.
  int64_t getRowsPerGroup() const;
};

/// The instruction that multiplies these formats.
InstructionKind getInstructionKind(const Problem &problem);

/// Elements along K of one tile: 128 bytes of shared memory a row, the span of
/// the widest swizzle, for scaled operands. 256 for FP4 x FP4, else 128.
int64_t getTileK(const Problem &problem);

/// Stored bits of an element with its share of the scale: 4.5, 4.25 or 8.25.
double storedBits(format::BlockFormat format);

/// The same of an element of the rows, which are 16 without scales.
double storedRowBits(const Problem &problem);

/// Groups of a product of `rows` rows over `count` groups, when tokens choose
/// `choices` different groups each at random: the numbers of rows are quantiles
/// of their distribution, those of groups without rows left out, in at most 16
/// classes of ascending numbers. Their sum is near `rows`. At most `capacity`
/// rows a group.
std::vector<Problem::Group> spreadRows(int64_t rows, int64_t count, int64_t n,
                                       int64_t k, int64_t capacity = INT64_MAX,
                                       int64_t choices = 1);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_PROBLEM_H
