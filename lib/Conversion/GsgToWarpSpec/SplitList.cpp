//===- SplitList.cpp - The pass gsg-split-list ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For targets whose kernels compute one shape.
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SPLITLISTPASS
#include "nvfp4/Conversion/GsgToWarpSpec/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// A factor of problem `i`: a number, or the entry of a memref that holds one
/// for all or one a problem.
static Value getFactor(OpBuilder &b, Location loc, Value factor, int64_t i) {
  auto type = factor ? dyn_cast<MemRefType>(factor.getType()) : MemRefType();
  if (!type)
    return factor;
  SmallVector<Value> at;
  if (type.getRank() == 1)
    at.push_back(arith::ConstantIndexOp::create(
        b, loc, type.getDimSize(0) == 1 ? 0 : i));
  return memref::LoadOp::create(b, loc, factor, at);
}

MatmulOp nvfp4::gsg::sm100::createProblem(OpBuilder &b, MatmulListOp op,
                                          int64_t i, Value alpha, Value beta) {
  auto grouping = GroupingAttr::get(op.getContext(), GroupingKind::Dense,
                                    OffsetsKind::Ends, 1);
  auto one = [&](ArrayAttr types) { return b.getArrayAttr(types[i]); };
  return MatmulOp::create(
      b, op.getLoc(), TypeRange(), grouping, /*groups=*/Value(), op.getLhs()[i],
      op.getLhsScales()[i], one(op.getLhsTypesAttr()), op.getRhs()[i],
      op.getRhsScales()[i], one(op.getRhsTypesAttr()), alpha, /*bias=*/Value(),
      /*prob=*/Value(), ProbPosition::PostActivation, beta, /*addend=*/Value(),
      ActivationAttr(), /*activation_params=*/Value(), /*row=*/ValueRange(),
      /*column=*/ValueRange(), /*group=*/ValueRange(), QuantizerAttr(),
      /*global_scale=*/Value(), /*seed=*/Value(), MathMode::Strict,
      TailMode::Preserve, op.getDeterminism(), op.getStrategyAttr(),
      /*expected_rows=*/IntegerAttr(), /*preact_out=*/Value(), op.getOuts()[i],
      /*out_scales=*/Value(), /*out_types=*/ArrayAttr(), /*amax_out=*/Value());
}

bool nvfp4::gsg::sm100::isOneKernel(MatmulListOp op) {
  auto elementOf = [](Value out) {
    return cast<ShapedType>(out.getType()).getElementType();
  };
  return op.getOuts().size() > 1 && llvm::all_of(op.getOuts(), [&](Value out) {
           return elementOf(out) == elementOf(op.getOuts()[0]);
         });
}

static void split(MatmulListOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  for (int64_t i = 0, e = op.getOuts().size(); i < e; ++i) {
    Value alpha = getFactor(b, loc, op.getAlpha(), i);
    Value beta = getFactor(b, loc, op.getBeta(), i);
    sm100::createProblem(b, op, i, alpha, beta);
  }
  op.erase();
}

namespace {
struct SplitList : nvfp4::gsg::impl::SplitListPassBase<SplitList> {
  using SplitListPassBase::SplitListPassBase;

  void runOnOperation() override {
    getOperation()->walk([&](MatmulListOp op) {
      if (op->getNumResults() == 0 && !op.getLhsScales().empty() &&
          (target == "sm_90a" || !sm100::isOneKernel(op)))
        split(op);
    });
  }
};
} // namespace
