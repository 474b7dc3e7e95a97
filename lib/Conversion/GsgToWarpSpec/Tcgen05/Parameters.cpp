//===- Parameters.cpp - What a kernel for tcgen05 is given ------*- C++ -*-===//
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
using namespace nvfp4::gsg::tcgen05;

static bool isAlongK(MatmulOp op) { return getForm(op.getGrouping()).cutsK(); }

/// K is known to be an odd number of values of FP4 on both sides: the rest of
/// the last byte of a row is nobody's. Zeros on one side are enough, for codes
/// of FP4 are finite and the scales are those of the block that K ends in.
/// Beside FP8 TMA fills in these zeros.
static bool hasHalfBytes(ScaledType a, ScaledType b) {
  if (!a)
    return false;
  auto isOdd = [](int64_t k) { return ShapedType::isStatic(k) && k % 2 != 0; };
  return a.isFP4() && b.isFP4() &&
         (isOdd(a.getShape().back()) || isOdd(b.getShape().back()));
}

/// Values as a matrix of bytes: TMA needs rows at multiples of 16 bytes, and
/// rows of whole 64 bytes where it pads FP4.
static Value addValues(Launch &launch, const OperandPlan &side, int64_t boxRows,
                       int64_t rowValues, HostNumber k, bool isAlongK,
                       bool clearsHalfBytes = false) {
  Value data = side.operand.data;
  Buffer buffer;
  bool isFP4 = side.operand.type.isFP4();
  if (isAlongK) {
    buffer = launch.addValuesOfK(side.operand, k);
  } else {
    int64_t rank = cast<MemRefType>(data.getType()).getRank();
    HostNumber rows = countRows(launch.math, data, 1),
               rowBytes = launch.math.dim(data, rank - 1);
    int64_t alignment = side.isPadded ? 64 : 16;
    int odd = clearsHalfBytes ? Launch::Odd : 0;
    buffer =
        launch.addBuffer(data, rows, rowBytes, alignment, Launch::Read | odd);
  }
  // Bytes and elements of the box are the same number, but for packed FP4.
  bool isPacked = isFP4 && !side.isPadded;
  return launch.addMatrixMap(buffer, boxRows, side.element,
                             isPacked ? rowValues / 2 : rowValues,
                             side.rowBytes);
}

/// Scales [..., rows / 128, K atoms, 32, 4, 4].
static Value addScales(Launch &launch, const OperandPlan &side,
                       const Plan &plan, bool isOnM, HostNumber k,
                       bool isAlongK) {
  HostMath &math = launch.math;
  Value scales = side.operand.scales;
  Buffer buffer;
  if (isAlongK) {
    buffer = launch.addScalesOfK(side.operand, k);
  } else {
    int64_t rank = cast<MemRefType>(scales.getType()).getRank();
    HostNumber columns = math.ceilDiv(k, side.operand.type.getBlockSize());
    // Memory may leave open what K says.
    HostNumber atoms =
        columns.known ? math.ceilDiv(columns, 4) : math.dim(scales, rank - 4);
    HostNumber rowBytes =
        math.mul(atoms, math.constant(warpspec::kScaleAtomBytes));
    buffer =
        launch.addScales(scales, countRows(math, scales, 4), rowBytes, columns);
  }
  if (isOnM)
    return launch.addScaleMap(buffer, plan.scaleAtoms, 1);
  // One row of atoms more is one atom more, as a narrow tile is in one row.
  return launch.addScaleMap(buffer, plan.scaleAtoms + plan.isNarrow(),
                            plan.getNAtoms());
}

HostNumber tcgen05::addPartials(Launch &launch, const Plan &plan,
                                HostNumber tiles, KernelParameters &p) {
  HostMath &math = launch.math;
  HostNumber blocks = math.mul(tiles, math.constant(plan.ctas));
  if (plan.splitK == 1)
    return blocks;
  // The last part of a tile has its sums in tensor memory.
  HostNumber slots = math.mul(blocks, math.constant(plan.splitK - 1));
  constexpr int64_t lanes = warpspec::kTmemLanes, word = 4;
  auto add = [&](int64_t words, Type element) {
    return launch.addPointerTo(launch.addScratch(slots, words * word), element,
                               Launch::Write);
  };
  p.partials = add(lanes * plan.n, launch.host.getF32Type());
  p.published = add(lanes, launch.host.getI32Type());
  return math.mul(blocks, math.constant(plan.splitK));
}

OperandMaps tcgen05::addOperandMaps(Launch &launch, const Plan &plan,
                                    HostNumber k, bool isAlongK) {
  OperandMaps maps;
  if (plan.decodes) {
    // The half of a byte after an odd K is multiplied by a zero of TMA.
    Buffer rows = launch.addTokens(plan.a.operand, k, plan.a.element);
    maps.a = launch.addTokenMap(rows, plan.a.element, plan.getOwnRows(),
                                plan.getRowBlocks());
    maps.b =
        addValues(launch, plan.b, plan.getOwnColumns(), plan.k, k, isAlongK);
    maps.bScales = addScales(launch, plan.b, plan, /*isOnM=*/true, k, isAlongK);
    return maps;
  }
  // Cleared in A, which is one operand: weights are copied as they are.
  maps.a = addValues(launch, plan.a, plan.getOwnRows(), plan.k, k, isAlongK,
                     hasHalfBytes(plan.a.operand.type, plan.b.operand.type));
  maps.b = addValues(launch, plan.b, plan.getOwnColumns(), plan.k, k, isAlongK);
  maps.aScales =
      addScales(launch, plan.a, plan, /*isOnM=*/!plan.swap, k, isAlongK);
  maps.bScales =
      addScales(launch, plan.b, plan, /*isOnM=*/plan.swap, k, isAlongK);
  return maps;
}

Parameters tcgen05::addParameters(Launch &launch, const Plan &plan, MatmulOp op,
                                  HostNumber &blocks) {
  HostMath &math = launch.math;
  Parameters parameters;
  KernelParameters &p = parameters.common;
  bool isGathered = isAlongK(op);
  HostNumber k = countK(math, plan.a.operand, plan.b.operand);
  if (isGathered)
    launch.setGroups(op.getGrouping(), op.getGroups(), plan.k);
  parameters.maps = addOperandMaps(launch, plan, k, isGathered);
  ScaledType rows = plan.a.operand.type;
  p.startsByGroup = rows && rows.getGroupStart() == GroupStart::UpperBound;
  addCommonParameters(launch, op, math.ceilDiv(k, plan.k),
                      plan.staged ? plan.resultColumns : 0, p);
  if (isGathered)
    p.depth = launch.addNumber(k);
  HostNumber tiles =
      countTiles(math, op, plan.getTileRows(), plan.getTileColumns());
  blocks = addPartials(launch, plan, tiles, p);
  return parameters;
}
