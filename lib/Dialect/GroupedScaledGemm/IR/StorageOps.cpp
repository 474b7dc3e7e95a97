//===- StorageOps.cpp - In and out of the scaled type -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, folds and canonicalisation of the ops that make, split and re-lay
// scaled values; comments name the constraints of docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// The scaled type of a single operand in either form, or null.
static ScaledType getTypeOf(Value input, Value scales, ArrayAttr types) {
  return getScaledOperands(input, scales ? ValueRange(scales) : ValueRange(),
                           types)
      .front()
      .type;
}

//===----------------------------------------------------------------------===//
// make_scaled, split_scaled
//===----------------------------------------------------------------------===//

LogicalResult MakeScaledOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  return verifyStorage(*this, "the result", getType(), getData().getType(),
                       getScales().getType());
}

OpFoldResult MakeScaledOp::fold(FoldAdaptor) {
  auto split = getData().getDefiningOp<SplitScaledOp>();
  if (!split || split.getData() != getData() ||
      split.getScales() != getScales() ||
      split.getInput().getType() != getType())
    return {};
  return split.getInput();
}

LogicalResult SplitScaledOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> loc,
                                              ValueRange operands,
                                              DictionaryAttr, OpaqueProperties,
                                              RegionRange,
                                              SmallVectorImpl<Type> &types) {
  if (operands.size() != 1)
    return emitOptionalError(loc, "expected one operand, but got ",
                             operands.size());
  auto type = dyn_cast<ScaledType>(operands[0].getType());
  if (!type)
    return emitOptionalError(loc,
                             "expected an operand of type scaled, but got ",
                             operands[0].getType());
  types.assign({type.getDataTensorType(), type.getScaleTensorType()});
  return success();
}

// split_scaled_c1: shape inference leaves one pair of result types.
LogicalResult SplitScaledOp::verify() {
  return verifyStorage(*this, "the operand", getInput().getType(),
                       getData().getType(), getScales().getType());
}

LogicalResult SplitScaledOp::fold(FoldAdaptor,
                                  SmallVectorImpl<OpFoldResult> &results) {
  auto make = getInput().getDefiningOp<MakeScaledOp>();
  if (!make || make.getData().getType() != getData().getType() ||
      make.getScales().getType() != getScales().getType())
    return failure();
  results.assign({make.getData(), make.getScales()});
  return success();
}

//===----------------------------------------------------------------------===//
// relayout_scales
//===----------------------------------------------------------------------===//

/// Linear scales go with every axis; the layout of one type may not be legal
/// for the other.
static bool differInLayoutOnly(ScaledType a, ScaledType b) {
  return a.withLayout(ScaleLayout::Linear, GroupStart::Whole) ==
         b.withLayout(ScaleLayout::Linear, GroupStart::Whole);
}

ScaledType RelayoutScalesOp::getInputType() {
  return getTypeOf(getInput(), getInputScales(), getInputTypesAttr());
}

ScaledType RelayoutScalesOp::getResultType() {
  if (getOutType())
    return dyn_cast<ScaledType>(*getOutType());
  return getResult() ? dyn_cast<ScaledType>(getResult().getType())
                     : ScaledType();
}

LogicalResult RelayoutScalesOp::verify() {
  bool storage = static_cast<bool>(getInputScales());
  if (failed(verifyForm(*this)) ||
      failed(verifyScaledOperands(*this, "input", getInput(),
                                  storage ? ValueRange(getInputScales())
                                          : ValueRange(),
                                  getInputTypesAttr())) ||
      failed(verifySameForm(*this, storage, "input",
                            static_cast<bool>(getOutScales()), "result")))
    return failure();
  ScaledType from = getInputType(), to = getResultType();
  // relayout_scales_c1
  if (!to || getOutType().has_value() != storage)
    return emitOpError("expected a result of type scaled, or scales with the "
                       "scaled type that they get");
  // relayout_scales_c2
  if (!differInLayoutOnly(from, to))
    return emitOpError("expected a result that differs from the input in the "
                       "layout of its scales only, but got ")
           << from << " and " << to;
  std::optional<int64_t> raggedDim;
  if (failed(verifyOptionalGroups(*this, getGrouping(), getGroups(), from,
                                  raggedDim)))
    return failure();
  // relayout_scales_c3
  if (!getGroups() && (from.getGroupStart() != GroupStart::Whole ||
                       to.getGroupStart() != GroupStart::Whole))
    return emitOpError("expected groups, because the scales start by group, "
                       "but got none");
  GroupingAttr grouping = getGrouping().value_or(GroupingAttr());
  if (failed(verifyGroupStarts(*this, "the input", from, grouping, getGroups(),
                               raggedDim)) ||
      failed(verifyGroupStarts(*this, "the result", to, grouping, getGroups(),
                               raggedDim)))
    return failure();
  if (!storage)
    return verifyDestinations(*this, getDpsInitsMutable(), {Type(to)});
  if (failed(verifyStorage(*this, "outs", to, getInput().getType(),
                           getOutScales().getType())))
    return failure();
  return verifyDestinations(*this, getDpsInitsMutable(),
                            getInitTypes(getDpsInitsMutable()));
}

