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

#include <array>

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
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  HostNumber tiles = math.constant(0);
  Buffer firstResult;
  for (auto [i, out] : llvm::enumerate(list.getOuts())) {
    auto number = static_cast<int64_t>(i);
    Plan one = plan;
    one.a = getProblem(plan.a, list.getLhs()[i], list.getLhsScales()[i],
                       list.getLhsType(number));
    one.b = getProblem(plan.b, list.getRhs()[i], list.getRhsScales()[i],
                       list.getRhsType(number));
    HostNumber rows = math.dim(list.getLhs()[i], 0);
    HostNumber columns = math.dim(list.getRhs()[i], 0);
    HostNumber k = countK(math, one.a.operand, one.b.operand);
    HostNumber steps = math.ceilDiv(k, plan.k);
    HostNumber rowBytes = math.mul(columns, math.constant(bytes));
    Buffer result =
        launch.addBuffer(out, rows, rowBytes, 16, Launch::Read | Launch::Write);
    if (i == 0)
      firstResult = result;
    std::array<HostNumber, static_cast<size_t>(ProblemWord::Out)> numbers;
    auto place = [&](ProblemWord word) -> HostNumber & {
      return numbers[static_cast<size_t>(word)];
    };
    place(ProblemWord::Rows) = rows;
    place(ProblemWord::Columns) = columns;
    // With K = 0 one step multiplies what lies outside: zeros.
    place(ProblemWord::Steps) = math.atLeastOne(steps);
    place(ProblemWord::OutStride) =
        math.mul(math.ceilDiv(rowBytes, 16), math.constant(16 / bytes));
    launch.beginTableRow();
    for (const HostNumber &word : numbers)
      launch.addTableNumber(word);
    launch.addTablePointer(result.memory);
    addOperandMaps(launch, one, k);
    int64_t boxBytes = plan.resultColumns * bytes;
    if (plan.staged)
      launch.addMatrixMap(result, warpspec::kTmemLanes, launch.host.getI8Type(),
                          boxBytes, boxBytes);
    tiles =
        math.add(tiles, math.mul(math.ceilDiv(rows, plan.getTileRows()),
                                 math.ceilDiv(columns, plan.getTileColumns())));
  }
  Parameters parameters;
  KernelParameters &p = parameters.common;
  p.problems = launch.endTable();
  p.groups = launch.addNumber(
      math.constant(static_cast<int64_t>(list.getOuts().size())));
  p.result.memref = launch.addPointerTo(firstResult, element, Launch::Write);
  addFactors(launch, op, p);
  blocks = addPartials(launch, plan, tiles, p);
  return parameters;
}
