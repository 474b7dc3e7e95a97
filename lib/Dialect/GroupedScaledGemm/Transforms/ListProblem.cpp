//===- ListProblem.cpp - Problems of a list as products ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for all problems is planned and built as for the first of them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/ListProblem.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace nvfp4::gsg;

bool nvfp4::gsg::isStored(MatmulListOp list) {
  return list->getNumResults() == 0 && !list.getLhsScales().empty();
}

bool nvfp4::gsg::hasOneKernel(MatmulListOp list) {
  if (!isStored(list))
    return false;
  auto elementOf = [](Value out) {
    return cast<ShapedType>(out.getType()).getElementType();
  };
  return list.getOuts().size() > 1 &&
         llvm::all_of(list.getOuts(), [&](Value out) {
           return elementOf(out) == elementOf(list.getOuts()[0]);
         });
}

MatmulOp nvfp4::gsg::createProblem(OpBuilder &b, MatmulListOp op, int64_t i,
                                   Value alpha, Value beta) {
  auto grouping = GroupingAttr::get(op.getContext(), GroupingKind::Dense,
                                    OffsetsKind::Ends, 1);
  auto one = [&](ArrayAttr types) { return b.getArrayAttr(types[i]); };
  ActivationAttr activation;
  if (op.hasExpandedEpilogue())
    activation = ActivationAttr::get(op.getContext(), ActivationKind::Custom);
  auto problem = MatmulOp::create(
      b, op.getLoc(), TypeRange(), grouping, /*groups=*/Value(), op.getLhs()[i],
      op.getLhsScales()[i], one(op.getLhsTypesAttr()), op.getRhs()[i],
      op.getRhsScales()[i], one(op.getRhsTypesAttr()), alpha,
      /*row_scale=*/Value(), /*bias=*/Value(),
      /*prob=*/Value(), ProbPosition::PostActivation, beta, /*addend=*/Value(),
      activation, /*outer_gate=*/GateAttr(),
      /*activation_params=*/Value(), /*gradient_of=*/ActivationAttr(),
      /*preact=*/Value(), /*row=*/ValueRange(),
      /*column=*/ValueRange(), /*group=*/ValueRange(), QuantizerAttr(),
      /*global_scale=*/Value(), /*seed=*/Value(), /*copies=*/ArrayAttr(),
      /*copy_global_scales=*/ValueRange(), /*copy_seeds=*/ValueRange(),
      MathMode::Strict, TailMode::Preserve, op.getDeterminism(),
      op.getStrategyAttr(),
      /*expected_rows=*/IntegerAttr(), /*preact_out=*/Value(), op.getOuts()[i],
      /*out_scales=*/Value(), /*out_types=*/ArrayAttr(), /*amax_out=*/Value(),
      /*prob_out=*/Value(),
      /*copy_outs=*/ValueRange(), /*copy_out_scales=*/ValueRange(),
      /*copy_types=*/ArrayAttr());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&problem.getEpilogue(), mapping);
  return problem;
}
