//===- DepthLoop.cpp - A loop over parts of K -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts are slices whose offsets are expressions of the step.
//
//===----------------------------------------------------------------------===//

#include "DepthLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// Expressions of offsets have a few operations.
static constexpr unsigned kMaxDepth = 8;

/// `value`, where `induction` is the expression `start`; null if it is not
/// affine in it. No part is negative, so that divisions round one way.
static AffineExpr getExpr(Value value, Value induction, AffineExpr start,
                          unsigned depth = 0) {
  if (value == induction)
    return start;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant < 0 ? AffineExpr()
                         : getAffineConstantExpr(*constant, start.getContext());
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return {};
  auto get = [&](Value operand) {
    return getExpr(operand, induction, start, depth + 1);
  };
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    bool isNegative = false;
    map.getResult(0).walk([&](AffineExpr part) {
      auto constant = dyn_cast<AffineConstantExpr>(part);
      isNegative |= constant && constant.getValue() < 0;
    });
    if (isNegative)
      return {};
    SmallVector<AffineExpr> operands;
    for (Value operand : apply.getMapOperands()) {
      operands.push_back(get(operand));
      if (!operands.back())
        return {};
    }
    return map.getResult(0).replaceDimsAndSymbols(
        ArrayRef(operands).take_front(map.getNumDims()),
        ArrayRef(operands).drop_front(map.getNumDims()));
  }
  if (!isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp,
           arith::FloorDivSIOp>(op) ||
      !value.getType().isIndex())
    return {};
  AffineExpr a = get(op->getOperand(0)), b = get(op->getOperand(1));
  if (!a || !b)
    return {};
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::MulIOp>(op))
    return a.isSymbolicOrConstant() || b.isSymbolicOrConstant() ? a * b
                                                                : AffineExpr();
  auto number = dyn_cast<AffineConstantExpr>(b);
  return number && number.getValue() > 0 ? a.floorDiv(number.getValue())
                                         : AffineExpr();
}

AffineExpr DepthLoop::getOffset(OpFoldResult offset, AffineExpr number) const {
  auto value = dyn_cast<Value>(offset);
  if (!value || loop.isDefinedOutsideOfLoop(value))
    return {};
  return getExpr(value, loop.getInductionVar(), number * step + first);
}

std::optional<DepthLoop> nvfp4::gsg::matchDepthLoop(scf::ForOp loop) {
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!first || !end || !step || *first < 0 || *step <= 0 || *end <= *first ||
      (*end - *first) % *step || loop.getNumResults() != 1 ||
      !loop.getInductionVar().getType().isIndex())
    return std::nullopt;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op))
      return std::nullopt;
  DepthLoop result;
  Value sum = loop.getRegionIterArg(0), next = loop.getYieldedValues()[0];
  if (auto insert = next.getDefiningOp<tensor::InsertSliceOp>();
      insert && insert.getDest() == sum) {
    result.insert = insert;
    next = insert.getSource();
  }
  auto contraction = next.getDefiningOp<linalg::LinalgOp>();
  if (!contraction || contraction->getBlock() != loop.getBody() ||
      contraction.getNumDpsInits() != 1)
    return std::nullopt;
  OpOperand *init = contraction.getDpsInitOperand(0);
  if (result.insert) {
    // The sums are those that the step before has put there.
    auto slice = init->get().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != sum || !slice->hasOneUse() ||
        slice.getMixedOffsets() != result.insert.getMixedOffsets() ||
        slice.getMixedSizes() != result.insert.getMixedSizes() ||
        slice.getMixedStrides() != result.insert.getMixedStrides())
      return std::nullopt;
    init = &slice.getSourceMutable();
  }
  if (init->get() != sum)
    return std::nullopt;
  for (OpOperand &use : sum.getUses())
    if (!isa<tensor::DimOp>(use.getOwner()) && &use != init &&
        use.getOwner() != result.insert)
      return std::nullopt;
  result.loop = loop;
  result.first = *first;
  result.step = *step;
  result.count = (*end - *first) / *step;
  result.contraction = contraction;
  return result;
}
