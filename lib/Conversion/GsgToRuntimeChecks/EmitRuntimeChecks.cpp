//===- EmitRuntimeChecks.cpp - gsg-emit-runtime-checks ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass, and the checks of every operation but the products.
//
//===----------------------------------------------------------------------===//

#include "CheckBuilder.h"
#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace nvfp4 {
#define GEN_PASS_DEF_EMITRUNTIMECHECKSPASS
#include "nvfp4/Conversion/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

void checks::emitGateCheck(CheckBuilder &check, GateAttr gate, Extent n) {
  int64_t unit;
  if (!gate)
    return;
  if (!llvm::MulOverflow<int64_t>(std::max<int64_t>(gate.getGranularity(), 1),
                                  2, unit))
    check.multiple("gate_c2", "N", n, unit);
  else // Of the multiples only 0 is a number of columns.
    check.inRange("gate_c2", "N", n, 0, check.constant(0));
}

/// All extents of a memref.
static SmallVector<Extent, 3> shapeOf(CheckBuilder &check, Value memref) {
  SmallVector<Extent, 3> shape;
  for (int64_t d = 0; d < cast<MemRefType>(memref.getType()).getRank(); ++d)
    shape.push_back(check.dim(memref, d));
  return shape;
}

/// `memref` has the extents `expected`.
static void emitSameShape(CheckBuilder &check, StringRef label, StringRef name,
                          Value memref, ArrayRef<Extent> expected) {
  for (auto [d, extent] : llvm::enumerate(expected))
    check.equal(label, "dimension " + Twine(d) + " of " + name,
                check.dim(memref, d), extent);
}

/// Optional groups of a quantisation or re-layout; `operands` are the scaled
/// operands that they cut.
static void
emitOptionalGroups(CheckBuilder &check, std::optional<GroupingAttr> grouping,
                   Value groups, ArrayRef<Extent> shape,
                   ArrayRef<std::pair<StringRef, ScaledOperand>> operands) {
  if (!groups)
    return;
  const GroupingForm &form = getForm(*grouping);
  if (form.hasCounts()) {
    check.equal("grouping_c5", "G of groups", check.dim(groups, 0), shape[0]);
    return check.groups(*grouping, groups, shape[1]);
  }
  int64_t ragged = *form.getCutDim();
  check.groups(*grouping, groups, shape[ragged]);
  for (const auto &[name, operand] : operands)
    check.scaleRoom(name, operand, shape, *grouping, groups, ragged);
}

/// One entry a row, or one a group, or without groups one a matrix.
static void emitGlobalScale(CheckBuilder &check, StringRef label,
                            std::optional<GroupingAttr> grouping, Value groups,
                            ArrayRef<Extent> shape, Value globalScale,
                            bool perRow) {
  if (perRow) {
    if (shape.size() == 3)
      return check.shape(label, "global_scale", globalScale,
                         {{"G", shape[0]}, {"M", shape[1]}});
    return check.shape(label, "global_scale", globalScale, {{"M", shape[0]}});
  }
  Extent count = groups              ? check.numGroups(*grouping, groups)
                 : shape.size() == 3 ? shape[0]
                                     : check.constant(1);
  check.perGroup(label, "global_scale", globalScale, count);
}

static void emitChecks(CheckBuilder &check, QuantizeOp op) {
  ScaledOperand out{op.getOut(), op.getOutScales(), op.getScaledResultType()};
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  if (op.getTransposed())
    std::swap(shape[shape.size() - 2], shape.back());
  for (auto [d, extent] : llvm::enumerate(shape))
    if (!out.type.isDynamicDim(d))
      check.equal("quantize_c2",
                  "dimension " +
                      Twine(op.getInputDim(static_cast<int64_t>(d))) +
                      " of the input",
                  extent, check.constant(out.type.getDimSize(d)));
  check.storage("outs", out, shape);
  emitOptionalGroups(check, op.getGrouping(), op.getGroups(), shape,
                     {{"outs", out}});
  emitGlobalScale(check, op.getPerRow() ? "quantize_c9" : "quantize_c3",
                  op.getGrouping(), op.getGroups(), shape, op.getGlobalScale(),
                  op.getPerRow());
  if (!op.getPerRow())
    check.globalScale(op.getGlobalScale(), shape);
}

static void emitChecks(CheckBuilder &check, DequantizeOp op) {
  ScaledOperand input{op.getInput(), op.getInputScales(), op.getInputType()};
  SmallVector<Extent, 3> shape = check.logicalShape(input);
  check.storage("the input", input, shape, /*isOwnShape=*/true);
  emitSameShape(check, "dequantize_c1", "outs", op.getOut(), shape);
  emitOptionalGroups(check, op.getGrouping(), op.getGroups(), shape,
                     {{"the input", input}});
  emitGlobalScale(check, op.getPerRow() ? "dequantize_c3" : "dequantize_c2",
                  op.getGrouping(), op.getGroups(), shape, op.getGlobalScale(),
                  op.getPerRow());
}

static void emitChecks(CheckBuilder &check, HadamardOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  check.multiple("hadamard_c1", "the last dimension", shape.back(), 16);
  emitSameShape(check, "hadamard_c2", "outs", op.getOut(), shape);
}

