//===- Product.h - a product as the CPU lowering sees it --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of any grouping form, or a list of products, is a table of problems
// in memory that is filled where the product runs. This header describes the
// table, the frame (the block of 64-bit words through which the code at the
// operation and the functions of the product talk), and what is known of a
// product when code is emitted.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCT_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCT_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include <optional>
#include <string>

namespace nvfp4::gsg::cpu {

using arithmetic::MathBuilder;

/// Rows of one tile task and of one preparation task.
inline constexpr int64_t kTaskRows = 128;
inline constexpr int64_t kPrepareRows = 16;
/// Panels that consecutive tasks compute of one block of rows.
inline constexpr int64_t kBandPanels = 16;

/// One problem: 64-bit words. Addresses and strides are in bytes. Scale rows
/// are counted from the address of the scales.
namespace problem {
enum Field : int64_t {
  Rows,
  /// Rows of the weights, and K.
  Columns,
  Depth,
  /// 1 if packed operands start at a high nibble.
  Phase,
  LhsData,
  LhsRowStride,
  LhsScales,
  LhsScaleRow,
  LhsTileStride,
  LhsWordStride,
  RhsData,
  RhsRowStride,
  RhsScales,
  RhsTileStride,
  RhsWordStride,
  /// Row 0 of the problem in these matrices.
  OutData,
  OutRowStride,
  AddendData,
  AddendRowStride,
  PreactData,
  PreactRowStride,
  /// Scales of a quantised result.
  OutScales,
  OutScaleRow,
  /// Number of the first row among the rows of all groups.
  FirstRow,
  /// Sums over the problems before.
  FirstRowBlock,
  FirstPrepareBlock,
  PreparedOffset,
  Count
};
} // namespace problem

/// The frame: words filled where the operation stands, then words filled by the
/// functions of the product.
class Frame {
public:
  using Slot = int64_t;

  /// A slot that holds `value`: i64, index, f32 or a pointer.
  Slot add(mlir::Value value) {
    values.push_back(value);
    return static_cast<Slot>(values.size()) - 1;
  }
  /// A slot without initial value.
  Slot reserve() { return add({}); }
  int64_t size() const { return static_cast<int64_t>(values.size()); }
  /// Stores all initial values.
  void write(MathBuilder &mb, mlir::Value frame) const;

private:
  llvm::SmallVector<mlir::Value> values;
};

/// A matrix a group, or one of all rows: address, strides and element type.
struct MatrixRef {
  Frame::Slot address, groupStride, rowStride;
  /// Rows are counted within the group (rank 3) or among all rows.
  bool perGroup = false;
  mlir::Type element;
};

/// The scales of an operand or result.
struct ScalesRef {
  Frame::Slot address, groupStride, tileStride, wordStride;
  ScaleLayout layout;
  GroupStart start;
  int64_t blockSize;
};

/// An f32 that is a scalar, one a group, or several a group.
struct GroupRef {
  enum Kind { Scalar, One, Several } kind;
  /// The value, or the address of an array.
  Frame::Slot slot;
  /// In bytes, of an array.
  Frame::Slot groupStride = 0;
};

/// An f32 a row, by number among all rows with ragged rows and within the group
/// otherwise; groupStride is in bytes, 0 if shared.
struct RowRef {
  Frame::Slot address, groupStride;
};

/// One entry a column; groupStride is in bytes, 0 if shared.
struct ColumnRef {
  Frame::Slot address, groupStride;
  mlir::Type element;
};

/// A transposed copy of the result.
struct CopyRef {
  CopyAttr attr;
  BlockFormat format;
  MatrixRef out;
  ScalesRef scales;
  std::optional<GroupRef> globalScale;
  std::optional<Frame::Slot> seed;
};

/// The functions of a kernel, and bytes of a row in a step of K that it
/// prepared.
struct KernelSlots {
  Frame::Slot prepareRows, gemmTile, stepBytes;
};

struct Product {
  explicit Product(mlir::Location loc) : loc(loc) {}

  mlir::Location loc;
  /// Prefix of the symbols of the product.
  std::string name;
  /// With rows without scales, lhsType is one of the block size of rhsType.
  ScaledType lhsType, rhsType;
  PlainRows plainRows = PlainRows::None;
  /// Whether the bits of a row may not depend on how many there are.
  bool isBatchInvariant = false;
  /// Null for a list.
  GroupingAttr grouping;
  bool fixedRhs = false;
  bool isList() const { return !grouping; }

  Frame frame;
  // Written where the operation stands.
  Frame::Slot table, numProblems, columns, depth, rowsPerGroup, totalRows;
  Frame::Slot groups = 0;
  unsigned groupsBits = 32;
  MatrixRef lhs, rhs, out;
  ScalesRef lhsScales, rhsScales;
  std::optional<MatrixRef> addend, preact;
  std::optional<ScalesRef> outScales;
  // Written for the instruction set that is chosen there: kernels for groups of
  // few rows and of at least `manyFrom`, and what follows them; rows that are
  // prepared together, and the larger of the two bytes of a step. `untiledRows`
  // may be null.
  KernelSlots few, many;
  Frame::Slot manyFrom, untiledRows, epilogue, store, copyTile, tileRows,
      stepBytes;
  // Written by the functions of the product.
  Frame::Slot rowBlocks, prepareBlocks, panels, preparedBytes, prepared, maxima;

  // The epilogue.
  std::optional<GroupRef> alpha, beta;
  std::optional<ColumnRef> bias;
  std::optional<RowRef> rowScale, prob;
  /// Which columns are pairs; null without.
  GateAttr gate;
  std::optional<GroupRef> activationParams;
  llvm::SmallVector<RowRef> rowOperands;
  llvm::SmallVector<ColumnRef> columnOperands;
  llvm::SmallVector<GroupRef> groupOperands;
  /// The expanded epilogue.
  mlir::Block *epilogueRegion = nullptr;
  QuantizerAttr quantizer;
  BlockFormat outFormat = BlockFormat::NVFP4;
  std::optional<GroupRef> globalScale;
  std::optional<Frame::Slot> seed;
  llvm::SmallVector<CopyRef> copies;
  std::optional<Frame::Slot> amax;
  bool zeroTail = false;

  bool isPaired() const { return static_cast<bool>(gate); }
  /// Result columns of one task.
  int64_t taskColumns() const { return isPaired() ? 32 : 64; }
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCT_H
