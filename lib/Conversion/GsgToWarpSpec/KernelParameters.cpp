//===- KernelParameters.cpp - What a product's kernel is given --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the parameters is the order of the calls here.
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;

HostNumber nvfp4::gsg::sm100::countRows(HostMath &math, Value memref,
                                        int64_t last) {
  HostNumber rows = math.constant(1);
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t d = 0; d < rank - last; ++d)
    rows = math.mul(rows, math.dim(memref, d));
  return rows;
}

/// Values as a matrix of bytes: TMA needs rows at multiples of 16 bytes, of 32
/// where it pads FP4.
static Value addValues(Launch &launch, const OperandPlan &side, int64_t boxRows,
                       int64_t rowValues) {
  Value data = side.operand.data;
  int64_t rank = cast<MemRefType>(data.getType()).getRank();
  auto all = llvm::map_to_vector(
      side.parts, [](const ScaledOperand &part) { return part.data; });
  Value buffer =
      launch.addParts(all, countRows(launch.math, data, 1),
                      launch.math.dim(data, rank - 1), side.isPadded ? 32 : 16);
  // Bytes and elements of the box are the same number, but for packed FP4.
  bool isPacked = side.operand.type.isFP4() && !side.isPadded;
  return launch.addMatrixMap(buffer, side.getMapType(), boxRows, side.element,
                             isPacked ? rowValues / 2 : rowValues,
                             KernelPlan::kRowBytes);
}

/// Scales [..., rows / 128, K atoms, 32, 4, 4].
static Value addScales(Launch &launch, const OperandPlan &side,
                       const KernelPlan &plan, bool isOnM) {
  HostMath &math = launch.math;
  Value scales = side.operand.scales;
  int64_t rank = cast<MemRefType>(scales.getType()).getRank();
  auto all = llvm::map_to_vector(
      side.parts, [](const ScaledOperand &part) { return part.scales; });
  HostNumber rowBytes = math.mul(math.dim(scales, rank - 4),
                                 math.constant(warpspec::kScaleAtomBytes));
  Value buffer = launch.addParts(all, countRows(math, scales, 4), rowBytes,
                                 warpspec::kScaleAtomBytes);
  if (isOnM)
    return launch.addScaleMap(buffer, plan.scaleAtoms, 1);
  // One row of atoms more is one atom more, as a narrow tile is in one row.
  return launch.addScaleMap(buffer, plan.scaleAtoms + plan.isNarrow(),
                            plan.getNAtoms());
}

/// A scalar or one entry a group: a pointer if it is in memory.
static void addPerGroup(Launch &launch, Value value, Value &pointer,
                        Value &scalar) {
  if (!value)
    return;
  if (isa<MemRefType>(value.getType()))
    pointer = launch.addPointer(value, Launch::Read);
  else
    scalar = launch.addFloat(value);
}

/// The result, with rows of whole 16 bytes: TMA stores boxes of it.
static void addResult(Launch &launch, const KernelPlan &plan, MatmulOp op,
                      KernelParameters &p, HostNumber columns, int access) {
  HostMath &math = launch.math;
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  HostNumber rowBytes = math.mul(columns, math.constant(bytes));
  Value buffer = launch.addBuffer(op.getOut(), countRows(math, op.getOut(), 1),
                                  rowBytes, 16, access);
  p.out = launch.addPointerTo(buffer, element);
  p.outStride = launch.addNumber(
      math.mul(math.ceilDiv(rowBytes, 16), math.constant(16 / bytes)));
  if (!plan.staged)
    return;
  int64_t boxBytes = plan.stagedColumns * bytes;
  p.outMap = launch.addMatrixMap(buffer, /*type=*/0, warpspec::kTmemLanes,
                                 launch.host.getI8Type(), boxBytes, boxBytes);
}

ProductExtents ProductExtents::get(HostMath &math, MatmulOp op) {
  Value a = op.getLhs()[0], b = op.getRhs()[0];
  int64_t aRank = cast<MemRefType>(a.getType()).getRank();
  int64_t bRank = cast<MemRefType>(b.getType()).getRank();
  auto parts = static_cast<int64_t>(op.getRhs().size());
  GroupingAttr grouping = op.getGrouping();
  if (grouping.getKind() == GroupingKind::RaggedK) {
    HostNumber offsets = math.dim(op.getGroups(), 0);
    if (grouping.getOffsets() == OffsetsKind::Starts)
      offsets = math.add(offsets, math.constant(-1));
    return {math.dim(a, aRank - 2), math.dim(b, bRank - 2), offsets};
  }
  return {math.dim(a, aRank - 2), math.dim(b, bRank - 2),
          bRank == 3 ? math.dim(b, 0) : math.constant(parts)};
}

