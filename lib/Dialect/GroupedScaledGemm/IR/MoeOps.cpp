//===- MoeOps.cpp - GLU, routing, permutation, combination ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers; comments name the constraints of docs/Spec.md. Shared ones are in
// Verification.h.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// The last step of every verifier here: results repeat the destinations.
template <typename OpTy> static LogicalResult verifyResults(OpTy op) {
  return verifyDestinations(op, op.getDpsInitsMutable(),
                            getInitTypes(op.getDpsInitsMutable()));
}

/// Emits a diagnostic unless `type` has the rank.
static LogicalResult verifyRank(Operation *op, StringRef name, Type type,
                                size_t rank, StringRef meaning) {
  size_t got = getShapeOf(type).size();
  if (got == rank)
    return success();
  return op->emitOpError("expected ") << name << " of rank " << rank << ", "
                                      << meaning << ", but got rank " << got;
}

LogicalResult GluOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  ActivationAttr activation = getActivation();
  // glu_c1
  if (activation.getKind() == ActivationKind::Custom)
    return emitOpError("expected an activation with a formula, but got "
                       "'custom', which is the epilogue region of matmul");
  SmallVector<int64_t, 3> shape(getShapeOf(getInput().getType()));
  // glu_c2
  if (shape.empty())
    return emitOpError("expected an input of rank 1 or more, but got rank 0");
  if (failed(verifyGate(*this, activation.getGate(), shape.back())))
    return failure();
  if (activation.isPaired() && !ShapedType::isDynamic(shape.back()))
    shape.back() /= 2;
  // glu_c3
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{shape, "of the activation"}})))
    return failure();
  return verifyResults(*this);
}

/// The groups of an operation on rows of `input`: all of its rows, or those
/// that `groups` says.
template <typename OpTy>
static LogicalResult verifyRowGroups(OpTy op, ArrayRef<int64_t> shape) {
  // grouping_c13
  if (op.getGrouping().has_value() != static_cast<bool>(op.getGroups()))
    return op.emitOpError("expected groups and grouping together, but got ")
           << (op.getGroups() ? "groups" : "grouping") << " alone";
  if (!op.getGroups())
    return success();
  GroupingKind kind = op.getGrouping()->getKind();
  bool isMasked = getForm(kind).hasCounts();
  // sum_rows_c2, glu_backward_c6
  if (getForm(kind).coversRows())
    return op.emitOpError("expected grouping ragged_rows or masked, but got '")
           << stringifyGroupingKind(kind) << "'";
  if (failed(verifyRank(op, "input", op.getInput().getType(), isMasked ? 3 : 2,
                        isMasked ? "[G, M, N] for masked"
                                 : "[R, N] for ragged_rows")))
    return failure();
  return verifyGroups(op, *op.getGrouping(), op.getGroups(),
                      isMasked ? shape[0] : ShapedType::kDynamic,
                      shape[isMasked ? 1 : 0]);
}

LogicalResult GluBackwardOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  ActivationAttr activation = getActivation();
  // glu_backward_c1
  if (activation.getKind() == ActivationKind::Custom)
    return emitOpError("expected an activation with a formula, but got "
                       "'custom', which is the epilogue region of matmul");
  SmallVector<int64_t, 3> shape(getShapeOf(getInput().getType()));
  // glu_backward_c2
  if (shape.empty())
    return emitOpError("expected an input of rank 1 or more, but got rank 0");
  if (failed(verifyGate(*this, activation.getGate(), shape.back())))
    return failure();
  if (failed(verifyRowGroups(*this, shape)))
    return failure();
  // glu_backward_c3
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{shape, "of the input"}})))
    return failure();
  SmallVector<int64_t, 3> rows(ArrayRef<int64_t>(shape).drop_back());
  // glu_backward_c5
  for (auto [name, factors] :
       {std::pair("prob", getProb()), std::pair("prob_outs", getProbOut())})
    if (factors && failed(verifyShape(*this, name, factors.getType(),
                                      {{rows, "of the rows of the input"}})))
      return failure();
  if (activation.isPaired() && !ShapedType::isDynamic(shape.back()))
    shape.back() /= 2;
  // glu_backward_c4
  if (failed(verifyShape(*this, "gradient", getGradient().getType(),
                         {{shape, "of the activation"}})))
    return failure();
  return verifyResults(*this);
}