static void emitChecks(CheckBuilder &check, AmaxOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  emitSameShape(check, "amax_c2", "outs", op.getOut(),
                ArrayRef(shape).drop_back(2));
}

static void emitChecks(CheckBuilder &check, GluOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  emitGateCheck(check, op.getActivation().getGate(), shape.back());
  if (op.getActivation().isPaired())
    shape.back() = check.div(shape.back(), 2);
  emitSameShape(check, "glu_c3", "outs", op.getOut(), shape);
}

static void emitChecks(CheckBuilder &check, GluBackwardOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  emitGateCheck(check, op.getActivation().getGate(), shape.back());
  emitSameShape(check, "glu_backward_c3", "outs", op.getOut(), shape);
  emitOptionalGroups(check, op.getGrouping(), op.getGroups(), shape, {});
  ArrayRef<Extent> rows = ArrayRef(shape).drop_back();
  if (op.getProb())
    emitSameShape(check, "glu_backward_c5", "prob", op.getProb(), rows);
  if (op.getProbOut())
    emitSameShape(check, "glu_backward_c5", "prob_outs", op.getProbOut(), rows);
  if (op.getActivation().isPaired())
    shape.back() = check.div(shape.back(), 2);
  emitSameShape(check, "glu_backward_c4", "gradient", op.getGradient(), shape);
}

static void emitChecks(CheckBuilder &check, SumRowsOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  emitOptionalGroups(check, op.getGrouping(), op.getGroups(), shape, {});
  if (op.getProb())
    emitSameShape(check, "sum_rows_c4", "prob", op.getProb(),
                  ArrayRef(shape).drop_back());
  SmallVector<Extent, 3> sums;
  if (shape.size() == 3)
    sums.push_back(shape[0]);
  else if (op.getGroups())
    sums.push_back(check.numGroups(*op.getGrouping(), op.getGroups()));
  sums.push_back(shape.back());
  emitSameShape(check, "sum_rows_c3", "outs", op.getOut(), sums);
}

static void emitChecks(CheckBuilder &check, RelayoutScalesOp op) {
  ScaledOperand input{op.getInput(), op.getInputScales(), op.getInputType()};
  ScaledOperand out{op.getInput(), op.getOutScales(), op.getResultType()};
  SmallVector<Extent, 3> shape = check.logicalShape(input);
  check.storage("the input", input, shape, /*isOwnShape=*/true);
  check.storage("outs", out, shape, /*isOwnShape=*/true);
  emitOptionalGroups(check, op.getGrouping(), op.getGroups(), shape,
                     {{"the input", input}, {"outs", out}});
}

static void emitChecks(CheckBuilder &check, RelayoutGateOp op) {
  SmallVector<Extent, 3> shape = shapeOf(check, op.getInput());
  Extent n = shape.back();
  if (op.getInputScales()) {
    ScaledType type =
        cast<ScaledType>(cast<TypeAttr>((*op.getInputTypes())[0]).getValue());
    ScaledOperand input{op.getInput(), op.getInputScales(), type};
    SmallVector<Extent, 3> logical = check.logicalShape(input);
    n = logical[logical.size() - 2];
    check.storage("the input", input, logical, /*isOwnShape=*/true);
    check.storage("outs", {op.getOut(), op.getOutScales(), type}, logical);
  } else {
    emitSameShape(check, "relayout_gate_c5", "outs", op.getOut(), shape);
  }
  emitGateCheck(check, op.getFrom(), n);
  emitGateCheck(check, op.getTo(), n);
}

static void emitChecks(CheckBuilder &check, RelayoutWeightsOp op) {
  ScaledOperand input{op.getInput(), op.getInputScales(), op.getInputType()};
  ScaledOperand out{op.getOut(), op.getOutScales(), op.getResultType()};
  SmallVector<Extent, 3> shape = check.logicalShape(input);
  check.storage("the input", input, shape, /*isOwnShape=*/true);
  check.storage("outs", out, shape);
}

static void emitChecks(CheckBuilder &check, RouteOp op) {
  Extent tokens = check.dim(op.getLogits(), 0);
  Extent experts = check.dim(op.getLogits(), 1);
  Extent chosen = check.dim(op.getExpertsOut(), 1);
  check.shape("route_c2", "weights", op.getWeightsOut(),
              {{"T", tokens}, {"top_k", chosen}});
  check.equal("route_c2", "T of experts", check.dim(op.getExpertsOut(), 0),
              tokens);
  check.atLeast("route_c3", "top_k", chosen, check.constant(1));
  check.shape("route_c10", "bias", op.getBias(), {{"E", experts}});
  if (op.getMethod() == RoutingMethod::Llama4)
    check.equal("route_c6", "top_k", chosen, check.constant(1));
  int64_t groups = op.getNGroup(), kept = op.getTopkGroup();
  check.multiple("route_c8", "the number of experts", experts, groups);
  check.inRange("route_c9", "top_k", chosen, 1,
                check.mul(check.div(experts, groups), kept));
}