HostNumber nvfp4::gsg::sm100::countTiles(HostMath &math, MatmulOp op,
                                         int64_t rows, int64_t columns) {
  ProductExtents extents = ProductExtents::get(math, op);
  // Every group may have one tile of rows that it does not fill.
  HostNumber rowTiles = math.ceilDiv(extents.rows, rows);
  if (op.getGrouping().getKind() == GroupingKind::RaggedRows)
    rowTiles = math.add(rowTiles, extents.groups);
  else
    rowTiles = math.mul(rowTiles, extents.groups);
  return math.mul(rowTiles, math.ceilDiv(extents.columns, columns));
}

void nvfp4::gsg::sm100::addCommonParameters(Launch &launch,
                                            const KernelPlan &plan, MatmulOp op,
                                            HostNumber steps,
                                            KernelParameters &p) {
  HostMath &math = launch.math;
  auto [rows, columns, groups] = ProductExtents::get(math, op);
  HostNumber outColumns = op.getActivationOrIdentity().isPaired()
                              ? math.ceilDiv(columns, 2)
                              : columns;
  p.groups = launch.addNumber(groups);
  p.rows = launch.addNumber(rows);
  p.columns = launch.addNumber(columns);
  p.outColumns = launch.addNumber(outColumns);
  p.knownColumns = columns.known;
  p.knownOutColumns = outColumns.known;
  // With K = 0 one step multiplies what lies outside: zeros.
  p.steps = launch.addNumber(math.atLeastOne(steps));

  auto pointer = [&](Value memref) {
    return memref ? launch.addPointer(memref, Launch::Read) : Value();
  };
  p.offsets = pointer(op.getGroups());
  addPerGroup(launch, op.getAlpha(), p.alpha, p.alphaValue);
  addPerGroup(launch, op.getBeta(), p.beta, p.betaValue);
  addPerGroup(launch, op.getGlobalScale(), p.globalScale, p.globalScaleValue);
  p.bias = pointer(op.getBias());
  p.prob = pointer(op.getProb());
  p.addend = pointer(op.getAddend());
  p.activationParams = pointer(op.getActivationParams());
  p.row = llvm::map_to_vector(op.getRow(), pointer);
  p.column = llvm::map_to_vector(op.getColumn(), pointer);
  p.group = llvm::map_to_vector(op.getGroup(), pointer);
  int kept = op.getTail() == TailMode::Zero ? Launch::Zero : Launch::Read;
  Type byte = launch.host.getI8Type();
  if (op.getQuantizer())
    p.out = launch.addPointer(op.getOut(), kept | Launch::Write, byte);
  else
    addResult(launch, plan, op, p, outColumns, kept | Launch::Write);
  if (op.getOutScales())
    p.outScales =
        launch.addPointer(op.getOutScales(), kept | Launch::Write, byte);
  if (op.getSeed())
    p.seed = launch.addLong(op.getSeed());
  if (op.getPreactOut())
    p.preact = launch.addPointer(op.getPreactOut(), kept | Launch::Write);
  if (op.getAmaxOut())
    p.amax = launch.addPointer(op.getAmaxOut(), Launch::Zero | Launch::Write,
                               launch.host.getI32Type());
}

KernelParameters nvfp4::gsg::sm100::addParameters(Launch &launch,
                                                  const KernelPlan &plan,
                                                  MatmulOp op,
                                                  HostNumber &blocks) {
  HostMath &math = launch.math;
  KernelParameters p;
  Value a = plan.a.operand.data;
  int64_t aRank = cast<MemRefType>(a.getType()).getRank();
  int64_t values = plan.k;
  p.aMap = addValues(launch, plan.a, plan.getOwnRows(), values);
  p.bMap = addValues(launch, plan.b, plan.getOwnColumns(), values);
  p.aScaleMap = addScales(launch, plan.a, plan, /*isOnM=*/!plan.swap);
  p.bScaleMap = addScales(launch, plan.b, plan, /*isOnM=*/plan.swap);
  int64_t rowBytes = plan.a.operand.type.isFP4() ? plan.k / 2 : plan.k;
  p.startsByGroup =
      plan.a.operand.type.getGroupStart() == GroupStart::UpperBound;
  addCommonParameters(launch, plan, op,
                      math.ceilDiv(math.dim(a, aRank - 1), rowBytes), p);
  HostNumber tiles =
      countTiles(math, op, plan.getTileRows(), plan.getTileColumns());
  blocks = math.mul(tiles, math.constant(plan.ctas));
  return p;
}
