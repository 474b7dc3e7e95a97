//===- Parameters.cpp - What a kernel for wgmma is given --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the parameters is the order of the calls here.
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::wgmma;

void wgmma::addWeights(Launch &launch, const Plan &plan,
                       const Launch::CodedWeights &weights,
                       Parameters &parameters) {
  parameters.weights =
      launch.addPointer(weights.codes, Launch::Read, launch.host.getI8Type());
  if (!Launch::hasKnownFactors(plan.weights))
    parameters.factors = launch.addPointer(weights.factors, Launch::Read);
}

Parameters wgmma::addParameters(Launch &launch, const Plan &plan, MatmulOp op,
                                HostNumber &blocks) {
  HostMath &math = launch.math;
  Parameters parameters;
  KernelParameters &p = parameters.common;
  HostNumber k = countK(math, plan.a, plan.weights);
  HostExtents extents = HostExtents::get(math, op);
  HostNumber steps = math.ceilDiv(k, plan.getStageValues());
  bool isAlongK = getForm(op.getGrouping()).cutsK();
  // Each group begins at a stage of its own.
  if (isAlongK)
    steps = math.add(steps, extents.groups);
  launch.setGroups(op.getGrouping(), op.getGroups(), Plan::kValues);
  Buffer buffer = launch.addTokens(plan.a, k, plan.element);
  parameters.tokenMaps =
      launch.addTokenMaps(buffer, plan.element, plan.width, plan.blocks);
  Launch::CodedWeights weights = launch.packWeights(
      plan.weights, plan.element.isF16(),
      isAlongK ? math.constant(1) : extents.groups, extents.columns, k);
  addWeights(launch, plan, weights, parameters);
  if (isAlongK)
    p.depth = launch.addNumber(k);
  addCommonParameters(launch, op, steps, /*boxColumns=*/0, p);
  blocks = countTiles(math, op, plan.width, plan.getColumns());
  if (plan.inParts)
    blocks = math.mul(blocks, math.constant(Plan::kMostParts));
  blocks = math.atMost(blocks, Plan::kMostBlocks);
  if (plan.isCut) {
    auto add = [&](int64_t words, Type element) {
      return launch.addPointerTo(launch.addScratch(blocks, words * 4), element,
                                 Launch::Write);
    };
    p.partials =
        add(plan.getThreads() * plan.width / 2, launch.host.getF32Type());
    p.published = add(plan.getThreads(), launch.host.getI32Type());
  }
  return parameters;
}
