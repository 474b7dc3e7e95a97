//===- ElementLookup.cpp - Elements that are looked up ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of the expert of a token: indices that are computed from elements of
// other tensors.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nvfp4::gsg;

void Number::walk(function_ref<void(AffineExpr &)> function) {
  if (index)
    function(index);
  for (AffineExpr &expr : indices)
    function(expr);
  for (Number &operand : operands)
    operand.walk(function);
}

bool Number::uses(unsigned loop) const {
  bool found = false;
  const_cast<Number *>(this)->walk(
      [&](AffineExpr &expr) { found |= expr.isFunctionOfDim(loop); });
  return found;
}

bool Number::allSources(function_ref<bool(Value)> function) const {
  return (!source || function(source)) &&
         llvm::all_of(operands, [&](const Number &operand) {
           return operand.allSources(function);
         });
}

/// Attributes that change what an operation computes.
static Attribute getAttributes(Operation *op) {
  return op ? op->getPropertiesAsAttribute() : Attribute();
}

bool Number::operator==(const Number &other) const {
  auto getName = [](Operation *op) {
    return op ? op->getName().getStringRef() : StringRef();
  };
  auto getType = [](Operation *op) {
    return op ? getElementTypeOrSelf(op->getResult(0).getType()) : Type();
  };
  return getName(op) == getName(other.op) && getType(op) == getType(other.op) &&
         getAttributes(op) == getAttributes(other.op) &&
         constant == other.constant && index == other.index &&
         source == other.source && indices == other.indices &&
         operands == other.operands;
}

static bool isInteger(Value value) {
  return getElementTypeOrSelf(value.getType()).isIntOrIndex();
}

std::optional<Number> ElementTrace::traceNumber(Scalar scalar) {
  Scalar element;
  settle(scalar, &element);
  if (std::optional<Number> number = traceNumberOf(scalar))
    return number;
  // Integers that are computed otherwise are a tensor like any other.
  if (!element.value || !isInteger(element.value))
    return std::nullopt;
  Number result;
  result.source = element.value;
  result.indices = element.indices;
  return result;
}

std::optional<Number> ElementTrace::traceNumberOf(const Scalar &scalar) {
  Value value = scalar.value;
  if (++steps > kMaxSteps || !isInteger(value))
    return std::nullopt;
  Number result;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    result.constant =
        IntegerAttr::get(getElementTypeOrSelf(value.getType()), constant);
    return result;
  }
  bool isTensor = isa<RankedTensorType>(value.getType());
  Operation *op = scalar.owner || isTensor ? scalar.getComputation() : nullptr;
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(op)) {
    result.index = scalar.indices[index.getDim()];
    return result;
  }
  if (!op) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (scalar.owner &&
        ((argument && argument.getOwner() == scalar.owner.getBlock()) ||
         value.getParentBlock() == scalar.owner.getBlock()))
      return std::nullopt;
    result.source = value;
    if (isTensor)
      result.indices = scalar.indices;
    return result;
  }
  if (!isa<arith::ArithDialect>(op->getDialect()) || !isMemoryEffectFree(op) ||
      op->getNumResults() != 1 || op->getNumRegions() ||
      !llvm::all_of(op->getOperands(), isInteger))
    return std::nullopt;
  result.op = op;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<Number> operand = traceNumber(scalar.operand(op, i));
    if (!operand)
      return std::nullopt;
    result.operands.push_back(std::move(*operand));
  }
  return result;
}

AffineExpr ElementTrace::getLookup(Number number) {
  // What it depends on must be loops alone, and some of them.
  bool isVarying = false, isNested = false;
  number.walk([&](AffineExpr &expr) {
    expr.walk([&](AffineExpr part) {
      isVarying |= isa<AffineDimExpr>(part);
      isNested |= isa<AffineSymbolExpr>(part);
    });
  });
  if (!isVarying || isNested)
    return {};
  Number *known = llvm::find(lookups, number);
  unsigned symbol = known - lookups.begin();
  if (symbol == kMaxLookups)
    return {};
  if (symbol == lookups.size())
    lookups.push_back(std::move(number));
  return getAffineSymbolExpr(kMaxSlices + symbol, context);
}

bool ElementTrace::enterLookup(Scalar &scalar) {
  auto extract = scalar.value.getDefiningOp<tensor::ExtractOp>();
  if (!allowLookups || !extract || !scalar.owner ||
      extract->getBlock() != scalar.owner.getBlock() ||
      matchPattern(extract.getTensor(), m_Constant()))
    return false;
  Indices inner;
  for (unsigned i = 0; i < extract.getIndices().size(); ++i) {
    Scalar index = scalar.operand(extract, i + 1);
    AffineExpr expr = getAffine(index, /*minWidth=*/32);
    if (!expr)
      if (std::optional<Number> number = traceNumber(index))
        expr = getLookup(std::move(*number));
    if (!expr)
      return false;
    inner.push_back(expr);
  }
  scalar = {extract.getTensor(), {}, std::move(inner)};
  return true;
}

bool ElementTrace::enterGather(Value &tensor, Indices &indices) {
  auto gather = tensor.getDefiningOp<tensor::GatherOp>();
  auto ids = cast<RankedTensorType>(gather.getIndices().getType());
  auto source = cast<RankedTensorType>(gather.getSource().getType());
  Type element = ids.getElementType();
  if (!allowLookups || gather.getGatherDims().size() != 1 ||
      !(element.isIndex() || element.isInteger(32) || element.isInteger(64)))
    return false;
  size_t numOuter = ids.getRank() - 1;
  int64_t dim = gather.getGatherDims()[0];
  Indices place(ArrayRef(indices).take_front(numOuter));
  place.push_back(getAffineConstantExpr(0, context));
  std::optional<Number> number = traceNumber({gather.getIndices(), {}, place});
  AffineExpr expr = number ? getLookup(std::move(*number)) : AffineExpr();
  if (!expr)
    return false;
  // The result may have the gathered dimension with size 1.
  Indices inner(ArrayRef(indices).drop_front(numOuter));
  if (static_cast<int64_t>(inner.size()) == source.getRank())
    inner[dim] = expr;
  else
    inner.insert(inner.begin() + dim, expr);
  tensor = gather.getSource();
  indices = std::move(inner);
  return true;
}
