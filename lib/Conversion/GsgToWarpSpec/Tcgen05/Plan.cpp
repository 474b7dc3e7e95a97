//===- Plan.cpp - Sizes of one product's kernel -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products without a kernel are refused here, before anything is built.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "../Common/KernelParameters.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/CodedWeights.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/Strategy/Tcgen05/Budget.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::tcgen05;

static std::string findUnsupportedSide(ScaledType type,
                                       const GroupingForm &form) {
  if (!type.isKMajor())
    return "values whose blocks do not run along the last dimension";
  // Groups along K are laid out by the launch, with their scales.
  if (form.cutsK())
    return type.getLayout() == ScaleLayout::Linear
               ? ""
               : "scales that are not laid out by gsg-assign-scale-layout";
  if (type.getLayout() != ScaleLayout::Blocked ||
      (type.getGroupStart() != GroupStart::Whole && !form.cutsRows()))
    return "scales that are not laid out by gsg-assign-scale-layout";
  return "";
}

/// Weights decoded to the type of rows without scales.
static void chooseDecoding(Plan &plan) {
  ScaledType weights = plan.b.operand.type;
  plan.decodes = true;
  plan.code = kernels::getWeightCode(weights);
  plan.scaleAtoms = plan.k / weights.getBlockSize() / 4;
  plan.a.element =
      cast<MemRefType>(plan.a.operand.data.getType()).getElementType();
  // Codes of FP8 are bytes, too.
  plan.b.element = IntegerType::get(weights.getContext(), 8);
  plan.b.rowBytes = weights.isFP4() ? plan.k / 2 : plan.k;
}

/// The instruction for the formats of both operands; `k` is chosen already.
static void chooseInstruction(Plan &plan) {
  ScaledType a = plan.a.operand.type, b = plan.b.operand.type;
  if (!a)
    return chooseDecoding(plan);
  BlockFormat format = a.getFormat();
  if (a.isFP4() != b.isFP4()) {
    for (OperandPlan *side : {&plan.a, &plan.b}) {
      ScaledType type = side->operand.type;
      side->isPadded = type.isFP4();
      side->element = type.isFP4() ? Float4E2M1FNType::get(type.getContext())
                                   : type.getDataElementType();
    }
  } else {
    plan.a.element = a.getDataElementType();
    plan.b.element = b.getDataElementType();
  }
  if (!a.isFP4() || !b.isFP4()) {
    plan.kind = warpspec::ScaledKind::MXF8F6F4;
  } else {
    plan.kind = format == BlockFormat::MXFP4 ? warpspec::ScaledKind::MXF4
                                             : warpspec::ScaledKind::MXF4NVF4;
    plan.ue8m0 = format == BlockFormat::NVFP4_E8M0;
  }
  plan.scaleAtoms = plan.k / a.getBlockSize() / 4;
}

/// The tile that the strategy asks for, or what is missing. The budget is the
/// one by which the strategy was found to be legal.
static std::string chooseTile(Plan &plan, MatmulOp op,
                              const strategy::Problem &problem,
                              const strategy::Tcgen05Target &target) {
  strategy::Tile tile = target.getDefaultTile(problem);
  if (StrategyAttr given = op.getStrategyAttr())
    tile = getTile(given);
  if (auto violation = target.findViolation(tile, problem))
    return explainIllegalTile(tile, *violation, problem, target);
  tile = target.complete(tile, problem);
  plan.m = tile.m;
  plan.n = tile.n;
  plan.ctas = tile.ctas;
  plan.splitK = tile.splitK;
  plan.swap = tile.swapAB;
  // Rows on lanes are rows of a box, and codes go with their scales.
  plan.staged = !plan.swap && !op.getQuantizer();
  plan.resultColumns = getResultColumns(op, plan.swap);
  plan.stages = tile.stages;
  plan.accumulators = tile.accumulatorStages;
  plan.scaleBuffers = tile.scaleStages;
  if (auto memory =
          strategy::planTensorMemory(tile, problem, target.getMachine());
      memory && memory->overlapped)
    plan.sharedColumns = plan.n - memory->accumulatorStride;
  return "";
}

/// Fills in the plan of `op`. What is missing, or an empty text.
static std::string makePlan(Plan &plan, MatmulOp op,
                            const strategy::Tcgen05Target &target) {
  if (std::string what = findUnsupportedByKernels(op, target); !what.empty())
    return what;
  plan.a.operand =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())
          .front();
  plan.b.operand =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr())
          .front();
  const GroupingForm &form = getForm(op.getGrouping());
  for (ScaledType type : {plan.a.operand.type, plan.b.operand.type})
    if (std::string what = type ? findUnsupportedSide(type, form) : "";
        !what.empty())
      return what;
  strategy::Problem problem = forKernels(describe(op));
  plan.k = strategy::getTileK(problem);
  plan.splits = strategy::splitsRows(problem);
  chooseInstruction(plan);
  return chooseTile(plan, op, problem, target);
}

FailureOr<Plan> Plan::get(MatmulOp op, const strategy::Tcgen05Target &target) {
  if (std::string what = explainCodedWeights(op, &target); !what.empty())
    return op.emitOpError(what);
  Plan plan;
  if (std::string what = makePlan(plan, op, target); !what.empty())
    return refuseKernel(op, target, what);
  return plan;
}

FailureOr<Plan> Plan::get(MatmulListOp list, MatmulOp first,
                          const strategy::Tcgen05Target &target) {
  auto refuse = [&](const Twine &what) {
    return refuseKernel(list, target, what);
  };
  if (std::string what = explainCodedWeights(list, &target); !what.empty())
    return list.emitOpError(what);
  if (std::string what = findUnsupportedByKernels(list); !what.empty())
    return refuse(what);
  Plan plan;
  if (std::string what = makePlan(plan, first, target); !what.empty())
    return refuse(what);
  for (int64_t i = 1, e = list.getOuts().size(); i < e; ++i) {
    for (ScaledType type : {list.getLhsType(i), list.getRhsType(i)})
      if (std::string what =
              findUnsupportedSide(type, getForm(GroupingKind::Dense));
          !what.empty())
        return refuse(what);
  }
  return plan;
}