LogicalResult RelayoutScalesOp::fold(FoldAdaptor,
                                     SmallVectorImpl<OpFoldResult> &results) {
  if (!getResult() || getInputType() != getResultType())
    return failure();
  // The padding of the result is known, that of scales in memory is not; with
  // groups, scales outside them are padding.
  if (getInputScales() &&
      (getGroups() || getInputType().getLayout() != ScaleLayout::Linear))
    return failure();
  Value same = getInputScales() ? getInputScales() : getInput();
  if (same.getType() != getResult().getType())
    return failure();
  results.push_back(same);
  return success();
}

namespace {
/// relayout(relayout(x)) -> relayout(x), in value form.
struct MergeRelayoutScales : OpRewritePattern<RelayoutScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutScalesOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<RelayoutScalesOp>();
    if (op.getInputScales() || !inner || inner.getInputScales())
      return rewriter.notifyMatchFailure(op, "no two re-layouts of values");
    bool needsInner = inner.getInputType().getGroupStart() != GroupStart::Whole;
    bool needsOuter = op.getResultType().getGroupStart() != GroupStart::Whole;
    if (needsInner && needsOuter &&
        (inner.getGroups() != op.getGroups() ||
         inner.getGrouping() != op.getGrouping()))
      return rewriter.notifyMatchFailure(op, "groups differ");
    RelayoutScalesOp source = needsInner ? inner : op;
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().set(inner.getInput());
      if (needsInner || needsOuter) {
        op.getGroupsMutable().assign(source.getGroups());
        op.setGroupingAttr(source.getGroupingAttr());
      } else {
        op.getGroupsMutable().clear();
        op.removeGroupingAttr();
      }
    });
    return success();
  }
};
} // namespace

void RelayoutScalesOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                   MLIRContext *context) {
  patterns.add<MergeRelayoutScales>(context);
}

//===----------------------------------------------------------------------===//
// relayout_weights
//===----------------------------------------------------------------------===//

ScaledType RelayoutWeightsOp::getInputType() {
  return getTypeOf(getInput(), getInputScales(), getInputTypesAttr());
}

ScaledType RelayoutWeightsOp::getResultType() {
  if (getOutScales())
    return getTypeOf(getOut(), getOutScales(), getOutTypesAttr());
  return getNumResults() == 1 ? dyn_cast<ScaledType>(getResult(0).getType())
                              : ScaledType();
}

LogicalResult RelayoutWeightsOp::verify() {
  bool storage = static_cast<bool>(getInputScales());
  if (failed(verifyForm(*this)) ||
      failed(verifyScaledOperands(*this, "input", getInput(),
                                  storage ? ValueRange(getInputScales())
                                          : ValueRange(),
                                  getInputTypesAttr())) ||
      failed(
          verifyScaledOut(*this, getOut(), getOutScales(), getOutTypesAttr())))
    return failure();
  ScaledType from = getInputType(), to = getResultType();
  // relayout_weights_c1
  if (!to ||
      (storage ? !getOut() || !getOutScales() : static_cast<bool>(getOut())))
    return emitOpError("expected ")
           << (storage ? "destinations of values and scales in storage form"
                       : "no outs and one result of type scaled");
  // relayout_weights_c2
  if (!differInLayoutOnly(from, to))
    return emitOpError("expected a result that differs from the input in its "
                       "layout only, but got ")
           << from << " and " << to;
  // relayout_weights_c3
  auto isLinear = [](ScaledType type) {
    return type.getLayout() == ScaleLayout::Linear &&
           type.getGroupStart() == GroupStart::Whole;
  };
  if (!(isLinear(from) && to.isCoded()) && !(from.isCoded() && isLinear(to)))
    return emitOpError("expected one of the layouts 'linear' and 'wgmma' or "
                       "'wgmma_f16' on each side, but got ")
           << from << " and " << to;
  SmallVector<Type> expected = getInitTypes(getDpsInitsMutable());
  if (!storage)
    expected.push_back(to);
  return verifyDestinations(*this, getDpsInitsMutable(), expected);
}

//===----------------------------------------------------------------------===//
// relayout_gate
//===----------------------------------------------------------------------===//

