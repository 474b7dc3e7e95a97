//===- ListParameters.cpp - What a list of problems gives its kernel ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents, maps and results of problems are a table in global memory, so that
// one kernel has the tiles of all.
//
//===----------------------------------------------------------------------===//

#include "../Common/ProblemTable.h"
#include "Parameters.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::tcgen05;

static OperandPlan getProblem(OperandPlan side, Value data, Value scales,
                              ScaledType type) {
  side.operand = {data, scales, type};
  return side;
}

Parameters tcgen05::addListParameters(Launch &launch, const Plan &plan,
                                      MatmulListOp list, MatmulOp op,
                                      HostNumber &blocks) {
  HostMath &math = launch.math;
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  int64_t boxBytes = plan.resultColumns * element.getIntOrFloatBitWidth() / 8;
  HostNumber tiles = math.constant(0);
  Buffer firstResult;
  for (int64_t i = 0, e = list.getOuts().size(); i < e; ++i) {
    Plan one = plan;
    one.a = getProblem(plan.a, list.getLhs()[i], list.getLhsScales()[i],
                       list.getLhsType(i));
    one.b = getProblem(plan.b, list.getRhs()[i], list.getRhsScales()[i],
                       list.getRhsType(i));
    HostNumber columns = math.dim(list.getRhs()[i], 0);
    HostNumber k = countK(math, one.a.operand, one.b.operand);
    // TMA fills in the zeros of K = 0.
    Buffer result =
        beginProblem(launch, list, i, columns, math.ceilDiv(k, plan.k));
    if (i == 0)
      firstResult = result;
    addOperandMaps(launch, one, k);
    if (plan.staged)
      launch.addMatrixMap(result, warpspec::kTmemLanes, launch.host.getI8Type(),
                          boxBytes, boxBytes);
    tiles =
        math.add(tiles, math.mul(math.ceilDiv(result.rows, plan.getTileRows()),
                                 math.ceilDiv(columns, plan.getTileColumns())));
  }
  Parameters parameters;
  KernelParameters &p = parameters.common;
  endProblems(launch, list, op, firstResult, p);
  blocks = addPartials(launch, plan, tiles, p);
  return parameters;
}
