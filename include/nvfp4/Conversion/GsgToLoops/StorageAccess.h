//===- StorageAccess.h - values and scales in memory ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the elements, codes and scales of the operations on memrefs lie, as
// addresses and 64-bit arithmetic. A tensor is seen as batches of lines: a line
// runs along the dimension that the blocks run along, by default the last one.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_STORAGEACCESS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_STORAGEACCESS_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Format/BlockFormat.h"

namespace nvfp4::gsg::loops {

using arithmetic::LoopBuilder;
using arithmetic::MathBuilder;

/// A memref taken apart: the address of its first element, extents and strides
/// in elements (i64, constants where the type knows them).
struct MemRefParts {
  mlir::Value address;
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::Type element;
  int64_t elementBytes = 1;
  /// In memory of a device, a power of two of bytes that every row begins at a
  /// multiple of; at most 16, to which that memory is aligned.
  int64_t rowAlignment = 1;
  /// The last stride is 1 for sure.
  bool isContiguous = false;

  static MemRefParts get(MathBuilder &mb, mlir::Value memref);
  /// A number for each row, as rows of one column.
  static MemRefParts getColumn(MathBuilder &mb, mlir::Value memref);
  int64_t getRank() const { return static_cast<int64_t>(sizes.size()); }
  /// The product of all extents but the last.
  mlir::Value rows(MathBuilder &mb) const;
  mlir::Value columns(MathBuilder &mb) const;
  /// The address of element 0 of row `row`, counted through all leading
  /// dimensions.
  mlir::Value rowAddress(MathBuilder &mb, mlir::Value row) const;
};

/// A position in a tensor: batch, line in the batch, position along the line.
struct Position {
  mlir::Value batch, line, along;
};

/// lane < count for each of `lanes` lanes, as vector<lanes x i1>.
mlir::Value emitLaneMask(MathBuilder &mb, mlir::Value count, int64_t lanes);

/// Loads `lanes` values of type bf16, f16 or f32 at `address` as f32; with a
/// mask, lanes outside are zero and not read.
mlir::Value emitLoadReals(MathBuilder &mb, mlir::Type element,
                          mlir::Value address, int64_t lanes,
                          mlir::Value mask = {}, int64_t alignment = 1);
/// Rounds f32 values to `element` and stores the first `count` of them, or all.
void emitStoreReals(MathBuilder &mb, mlir::Type element, mlir::Value values,
                    mlir::Value address, mlir::Value count = {},
                    int64_t alignment = 1);

/// A tensor of bf16, f16 or f32 seen as lines.
struct RealLines {
  MemRefParts parts;
  /// Lines run along dimension -2.
  bool transposed = false;
  /// Vectors start at any element, not at multiples of their length only.
  bool anyPhase = false;

  mlir::Value address(MathBuilder &mb, const Position &at) const;
  /// `lanes` values from `at` on; with a count, lanes from it on are zero and
  /// not read.
  mlir::Value load(MathBuilder &mb, const Position &at, int64_t lanes,
                   mlir::Value count) const;
  void store(MathBuilder &mb, mlir::Value values, const Position &at,
             mlir::Value count) const;
};

/// The codes of a scaled tensor. With FP4 two neighbours along the last
/// dimension share a byte.
struct CodeLines {
  MemRefParts parts;
  format::ElementKind kind = format::ElementKind::E2M1;
  bool transposed = false;
  /// Lines may be entered in the middle of a byte.
  bool anyPhase = false;
  /// How many transposed lines there are, or null: the half of a byte that
  /// follows the last of an odd number is cleared with it.
  mlir::Value lines = {};

  /// vector<lanes x i8>, one code in the low bits of each.
  mlir::Value load(MathBuilder &mb, const Position &at, int64_t lanes,
                   mlir::Value count) const;
  void store(MathBuilder &mb, mlir::Value codes, const Position &at,
             mlir::Value count) const;

private:
  bool isFP4() const { return kind == format::ElementKind::E2M1; }
  /// The address of the byte, and the bit where the code starts (i8, FP4).
  std::pair<mlir::Value, mlir::Value> locate(MathBuilder &mb,
                                             const Position &at) const;
  /// From a whole byte on.
  mlir::Value loadPacked(MathBuilder &mb, const Position &at, int64_t lanes,
                         mlir::Value count) const;
  mlir::Value loadOneByOne(MathBuilder &mb, const Position &at, int64_t lanes,
                           mlir::Value count) const;
  void storeOneByOne(MathBuilder &mb, mlir::Value codes, const Position &at,
                     int64_t lanes, mlir::Value count) const;
};

/// The scales of a scaled tensor, in any layout.
struct ScaleLines {
  MemRefParts parts;
  ScaledType type;

  static ScaleLines get(MathBuilder &mb, mlir::Value memref, ScaledType type);
  /// How many lines, and blocks of a line, there is room for.
  mlir::Value numLines(MathBuilder &mb) const;
  mlir::Value numBlocks(MathBuilder &mb) const;
  /// The address of the scale of block `at.along`.
  mlir::Value address(MathBuilder &mb, const Position &at) const;
  /// Sets every byte, padding included.
  void fill(LoopBuilder &mb, uint8_t byte) const;

private:
  mlir::Value numRows(MathBuilder &mb) const;
  mlir::Value numColumns(MathBuilder &mb) const;
  /// The first of the dimensions of one matrix.
  int64_t matrixDim() const;
};

/// Logical extents of a scaled tensor of type `type`.
struct LineExtents {
  mlir::Value batches, lines, length;
  /// From the extents of a tensor of the logical shape.
  static LineExtents get(MathBuilder &mb, ScaledType type,
                         const MemRefParts &logical);
  /// From the type, and where it is dynamic from the packed values.
  static LineExtents getPacked(MathBuilder &mb, ScaledType type,
                               const MemRefParts &packed);
};

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_STORAGEACCESS_H
