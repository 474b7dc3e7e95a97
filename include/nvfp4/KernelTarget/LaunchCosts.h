//===- LaunchCosts.h - Times of kernels beside products ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicted times, in microseconds, of the kernels that route, sort, move and
// quantise tokens, and of one kernel that does some of these. The constants are
// those of an H200, from launches replayed from a graph (docs/Hopper.md).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_LAUNCHCOSTS_H
#define NVFP4_KERNELTARGET_LAUNCHCOSTS_H

#include <cstdint>

namespace nvfp4::strategy {

/// Tokens that move to experts: `experts` of which a token has `slots`, and
/// rows of `rowBytes`.
struct TokenMoves {
  int64_t experts;
  int64_t slots;
  int64_t rowBytes;

  /// So many entries, slots of all tokens, are counted faster by every block of
  /// one launch of sort_tokens than by launches one after another.
  static constexpr int64_t kFewEntries = 2048;

  /// Microseconds of a launch of the operation on an H200, with its start.
  double predictRoute(int64_t tokens) const;
  double predictSort(int64_t tokens) const;
  double predictPermute(int64_t tokens) const;
  double predictCombine(int64_t tokens) const;
  /// route, sort_tokens and, if `movesRows` is true, permute one after the
  /// other, each of which starts while the one before it ends.
  double predictApart(int64_t tokens, bool movesRows) const;
  /// All of it in one kernel, in which every block routes and sorts all tokens;
  /// without moving rows if `movesRows` is false.
  double predictOneLaunch(int64_t tokens, bool movesRows) const;
};

/// Rows of `columns` numbers of `rowBytes` that are quantised to
/// `quantizedBytes`, codes and scales, after a `permute` that makes `slots`
/// rows of a token.
struct QuantizedMoves {
  int64_t columns;
  int64_t slots;
  int64_t rowBytes;
  int64_t quantizedBytes;

  /// `permute`, and `quantize` of all rows.
  double predictApart(int64_t tokens) const;
  /// Both in one kernel, which quantises a token once for each row.
  double predictOneLaunch(int64_t tokens) const;
  /// `quantize` of the tokens, and a kernel that moves what it made.
  double predictOncePerToken(int64_t tokens) const;
  /// Rows of the tokens themselves.
  double predictQuantize(int64_t tokens) const;
};

/// Microseconds of one kernel that quantises the rows and the columns of a
/// matrix.
double predictBothDirections(int64_t rows, int64_t columns);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_LAUNCHCOSTS_H
