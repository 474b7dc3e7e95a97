//===- OperandSlicer.h - Operands of one tile of a product ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What TilingInterface needs to cut operands: which dimensions of a product are
// tiled, and for each operand the slice that a tile of the result needs.
// Offsets and sizes are in elements of the logical shape.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_OPERANDSLICER_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_OPERANDSLICER_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// Positions of the iteration dimensions; absent ones are not tiled.
struct TileDims {
  std::optional<unsigned> group, row, column;
};

TileDims getTileDims(GroupingKind kind);

/// An offset and a size along one dimension of an operand.
struct Span {
  mlir::OpFoldResult offset, size;
};
using Spans = llvm::SmallVector<std::pair<unsigned, Span>, 3>;

/// The extent of a tensor or memref along dimension `index`.
mlir::OpFoldResult getDim(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, int64_t index);

/// Cuts the operands of one operation for one tile.
class OperandSlicer {
public:
  OperandSlicer(mlir::OpBuilder &builder, MatmulOp op,
                llvm::ArrayRef<mlir::OpFoldResult> offsets,
                llvm::ArrayRef<mlir::OpFoldResult> sizes);

  /// For an operation on the tile of `group`, `row` and `column`.
  OperandSlicer(mlir::OpBuilder &builder, mlir::Operation *op,
                std::optional<Span> group, std::optional<Span> row,
                std::optional<Span> column);

  /// Finds the rows of the weights, or the columns of the pre-activation, that
  /// the columns of the tile need: `isWhole` says that they are all.
  mlir::LogicalResult computeWeightRows(ActivationAttr activation,
                                        bool isWhole);
  /// The same for a product.
  mlir::LogicalResult computeWeightRows(MatmulOp matmul);

  /// `expr` of d0 at `operand`, folded if that is known.
  mlir::OpFoldResult apply(mlir::AffineExpr expr, mlir::OpFoldResult operand);

  /// Slices `value` along the given dimensions.
  mlir::Value slice(mlir::Value value, const Spans &spans);

  /// Spans of an operand of rank 2 or 3 whose last two dimensions are
  /// (rows, something) and whose first of three is the group.
  Spans spansOf(int64_t rank, std::optional<Span> rows,
                std::optional<Span> columns = std::nullopt);

  /// Spans of a vector a column: `[N]` or `[G, N]`.
  Spans spansOfColumns(mlir::Value value, std::optional<Span> columns);

  /// Spans of a vector a row: `[M]`, or `[L, M]`.
  Spans spansOfRows(mlir::Value value);

  /// Spans of one entry a group; scalars have none.
  Spans spansOfGroups(mlir::Value value);

  /// Slices values and scales of one scaled operand.
  mlir::FailureOr<ScaledOperand> sliceScaled(const ScaledOperand &operand,
                                             std::optional<Span> rows);

  std::optional<Span> group, row, column, weightRow;
  llvm::SmallVector<mlir::Operation *> slices;

  /// What a span of rows covers of the scales of `type`: rows, or row tiles of
  /// a layout in tiles.
  mlir::FailureOr<Span> getScaleRows(ScaledType type, Span rows);

private:
  mlir::OpBuilder &builder;
  mlir::Operation *op;
  mlir::Location loc;
};

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_OPERANDSLICER_H
