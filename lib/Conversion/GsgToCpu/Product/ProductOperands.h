//===- ProductOperands.h - from operands to frame slots ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code at the operation: takes memrefs apart into addresses and strides and
// records them in the frame of a product.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTOPERANDS_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTOPERANDS_H

#include "Product.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg::cpu {

/// A memref in pieces: i64 values, strides in elements.
struct MemRefPieces {
  mlir::Value address;
  llvm::SmallVector<mlir::Value> sizes, strides;
};

class OperandReader {
public:
  using Value = mlir::Value;

  OperandReader(MathBuilder &mb, Product &product) : mb(mb), product(product) {}

  MemRefPieces split(Value memref);
  Value dim(Value memref, int64_t index);
  /// The size of dimension `rank - fromEnd`.
  Value dimFromEnd(Value memref, int64_t fromEnd);
  /// K of an operand: the static one, or what the packed values hold.
  Value depthOf(const ScaledOperand &operand);

  /// [rows, columns], or [groups, rows, columns].
  MatrixRef matrix(Value memref);
  ScalesRef scales(ScaledType type, Value memref);
  /// Of rows that have none.
  ScalesRef noScales(ScaledType type);
  GroupRef perGroup(Value value);
  /// [rows], or [groups, rows].
  RowRef perRow(Value memref);
  ColumnRef perColumn(Value memref);

private:
  MathBuilder &mb;
  Product &product;
};

/// Bytes from four scale columns to the next.
mlir::Value wordStrideOf(MathBuilder &mb, ScaledType type,
                         const MemRefPieces &scales);

/// Writes the weights of one problem into its entry of the table.
void fillWeights(MathBuilder &mb, OperandReader &read,
                 const ScaledOperand &weights, mlir::Value entry);

/// Why an operation cannot be lowered, or empty. Rows must be contiguous; the
/// scales of a matrix dense.
std::string explainUnsupported(mlir::Operation *op);
std::string explainUnsupportedMatmul(MatmulOp op);
std::string explainUnsupportedMatmulList(MatmulListOp op);

/// Whether tiles leave a part of `op`, which is on memrefs, to other operations
/// (see populateSeparateMatmulPatterns).
bool needsSeparation(MatmulOp op);

/// The table and the frame, filled; then the product, by the instruction sets
/// in `isas` (chosen where it runs if there are several).
mlir::LogicalResult
runProduct(mlir::PatternRewriter &rewriter, mlir::Operation *op,
           Product &product, llvm::ArrayRef<Isa> isas, mlir::Value numProblems,
           llvm::function_ref<void(MathBuilder &, mlir::Value table)> fill);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTOPERANDS_H
