//===- ListParameters.cpp - What a list of problems gives its kernel ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table in global memory has a row for each problem. The host chooses the
// number of rows of a problem's tiles, so each problem needs one map of tokens.
//
//===----------------------------------------------------------------------===//

#include "../Common/ProblemTable.h"
#include "Parameters.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::wgmma;

/// Columns of a problem. Packed weights in memory have other extents.
static HostNumber countColumns(HostMath &math, const ScaledOperand &weights) {
  return weights.type.isCoded() ? math.constant(weights.type.getDimSize(0))
                                : math.dim(weights.data, 0);
}

Parameters wgmma::addListParameters(Launch &launch, const Plan &plan,
                                    MatmulListOp list, MatmulOp op,
                                    HostNumber &blocks) {
  HostMath &math = launch.math;
  launch.setGroups(op.getGrouping(), Value(), Plan::kValues);
  blocks = math.constant(0);
  Buffer firstResult;
  Launch::CodedWeights firstWeights;
  for (int64_t i = 0, e = list.getOuts().size(); i < e; ++i) {
    ScaledOperand a = {list.getLhs()[i], list.getLhsScales()[i],
                       list.getLhsType(i)};
    ScaledOperand weights = {list.getRhs()[i], list.getRhsScales()[i],
                             list.getRhsType(i)};
    HostNumber columns = countColumns(math, weights);
    HostNumber k = countK(math, a, weights);
    Buffer tokens = launch.addTokens(a, k, plan.element);
    Launch::CodedWeights packed = launch.packWeights(
        weights, plan.element.isF16(), math.constant(1), columns, k);
    // TMA fills in rows of zeros where K = 0, and packing pads weights to a
    // stage.
    Buffer result = beginProblem(launch, list, i, columns,
                                 math.ceilDiv(k, plan.getStageValues()));
    if (i == 0) {
      firstResult = result;
      firstWeights = packed;
    }
    // No box is without rows.
    HostNumber tileRows =
        chooseTileRows(math, plan, math.atLeastOne(result.rows));
    launch.addTableNumber(tileRows);
    launch.addTablePointer(packed.codes);
    launch.addTablePointer(packed.factors);
    launch.addTokenMap(tokens, plan.element, tileRows, plan.blocks);
    blocks =
        math.add(blocks, math.mul(math.ceilDiv(result.rows, plan.width),
                                  math.ceilDiv(columns, plan.getColumns())));
  }
  Parameters parameters;
  KernelParameters &p = parameters.common;
  endProblems(launch, list, op, firstResult, p);
  p.hasTileRows = true;
  addWeights(launch, plan, firstWeights, parameters);
  blocks = math.atMost(blocks, Plan::kMostBlocks);
  return parameters;
}