static void emitChecks(CheckBuilder &check, SortTokensOp op) {
  Extent tokens = check.dim(op.getExperts(), 0);
  Extent slots = check.dim(op.getExperts(), 1);
  Extent experts = check.dim(op.getEndsOut(), 0);
  check.shape("sort_tokens_c2", "row_of_slot", op.getRowOfSlotOut(),
              {{"T", tokens}, {"k", slots}});
  Extent needed =
      check.add(check.mul(tokens, slots),
                check.mul(experts, static_cast<int64_t>(op.getAlign()) - 1));
  check.inRange("sort_tokens_c4", "T*k + E*(align-1)", needed, 0,
                check.constant(std::numeric_limits<int32_t>::max()));
  check.atLeast("sort_tokens_c5", "entries of token_of_row",
                check.dim(op.getTokenOfRowOut(), 0), needed);
  check.indices("sort_tokens_c6", "experts", op.getExperts(), experts);
}

static void emitChecks(CheckBuilder &check, PermuteOp op) {
  check.shape("permute_c2", "outs", op.getOut(),
              {{"rows", check.dim(op.getTokenOfRow(), 0)},
               {"K", check.dim(op.getInput(), 1)}});
  check.indices("permute_c4", "token_of_row", op.getTokenOfRow(),
                check.dim(op.getInput(), 0));
}

static void emitChecks(CheckBuilder &check, CombineOp op) {
  Extent tokens = check.dim(op.getRowOfSlot(), 0);
  check.shape("combine_c2", "weights", op.getWeights(),
              {{"T", tokens}, {"k", check.dim(op.getRowOfSlot(), 1)}});
  check.shape("combine_c3", "outs", op.getOut(),
              {{"T", tokens}, {"N", check.dim(op.getInput(), 1)}});
  check.indices("combine_c4", "row_of_slot", op.getRowOfSlot(),
                check.dim(op.getInput(), 0));
}

/// The checks of an operation; null if none is needed, else whether they hold.
static Value emitChecksOf(CheckModule &module, Operation *op, bool data) {
  CheckBuilder check(module, op, data);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](MatmulOp matmul) { emitMatmulChecks(check, matmul); })
      .Case([&](MatmulListOp list) { emitMatmulListChecks(check, list); })
      .Case<QuantizeOp, DequantizeOp, HadamardOp, GluOp, GluBackwardOp,
            SumRowsOp, AmaxOp, RelayoutScalesOp, RelayoutGateOp,
            RelayoutWeightsOp, RouteOp, SortTokensOp, PermuteOp, CombineOp>(
          [&](auto other) { emitChecks(check, other); });
  check.destinations(op);
  return check.allHold();
}

/// The same for all operations of a launch, which run together or not at all.
static Value emitChecksOf(CheckModule &module, OneLaunchOp launch, bool data) {
  OpBuilder builder(launch);
  Value all;
  for (Operation &op : *launch.getBody()) {
    // Checks stand before their operation.
    Operation *before = builder.clone(op);
    Value condition = emitChecksOf(module, before, data);
    before->erase();
    if (all && condition)
      all = arith::AndIOp::create(builder, op.getLoc(), all, condition);
    else if (condition)
      all = condition;
  }
  return all;
}

/// The integers that `op` writes.
static void findIntegers(Operation *op, SmallVectorImpl<Value> &integers) {
  if (auto sort = dyn_cast<SortTokensOp>(op))
    integers.append(
        {sort.getEndsOut(), sort.getTokenOfRowOut(), sort.getRowOfSlotOut()});
  else if (auto route = dyn_cast<RouteOp>(op))
    integers.push_back(route.getExpertsOut());
  else if (auto launch = dyn_cast<OneLaunchOp>(op))
    for (Operation &inner : *launch.getBody())
      findIntegers(&inner, integers);
}

/// Runs `op` only if `condition` holds. Its integers, which may address or
/// count something later, are defined in any case.
static void guard(Operation *op, Value condition) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> integers;
  findIntegers(op, integers);
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/!integers.empty());
  op->moveBefore(branch.thenBlock()->getTerminator());
  if (integers.empty())
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  for (Value memref : integers) {
    Type type = cast<MemRefType>(memref.getType()).getElementType();
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    linalg::FillOp::create(builder, loc, zero, memref);
  }
}

namespace {
struct EmitRuntimeChecks
    : nvfp4::impl::EmitRuntimeChecksPassBase<EmitRuntimeChecks> {
  using EmitRuntimeChecksPassBase::EmitRuntimeChecksPassBase;

  void runOnOperation() override {
    CheckModule module(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()) &&
          !isInEpilogue(op) && !isa<OneLaunchOp>(op->getParentOp()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
            return isa<MemRefType>(type) || type.isIntOrIndexOrFloat();
          })) {
        op->emitOpError("expected memrefs in storage form; run "
                        "gsg-decompose-scaled and one-shot-bufferize first");
        return signalPassFailure();
      }
      auto launch = dyn_cast<OneLaunchOp>(op);
      if (Value condition = launch ? emitChecksOf(module, launch, data)
                                   : emitChecksOf(module, op, data))
        guard(op, condition);
    }
  }
};
} // namespace
