//===- ElementLookup.cpp - Integers, and what they look up ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices that are affine in loops, and those that are computed from elements
// of other tensors, such as the expert of a token whose weights are looked up.
//
//===----------------------------------------------------------------------===//

#include "Element.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nvfp4::gsg;

AffineExpr ElementWalker::getAffine(const Element &element, unsigned minWidth) {
  APInt constant;
  if (matchPattern(element.value, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), context);
  Operation *op = element.getOp();
  if (!op || !countStep() ||
      (!element.getType().isIndex() &&
       element.getType().getIntOrFloatBitWidth() < minWidth))
    return {};
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return element.indices[index.getDim()];
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
          arith::ExtUIOp>(op))
    return getAffine(getOperand(element, 0), minWidth);
  if (!isa<arith::MulIOp, arith::AddIOp, arith::SubIOp, arith::RemUIOp,
           arith::ShLIOp>(op))
    return {};
  AffineExpr a = getAffine(getOperand(element, 0), minWidth);
  AffineExpr b = getAffine(getOperand(element, 1), minWidth);
  if (!a || !b)
    return {};
  if (isa<arith::SubIOp>(op)) {
    // A remainder from what is as large, which wraps nowhere.
    auto whole = dyn_cast<AffineConstantExpr>(a);
    auto part = dyn_cast<AffineBinaryOpExpr>(b);
    auto n = part && part.getKind() == AffineExprKind::Mod
                 ? dyn_cast<AffineConstantExpr>(part.getRHS())
                 : AffineConstantExpr();
    return whole && n && n.getValue() <= whole.getValue() + 1 ? simplify(a - b)
                                                              : AffineExpr();
  }
  if (isa<arith::AddIOp>(op))
    return simplify(a + b);
  auto number = dyn_cast<AffineConstantExpr>(b);
  if (!number && isa<arith::MulIOp>(op)) {
    std::swap(a, b);
    number = dyn_cast<AffineConstantExpr>(b);
  }
  if (!number || number.getValue() <= 0 || number.getValue() > 64)
    return {};
  int64_t n = number.getValue();
  if (isa<arith::ShLIOp>(op))
    return n < 8 ? simplify(a * (int64_t(1) << n)) : AffineExpr();
  return simplify(isa<arith::MulIOp>(op) ? a * n : a % n);
}

static ExpressionRef makeLeaf(Value source, Indices indices) {
  auto result = std::make_shared<Expression>();
  result->source = source;
  result->indices = std::move(indices);
  return result;
}

ExpressionRef ElementWalker::getNumber(const Element &element) {
  if (ExpressionRef number = getComputedNumber(element))
    return number;
  // Integers that are computed otherwise are a tensor like any other.
  return element.tensor &&
                 getElementTypeOrSelf(element.tensor.getType()).isIntOrIndex()
             ? makeLeaf(element.tensor, element.place)
             : nullptr;
}

ExpressionRef ElementWalker::getComputedNumber(const Element &element) {
  Value value = element.value;
  if (!countStep() || !element.getType().isIntOrIndex())
    return nullptr;
  auto result = std::make_shared<Expression>();
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    result->constant = IntegerAttr::get(element.getType(), constant);
    return result;
  }
  Operation *op = element.getOp();
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(op)) {
    result->index = element.indices[index.getDim()];
    return result;
  }
  if (!op) {
    // All that is left in a body are its results before it.
    if (element.owner && value.getParentBlock() == element.owner.getBlock())
      return nullptr;
    bool isTensor = isa<RankedTensorType>(value.getType());
    return makeLeaf(value, isTensor ? element.indices : Indices());
  }
  if (!isa<arith::ArithDialect>(op->getDialect()) || !isMemoryEffectFree(op) ||
      op->getNumResults() != 1 || op->getNumRegions() ||
      !llvm::all_of(op->getOperandTypes(), [](Type type) {
        return getElementTypeOrSelf(type).isIntOrIndex();
      }))
    return nullptr;
  result->op = op;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    result->operands.push_back(getNumber(getOperand(element, i)));
    if (!result->operands.back())
      return nullptr;
  }
  return result;
}

AffineExpr ElementWalker::getLookup(ExpressionRef number) {
  // What it depends on must be loops alone, and some of them.
  bool isVarying = false, isNested = false;
  number->walkIndices([&](AffineExpr expr) {
    expr.walk([&](AffineExpr part) {
      isVarying |= isa<AffineDimExpr>(part);
      isNested |= isa<AffineSymbolExpr>(part);
    });
  });
  if (!isVarying || isNested)
    return {};
  auto *known = llvm::find_if(lookups, [&](const ExpressionRef &lookup) {
    return isEqual(lookup, number);
  });
  unsigned symbol = known - lookups.begin();
  if (symbol == kMaxLookups)
    return {};
  if (symbol == lookups.size())
    lookups.push_back(std::move(number));
  return getAffineSymbolExpr(kMaxSlices + symbol, context);
}

bool ElementWalker::enterLookup(Element &element) {
  auto extract = element.value.getDefiningOp<tensor::ExtractOp>();
  if (!allowLookups || !extract ||
      extract->getBlock() != element.owner.getBlock() ||
      matchPattern(extract.getTensor(), m_Constant()))
    return false;
  Indices inner;
  for (unsigned i = 0; i < extract.getIndices().size(); ++i) {
    Element index = getOperand(element, i + 1);
    AffineExpr expr = getAffine(index, /*minWidth=*/32);
    if (!expr)
      if (ExpressionRef number = getNumber(index))
        expr = getLookup(std::move(number));
    if (!expr)
      return false;
    inner.push_back(expr);
  }
  element.value = extract.getTensor();
  element.owner = {};
  element.indices = std::move(inner);
  return true;
}

bool ElementWalker::enterGather(tensor::GatherOp gather, Value &tensor,
                                Indices &indices) {
  auto ids = cast<RankedTensorType>(gather.getIndices().getType());
  auto source = cast<RankedTensorType>(gather.getSource().getType());
  Type type = ids.getElementType();
  if (!allowLookups || gather.getGatherDims().size() != 1 ||
      !(type.isIndex() || type.isInteger(32) || type.isInteger(64)))
    return false;
  size_t numOuter = ids.getRank() - 1;
  int64_t dim = gather.getGatherDims()[0];
  Indices place(ArrayRef<Indices::value_type>(indices).take_front(numOuter));
  place.push_back(getAffineConstantExpr(0, context));
  ExpressionRef number = getNumber(getElement(gather.getIndices(), place));
  AffineExpr expr = number ? getLookup(std::move(number)) : AffineExpr();
  if (!expr)
    return false;
  // The result may have the gathered dimension with size 1.
  Indices inner(ArrayRef<Indices::value_type>(indices).drop_front(numOuter));
  if (static_cast<int64_t>(inner.size()) == source.getRank())
    inner[dim] = expr;
  else
    inner.insert(inner.begin() + dim, expr);
  tensor = gather.getSource();
  indices = std::move(inner);
  return true;
}
