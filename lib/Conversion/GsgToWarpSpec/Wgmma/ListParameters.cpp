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

/// Rows of a problem's tiles: all have nearly the same number, as small as it
/// can be.
static HostNumber getTileRows(HostMath &math, const Plan &plan,
                              HostNumber rows) {
  auto roundUp = [&](HostNumber number, int64_t to) {
    return math.mul(math.ceilDiv(number, to), math.constant(to));
  };
  HostNumber tiles = math.atLeastOne(math.ceilDiv(rows, plan.width));
  HostNumber each = math.atLeastOne(math.ceilDiv(rows, tiles));
  return math.choose(each, 64, roundUp(each, 8),
                     math.atMost(roundUp(each, plan.widthStep), plan.width));
}

/// Columns of a problem. Packed weights in memory have other extents.
static HostNumber countColumns(HostMath &math, const ScaledOperand &weights) {
  return weights.type.isCoded() ? math.constant(weights.type.getDimSize(0))
                                : math.dim(weights.data, 0);
}

Parameters wgmma::addListParameters(Launch &launch, const Plan &plan,
                                    MatmulListOp list, MatmulOp op,
                                    HostNumber &blocks) {
  HostMath &math = launch.math;
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  launch.setGroups(op.getGrouping(), Value(), Plan::kValues);
  blocks = math.constant(0);
  Buffer firstResult;
  Launch::CodedWeights firstWeights;
  for (auto [i, out] : llvm::enumerate(list.getOuts())) {
    auto number = static_cast<int64_t>(i);
    ScaledOperand a = {list.getLhs()[i], list.getLhsScales()[i],
                       list.getLhsType(number)};
    ScaledOperand weights = {list.getRhs()[i], list.getRhsScales()[i],
                             list.getRhsType(number)};
    HostNumber rows = math.dim(a.data, 0);
    HostNumber columns = countColumns(math, weights);
    HostNumber k = countK(math, a, weights);
    HostNumber rowBytes = math.mul(columns, math.constant(bytes));
    Buffer tokens = launch.addTokens(a, k, plan.element);
    Launch::CodedWeights packed = launch.packWeights(
        weights, plan.element.isF16(), math.constant(1), columns, k);
    Buffer result =
        launch.addBuffer(out, rows, rowBytes, 16, Launch::Read | Launch::Write);
    if (i == 0) {
      firstResult = result;
      firstWeights = packed;
    }
    HostNumber tileRows = getTileRows(math, plan, rows);
    launch.beginTableRow();
    // In the order of ProblemWord.
    launch.addTableNumber(rows);
    launch.addTableNumber(columns);
    // With K = 0 there is one step, of zeros: TMA fills in rows, and packing
    // pads weights to a stage.
    launch.addTableNumber(
        math.atLeastOne(math.ceilDiv(k, plan.getStageValues())));
    launch.addTableNumber(
        math.mul(math.ceilDiv(rowBytes, 16), math.constant(16 / bytes)));
    launch.addTablePointer(result.memory);
    launch.addTableNumber(tileRows);
    launch.addTablePointer(packed.codes);
    launch.addTablePointer(packed.factors);
    launch.addTokenMap(tokens, plan.element, tileRows, plan.blocks);
    blocks =
        math.add(blocks, math.mul(math.ceilDiv(rows, plan.width),
                                  math.ceilDiv(columns, plan.getColumns())));
  }
  Parameters parameters;
  KernelParameters &p = parameters.common;
  p.problems = launch.endTable();
  p.hasTileRows = true;
  p.groups = launch.addNumber(
      math.constant(static_cast<int64_t>(list.getOuts().size())));
  p.result.memref = launch.addPointerTo(firstResult, element, Launch::Write);
  addWeights(launch, plan, firstWeights, parameters);
  addFactors(launch, op, p);
  blocks = math.atMost(blocks, Plan::kMostBlocks);
  return parameters;
}
