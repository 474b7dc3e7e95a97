//===- ScaleLayout.h - where a scale byte lives -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The byte layouts of a matrix of scales (one row per matrix row, one column
// per block along K) and the rules that say where a group of a ragged problem
// starts in a shared scale buffer. All offsets are 64-bit.
//
// Every layout obeys one decomposition, which code generators rely on:
//   offset(i, j) = rowBase(i) + (j / 4) * wordStride + j % 4
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_SCALELAYOUT_H
#define NVFP4_FORMAT_SCALELAYOUT_H

#include "nvfp4/Format/Enums.h"

#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nvfp4::format {
/// Where the scale of a row and a block lies.
enum class ScaleLayout {
  /// Row-major, nothing padded.
  Linear,
  /// Tiles of 128 rows x 4 columns; memory order (R/128, C/4, 32, 4, 4).
  Blocked128x4,
  /// Tiles of 8 rows x 4 columns; memory order (R/8, C/4, 8, 4).
  Blocked8x4,
  /// 32-bit words of four columns, words of consecutive rows adjacent; rows
  /// padded to 4 so that each word column starts on 16 bytes.
  PackedUE8M0,
};

/// The name in IR and on command lines.
constexpr std::string_view stringify(ScaleLayout layout) {
  switch (layout) {
  case ScaleLayout::Linear:
    return "linear";
  case ScaleLayout::Blocked128x4:
    return "blocked";
  case ScaleLayout::Blocked8x4:
    return "blocked_8x4";
  case ScaleLayout::PackedUE8M0:
    return "packed_ue8m0";
  }
  return "";
}

/// The layout called `name`, or nothing.
constexpr std::optional<ScaleLayout> parseScaleLayout(std::string_view name) {
  for (ScaleLayout layout : {ScaleLayout::Linear, ScaleLayout::Blocked128x4,
                             ScaleLayout::Blocked8x4, ScaleLayout::PackedUE8M0})
    if (stringify(layout) == name)
      return layout;
  return std::nullopt;
}

/// Rows are padded to a multiple of this.
constexpr int64_t rowAlignment(ScaleLayout layout) {
  switch (layout) {
  case ScaleLayout::Linear:
    return 1;
  case ScaleLayout::Blocked128x4:
    return 128;
  case ScaleLayout::Blocked8x4:
    return 8;
  case ScaleLayout::PackedUE8M0:
    return 4;
  }
  return 1;
}

/// Scale columns are padded to a multiple of this.
constexpr int64_t columnAlignment(ScaleLayout layout) {
  return layout == ScaleLayout::Linear ? 1 : 4;
}

/// The smallest multiple of `alignment` that is >= `value` (both >= 0).
constexpr int64_t roundUp(int64_t value, int64_t alignment) {
  return (value / alignment + (value % alignment != 0 ? 1 : 0)) * alignment;
}

/// A matrix of scales in memory: `rows` x `columns` meaningful bytes.
struct ScaleMatrix {
  ScaleLayout layout = ScaleLayout::Linear;
  int64_t rows = 0;
  int64_t columns = 0;

  constexpr int64_t paddedRows() const {
    return roundUp(rows, rowAlignment(layout));
  }
  constexpr int64_t paddedColumns() const {
    return roundUp(columns, columnAlignment(layout));
  }

  /// Bytes of the whole matrix, padding included; also the distance between
  /// the matrices of a batch.
  constexpr int64_t totalBytes() const {
    return paddedRows() * paddedColumns();
  }

  /// False for negative extents and for sizes past 2^62 bytes, for which the
  /// other members must not be called. For data that comes from outside.
  constexpr bool isRepresentable() const {
    constexpr int64_t limit = int64_t{1} << 62;
    if (rows < 0 || columns < 0 || rows > limit - 128 || columns > limit - 4)
      return false;
    return paddedColumns() == 0 || paddedRows() <= limit / paddedColumns();
  }

  /// Bytes from a group of four columns to the next in one row.
  constexpr int64_t wordStride() const {
    switch (layout) {
    case ScaleLayout::Linear:
      return 4;
    case ScaleLayout::Blocked128x4:
      return 512;
    case ScaleLayout::Blocked8x4:
      return 32;
    case ScaleLayout::PackedUE8M0:
      return 4 * paddedRows();
    }
    return 0;
  }

  /// The offset of column 0 of row `i`.
  constexpr int64_t rowBase(int64_t i) const {
    switch (layout) {
    case ScaleLayout::Linear:
      return i * columns;
    case ScaleLayout::Blocked128x4:
      return i / 128 * (paddedColumns() * 128) + i % 32 * 16 + i % 128 / 32 * 4;
    case ScaleLayout::Blocked8x4:
      return i / 8 * (paddedColumns() * 8) + i % 8 * 4;
    case ScaleLayout::PackedUE8M0:
      return 4 * i;
    }
    return 0;
  }

  /// The byte offset of row `i`, scale column `j`; padding rows and columns may
  /// be addressed too.
  constexpr int64_t offset(int64_t i, int64_t j) const {
    assert(i >= 0 && i < paddedRows() && j >= 0 && j < paddedColumns());
    return rowBase(i) + j / 4 * wordStride() + j % 4;
  }
};

/// Rewrites a scale matrix into another layout. Both describe the same rows and
/// columns; `out` is filled completely, padding with `padding` (see
/// paddingScale). False, with `out` untouched, when the extents differ or a
/// span is not exactly totalBytes() long.
[[nodiscard]] bool relayoutScales(const ScaleMatrix &from,
                                  std::span<const uint8_t> in,
                                  const ScaleMatrix &to, std::span<uint8_t> out,
                                  uint8_t padding);

/// The UpperBound start row of group `group` whose unpadded first row is
/// `firstRow`, for rows aligned to `alignment`.
constexpr int64_t upperBoundStart(int64_t firstRow, int64_t group,
                                  int64_t alignment) {
  return (firstRow + (alignment - 1) * group) / alignment * alignment;
}

/// Start rows in the scale buffer of a problem with ragged rows. Group g covers
/// the matrix rows firstRow[g] .. firstRow[g]+rowCount[g]; firstRow does not
/// decrease and groups do not overlap. Writes starts[g]; returns the rows that
/// the buffer needs (a multiple of the row alignment).
int64_t groupStartRows(GroupStart rule, ScaleLayout layout,
                       std::span<const int64_t> firstRow,
                       std::span<const int64_t> rowCount,
                       std::span<int64_t> starts);

/// Start scale columns of a problem with ragged K: sums of the padded scale
/// column counts of the groups before. Blocks never straddle groups. Writes
/// starts[g]; returns the columns that the buffer needs.
int64_t groupStartScaleColumns(ScaleLayout layout, int64_t blockSize,
                               std::span<const int64_t> groupK,
                               std::span<int64_t> starts);

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_SCALELAYOUT_H
