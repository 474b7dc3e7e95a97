//===- Groups.h - Where groups and their scales lie -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading of group offsets, and the addresses of values and scales in the
// storage of a scaled tensor. A scaled tensor is seen as `batches` matrices of
// `lines`, each of `length` values in blocks that share a scale; with blocks
// along dimension -2 the lines are the columns of the stored matrix.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_GROUPS_H
#define NVFP4_LIB_REFERENCE_GROUPS_H

#include "nvfp4/Format/BlockFormat.h"
#include "nvfp4/Format/ScaleLayout.h"
#include "nvfp4/Reference/Value.h"

namespace nvfp4::reference {

/// The ranges of the groups of a ragged dimension of `extent` elements, or, for
/// masked grouping, [0, count) of each group. Fails on offsets that decrease,
/// are not aligned or lie outside.
llvm::Expected<llvm::SmallVector<GroupRange>>
resolveGroups(gsg::GroupingAttr grouping, const Tensor &offsets,
              int64_t extent);

/// The groups of a grouped operation, resolved from its operands.
struct ResolvedGroups {
  gsg::GroupingKind kind = gsg::GroupingKind::Dense;
  llvm::SmallVector<GroupRange> ranges;
};

/// Where the scales of each group start for a scaled tensor whose dimension
/// `raggedDim` is shared by groups.
llvm::Expected<std::shared_ptr<const GroupMap>>
mapGroups(gsg::ScaledType type, int64_t raggedDim,
          llvm::ArrayRef<GroupRange> ranges);

/// The shape of the scales of a result that is allocated here: the static
/// shape, with the extents that depend on groups as small as they can be.
llvm::SmallVector<int64_t> scaleShapeFor(gsg::ScaledType type,
                                         const GroupMap *groups);

/// Addresses in the storage of a scaled tensor of static shape.
class ScaledAddress {
public:
  /// Fails when the scales are too few for the groups. `groups` may be null.
  static llvm::Expected<ScaledAddress>
  create(gsg::ScaledType type, llvm::ArrayRef<int64_t> scaleShape,
         std::shared_ptr<const GroupMap> groups);

  int64_t batches() const { return numBatches; }
  int64_t lines() const { return numLines; }
  int64_t length() const { return lineLength; }
  int64_t blockSize() const { return block; }
  /// Lines, and blocks, run along rows.
  bool isTransposed() const { return transposed; }
  format::BlockFormat format() const { return kind; }
  const GroupMap *groups() const { return map.get(); }

  /// The group that a line (or, with groups along K, position k of any line)
  /// belongs to; -1 outside every group, 0 without groups.
  int64_t groupOf(int64_t line, int64_t k) const;
  /// The first position along the line of `group`, and how many there are.
  GroupRange rangeAlong(int64_t group) const;

  /// The index of a code, in nibbles for FP4 and bytes for FP8.
  int64_t code(int64_t batch, int64_t line, int64_t k) const {
    int64_t row = transposed ? k : line;
    int64_t column = transposed ? line : k;
    return (batch * storedRows + row) * rowStride + column;
  }
  /// The byte index of the scale of block `b`, counted from the start of
  /// `group` where groups lie along the line.
  int64_t scale(int64_t batch, int64_t line, int64_t group, int64_t b) const;
  /// The same of position k of a line, in a group or outside, where scales
  /// start with their lines (`starts = whole`).
  int64_t wholeScale(int64_t batch, int64_t line, int64_t k) const {
    return place(batch, line, k / block);
  }

private:
  int64_t place(int64_t batch, int64_t i, int64_t j) const;

  format::BlockFormat kind = format::BlockFormat::NVFP4;
  bool transposed = false;
  int64_t numBatches = 1, numLines = 1, lineLength = 0, block = 16;
  int64_t storedRows = 1, rowStride = 0;
  format::ScaleMatrix matrix;
  std::shared_ptr<const GroupMap> map;
};

/// Part of a line: positions of one group, from its first.
struct GroupPiece {
  int64_t group;
  GroupRange range;
};

/// The parts of a line of a matrix that are in groups.
llvm::SmallVector<GroupPiece> piecesOf(const ScaledAddress &address,
                                       const ResolvedGroups &groups,
                                       int64_t batch, int64_t line);

/// The code at index `code(...)` of the values of a scaled tensor.
inline uint8_t readCode(llvm::ArrayRef<uint8_t> bytes, bool fp4,
                        int64_t index) {
  if (!fp4)
    return bytes[static_cast<size_t>(index)];
  uint8_t byte = bytes[static_cast<size_t>(index / 2)];
  return static_cast<uint8_t>((index & 1) != 0 ? byte >> 4 : byte & 15);
}

/// Replaces that code.
inline void writeCode(llvm::MutableArrayRef<uint8_t> bytes, bool fp4,
                      int64_t index, uint8_t code) {
  if (!fp4) {
    bytes[static_cast<size_t>(index)] = code;
    return;
  }
  uint8_t &byte = bytes[static_cast<size_t>(index / 2)];
  byte = static_cast<uint8_t>((index & 1) != 0 ? (byte & 15) | code << 4
                                               : (byte & 0xf0) | (code & 15));
}

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_GROUPS_H