LogicalResult RelayoutGateOp::verify() {
  bool storage = static_cast<bool>(getInputScales());
  if (failed(verifyForm(*this)) ||
      failed(verifyScaledOperands(*this, "input", getInput(),
                                  storage ? ValueRange(getInputScales())
                                          : ValueRange(),
                                  getInputTypesAttr(), /*orPlain=*/true)) ||
      failed(
          verifyScaledOut(*this, getOut(), getOutScales(), getOutTypesAttr())))
    return failure();
  ScaledType type =
      getTypeOf(getInput(), getInputScales(), getInputTypesAttr());
  SmallVector<Type> expected = getInitTypes(getDpsInitsMutable());
  int64_t n;
  if (type) {
    // relayout_gate_c1
    if (type.getRank() < 2 || !type.isKMajor() ||
        type.getGroupStart() != GroupStart::Whole)
      return emitOpError("expected weights of rank 2 or 3 with blocks along "
                         "the last dimension and starts = whole, but got ")
             << type;
    // relayout_gate_c2
    if (storage ? !getOut() || !getOutScales() : static_cast<bool>(getOut()))
      return emitOpError("expected ")
             << (storage ? "destinations of values and scales in storage form"
                         : "no outs for a result of type scaled");
    ScaledType out = type;
    if (storage)
      out = getTypeOf(getOut(), getOutScales(), getOutTypesAttr());
    else
      expected.push_back(type);
    // relayout_gate_c3
    if (out != type)
      return emitOpError("expected a result of the type of the input, ")
             << type << ", but got " << out;
    n = type.getDimSize(type.getRank() - 2);
  } else {
    // relayout_gate_c4
    if (!getOut() || getOutScales())
      return emitOpError("expected outs without scales for a plain tensor");
    ArrayRef<int64_t> shape = getShapeOf(getInput().getType());
    auto input = cast<ShapedType>(getInput().getType());
    auto out = cast<ShapedType>(getOut().getType());
    // relayout_gate_c5
    if (input.getElementType() != out.getElementType() || shape.empty())
      return emitOpError("expected input and outs of equal element type and "
                         "rank 1 or more, but got ")
             << input << " and " << out;
    if (failed(verifyShape(*this, "outs", out,
                           {{llvm::to_vector<3>(shape), "the input"}})))
      return failure();
    n = shape.back();
  }
  if (failed(verifyGate(*this, getFrom(), n)) ||
      failed(verifyGate(*this, getTo(), n)))
    return failure();
  return verifyDestinations(*this, getDpsInitsMutable(), expected);
}

/// True if both conventions put every row of `n` in the same place.
static bool isSameGate(GateAttr a, GateAttr b, int64_t n) {
  auto granularity = [&](GateAttr gate) {
    bool halves = gate.getGranularity() == 0;
    return halves && !ShapedType::isDynamic(n) ? n / 2 : gate.getGranularity();
  };
  return a.getOrder() == b.getOrder() && granularity(a) == granularity(b);
}

/// The extent that a gate layout orders.
static int64_t getGateExtent(RelayoutGateOp op) {
  ArrayRef<int64_t> shape = getShapeOf(op.getInput().getType());
  bool plain =
      !isa<ScaledType>(op.getInput().getType()) && !op.getInputScales();
  return plain ? shape.back() : shape[shape.size() - 2];
}

namespace {
/// Equal conventions change nothing.
struct DropRelayoutGate : OpRewritePattern<RelayoutGateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutGateOp op,
                                PatternRewriter &rewriter) const override {
    if (!isSameGate(op.getFrom(), op.getTo(), getGateExtent(op)))
      return rewriter.notifyMatchFailure(op, "conventions differ");
    SmallVector<Value> same{op.getInput()};
    if (op.getInputScales())
      same.push_back(op.getInputScales());
    if (TypeRange(op->getResultTypes()) != TypeRange(ValueRange(same)))
      return rewriter.notifyMatchFailure(op, "types differ, or memrefs");
    rewriter.replaceOp(op, same);
    return success();
  }
};

/// relayout(relayout(x, A to B), B to C) -> relayout(x, A to C).
struct MergeRelayoutGate : OpRewritePattern<RelayoutGateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutGateOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<RelayoutGateOp>();
    if (!inner || op.getInputScales() || inner.getInputScales())
      return rewriter.notifyMatchFailure(op, "no two re-layouts");
    if (!isSameGate(inner.getTo(), op.getFrom(), getGateExtent(op)))
      return rewriter.notifyMatchFailure(op, "conventions do not meet");
    if (inner.getInput().getType() != op.getInput().getType())
      return rewriter.notifyMatchFailure(op, "types differ");
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().set(inner.getInput());
      op.setFromAttr(inner.getFrom());
    });
    return success();
  }
};
} // namespace

void RelayoutGateOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<DropRelayoutGate, MergeRelayoutGate>(context);
}
