//===- Expression.cpp - A scalar as what computes it ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison, substitution, and the way back to operations.
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nvfp4::gsg;

void Expression::walk(function_ref<void(const Expression &)> function) const {
  function(*this);
  for (const ExpressionRef &operand : operands)
    operand->walk(function);
}

void Expression::walkIndices(function_ref<void(AffineExpr)> function) const {
  walk([&](const Expression &part) {
    if (part.index)
      function(part.index);
    llvm::for_each(part.indices, function);
  });
}

bool Expression::uses(unsigned dim) const {
  bool found = false;
  walkIndices([&](AffineExpr index) { found |= index.isFunctionOfDim(dim); });
  return found;
}

/// True if both compute the same from the same operands.
static bool isSameOperation(Operation *a, Operation *b) {
  if (a == b || !a || !b)
    return a == b;
  auto getType = [](Operation *op) {
    return getElementTypeOrSelf(op->getResult(0).getType());
  };
  return a->getName() == b->getName() && getType(a) == getType(b) &&
         a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute();
}

bool nvfp4::gsg::isEqual(const ExpressionRef &a, const ExpressionRef &b) {
  return a == b ||
         (isSameOperation(a->op, b->op) && a->constant == b->constant &&
          a->index == b->index && a->source == b->source &&
          a->indices == b->indices &&
          a->operands.size() == b->operands.size() &&
          llvm::all_of(llvm::zip_equal(a->operands, b->operands),
                       [](auto pair) {
                         return isEqual(std::get<0>(pair), std::get<1>(pair));
                       }));
}

ExpressionRef
nvfp4::gsg::mapIndices(const ExpressionRef &expression,
                       function_ref<AffineExpr(AffineExpr)> function) {
  auto result = std::make_shared<Expression>(*expression);
  if (result->index)
    result->index = function(result->index);
  for (AffineExpr &index : result->indices)
    index = function(index);
  for (ExpressionRef &operand : result->operands)
    operand = mapIndices(operand, function);
  return result;
}

Value nvfp4::gsg::makeIndex(OpBuilder &b, Location loc, AffineExpr expr,
                            ValueRange dims) {
  return getValueOrCreateConstantIndexOp(
      b, loc,
      affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(dims.size(), 0, expr),
          getAsOpFoldResult(dims)));
}

Value nvfp4::gsg::makeScalar(OpBuilder &b, Location loc,
                             const ExpressionRef &expression, ValueRange dims) {
  if (expression->constant)
    return arith::ConstantOp::create(b, loc,
                                     cast<TypedAttr>(expression->constant));
  if (expression->index)
    return makeIndex(b, loc, expression->index, dims);
  SmallVector<Value> operands;
  if (Value source = expression->source) {
    if (!isa<RankedTensorType>(source.getType()))
      return source;
    for (AffineExpr index : expression->indices)
      operands.push_back(makeIndex(b, loc, index, dims));
    return tensor::ExtractOp::create(b, loc, source, operands);
  }
  for (const ExpressionRef &operand : expression->operands)
    operands.push_back(makeScalar(b, loc, operand, dims));
  Operation *op = expression->op;
  OperationState state(loc, op->getName(), operands,
                       getElementTypeOrSelf(op->getResult(0).getType()),
                       op->getAttrDictionary().getValue());
  return b.create(state)->getResult(0);
}