LogicalResult SumRowsOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  SmallVector<int64_t, 3> shape(getShapeOf(getInput().getType()));
  // sum_rows_c1
  if (shape.size() != 2 && shape.size() != 3)
    return emitOpError("expected an input of rank 2 or 3, but got rank ")
           << shape.size();
  if (failed(verifyRowGroups(*this, shape)))
    return failure();
  SmallVector<int64_t, 3> rows(ArrayRef<int64_t>(shape).drop_back());
  // sum_rows_c4
  if (getProb() && failed(verifyShape(*this, "prob", getProb().getType(),
                                      {{rows, "of the rows of the input"}})))
    return failure();
  SmallVector<int64_t, 3> sums;
  if (shape.size() == 3)
    sums.push_back(shape[0]);
  else if (getGroups())
    sums.push_back(getGroupCount(*getGrouping(), getGroups()));
  sums.push_back(shape.back());
  // sum_rows_c3
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{sums, "of a row of each group"}})))
    return failure();
  return verifyResults(*this);
}

/// route_c4 to route_c6: attributes that belong to some methods only.
static LogicalResult verifyRouteMethod(RouteOp op, int64_t numExperts,
                                       int64_t topK) {
  RoutingMethod method = op.getMethod();
  StringRef name = stringifyRoutingMethod(method);
  bool grouped = method == RoutingMethod::DeepSeekV3;
  // route_c4
  if (op.getBias() && !grouped && method != RoutingMethod::MiniMax2)
    return op.emitOpError("expected a bias with deepseek_v3 or minimax2 only, "
                          "but got '")
           << name << "'";
  int64_t groups = op.getNGroup(), kept = op.getTopkGroup();
  // route_c5
  if (!grouped &&
      (groups != 1 || kept != 1 || !op.getRoutedScaling().isExactlyValue(1.0)))
    return op.emitOpError("expected n_group, topk_group and routed_scaling "
                          "with deepseek_v3 only, but got '")
           << name << "'";
  // route_c6
  if (method == RoutingMethod::Llama4 && !areCompatible(topK, 1))
    return op.emitOpError("expected top_k = 1 for llama4, but got ") << topK;
  // route_c7
  if (groups < 1 || kept < 1 || kept > groups)
    return op.emitOpError("expected 1 <= topk_group <= n_group, but got ")
           << kept << " and " << groups;
  if (ShapedType::isDynamic(numExperts))
    return success();
  // route_c8
  if (numExperts % groups != 0)
    return op.emitOpError("expected n_group to divide the ")
           << numExperts << " experts, but got " << groups;
  // route_c9
  int64_t eligible = numExperts / groups * kept;
  if (!ShapedType::isDynamic(topK) && topK > eligible)
    return op.emitOpError("expected top_k <= ")
           << eligible << ", the experts to choose from, but got " << topK;
  return success();
}

LogicalResult RouteOp::verify() {
  if (failed(verifyForm(*this)) ||
      // route_c1
      failed(verifyRank(*this, "logits", getLogits().getType(), 2, "[T, E]")) ||
      failed(verifyRank(*this, "experts", getExpertsOut().getType(), 2,
                        "[T, top_k]")))
    return failure();
  ArrayRef<int64_t> logits = getShapeOf(getLogits().getType());
  int64_t topK = getShapeOf(getExpertsOut().getType())[1];
  NamedShape chosen{{logits[0], topK}, "[T, top_k]"};
  // route_c2
  if (failed(
          verifyShape(*this, "weights", getWeightsOut().getType(), chosen)) ||
      failed(verifyShape(*this, "experts", getExpertsOut().getType(), chosen)))
    return failure();
  // route_c3
  if (topK == 0)
    return emitOpError("expected top_k >= 1, but got 0");
  // route_c10
  if (getBias() && failed(verifyShape(*this, "bias", getBias().getType(),
                                      {{{logits[1]}, "[E]"}})))
    return failure();
  if (failed(verifyRouteMethod(*this, logits[1], topK)))
    return failure();
  return verifyResults(*this);
}

