//===- Expression.h - A scalar as what computes it --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trees of arithmetic over elements of tensors, such as the expert of a token.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_EXPRESSION_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_EXPRESSION_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

#include <memory>

namespace nvfp4::gsg {

using Indices = llvm::SmallVector<mlir::AffineExpr>;

struct Expression;
using ExpressionRef = std::shared_ptr<const Expression>;

/// A scalar. Never changes; parts may be shared.
struct Expression {
  /// What computes it from `operands`; null for a leaf.
  mlir::Operation *op = nullptr;
  llvm::SmallVector<ExpressionRef, 2> operands;
  /// Leaves: a constant, an index, or what `source` has at `indices`. A source
  /// that is no tensor has none.
  mlir::Attribute constant;
  mlir::AffineExpr index;
  mlir::Value source;
  Indices indices;

  /// Calls `function` on this and on each part.
  void walk(llvm::function_ref<void(const Expression &)> function) const;
  /// Calls `function` on each affine expression.
  void walkIndices(llvm::function_ref<void(mlir::AffineExpr)> function) const;
  /// True if an index depends on the dimension.
  bool uses(unsigned dim) const;
};

/// True if both are the same arithmetic on the same leaves.
bool isEqual(const ExpressionRef &a, const ExpressionRef &b);

/// `expression` with `function` applied to each affine expression.
ExpressionRef
mapIndices(const ExpressionRef &expression,
           llvm::function_ref<mlir::AffineExpr(mlir::AffineExpr)> function);

/// The operations that compute it, where dimension i has the value `dims[i]`.
mlir::Value makeScalar(mlir::OpBuilder &builder, mlir::Location loc,
                       const ExpressionRef &expression, mlir::ValueRange dims);

/// The number that `expr` is of `dims`.
mlir::Value makeIndex(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::AffineExpr expr, mlir::ValueRange dims);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_EXPRESSION_H