LogicalResult SortTokensOp::verify() {
  if (failed(verifyForm(*this)) ||
      // sort_tokens_c1
      failed(
          verifyRank(*this, "experts", getExperts().getType(), 2, "[T, k]")) ||
      failed(verifyRank(*this, "ends", getEndsOut().getType(), 1, "[E]")) ||
      failed(verifyRank(*this, "token_of_row", getTokenOfRowOut().getType(), 1,
                        "[rows]")))
    return failure();
  SmallVector<int64_t, 3> slots(getShapeOf(getExperts().getType()));
  // sort_tokens_c2
  if (failed(verifyShape(*this, "row_of_slot", getRowOfSlotOut().getType(),
                         {{slots, "[T, k]"}})))
    return failure();
  int64_t align = getAlign();
  // sort_tokens_c3
  constexpr int64_t mostRows = std::numeric_limits<int32_t>::max();
  if (align < 1 || align > mostRows)
    return emitOpError("expected align in [1, ")
           << mostRows << "], but got " << align;
  int64_t rows = getShapeOf(getTokenOfRowOut().getType())[0];
  int64_t experts = getShapeOf(getEndsOut().getType())[0];
  if (ShapedType::isDynamic(slots[0]) || ShapedType::isDynamic(slots[1]) ||
      ShapedType::isDynamic(experts))
    return verifyResults(*this);
  int64_t pairs, padding, needed;
  // sort_tokens_c4
  if (llvm::MulOverflow(slots[0], slots[1], pairs) ||
      llvm::MulOverflow(experts, align - 1, padding) ||
      llvm::AddOverflow(pairs, padding, needed) || needed > mostRows)
    return emitOpError("expected T*k + E*(align-1) to fit i32, in which rows "
                       "are counted");
  // sort_tokens_c5
  if (!ShapedType::isDynamic(rows) && rows < needed)
    return emitOpError("expected token_of_row to hold at least T*k + "
                       "E*(align-1) = ")
           << needed << " entries, but got " << rows;
  return verifyResults(*this);
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyForm(*this)) ||
      // permute_c1
      failed(verifyRank(*this, "input", getInput().getType(), 2, "[T, K]")) ||
      failed(verifyRank(*this, "token_of_row", getTokenOfRow().getType(), 1,
                        "[rows]")))
    return failure();
  // permute_c2
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{{getShapeOf(getTokenOfRow().getType())[0],
                            getShapeOf(getInput().getType())[1]},
                           "[rows, K]"}})))
    return failure();
  // permute_c3
  Type from = cast<ShapedType>(getInput().getType()).getElementType();
  Type to = cast<ShapedType>(getOut().getType()).getElementType();
  if (from != to)
    return emitOpError("expected input and outs of equal element type, but "
                       "got ")
           << from << " and " << to;
  return verifyResults(*this);
}

LogicalResult CombineOp::verify() {
  if (failed(verifyForm(*this)) ||
      // combine_c1
      failed(
          verifyRank(*this, "input", getInput().getType(), 2, "[rows, N]")) ||
      failed(verifyRank(*this, "row_of_slot", getRowOfSlot().getType(), 2,
                        "[T, k]")))
    return failure();
  SmallVector<int64_t, 3> slots(getShapeOf(getRowOfSlot().getType()));
  // combine_c2
  if (getWeights() &&
      failed(verifyShape(*this, "weights", getWeights().getType(),
                         {{slots, "[T, k]"}})))
    return failure();
  // combine_c3
  if (failed(verifyShape(
          *this, "outs", getOut().getType(),
          {{{slots[0], getShapeOf(getInput().getType())[1]}, "[T, N]"}})))
    return failure();
  return verifyResults(*this);
}
