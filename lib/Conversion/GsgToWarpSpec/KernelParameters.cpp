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

HostNumber nvfp4::gsg::sm100::countK(HostMath &math, const ScaledOperand &a,
                                     const ScaledOperand &b) {
  for (ScaledType type : {a.type, b.type})
    if (type && ShapedType::isStatic(type.getShape().back()))
      return math.constant(type.getShape().back());
  auto countColumns = [&](Value data) {
    return math.dim(data, cast<MemRefType>(data.getType()).getRank() - 1);
  };
  if (!a.type || !a.type.isFP4())
    return countColumns(a.data);
  if (!b.type.isFP4() && !b.type.isCoded())
    return countColumns(b.data);
  return math.mul(countColumns(a.data), math.constant(2));
}

static bool isAlongK(MatmulOp op) {
  return op.getGrouping().getKind() == GroupingKind::RaggedK;
}

/// K is known to be an odd number of values of FP4 on both sides: the rest of
/// the last byte of a row is nobody's. Zeros on one side are enough, for codes
/// of FP4 are finite and the scales are those of the block that K ends in.
/// Beside FP8 TMA fills in these zeros.
static bool hasHalfBytes(ScaledType a, ScaledType b) {
  auto isOdd = [](int64_t k) { return ShapedType::isStatic(k) && k % 2 != 0; };
  return a.isFP4() && b.isFP4() &&
         (isOdd(a.getShape().back()) || isOdd(b.getShape().back()));
}

/// Values as a matrix of bytes: TMA needs rows at multiples of 16 bytes, and
/// rows of whole 64 bytes where it pads FP4.
static Value addValues(Launch &launch, const OperandPlan &side, int64_t boxRows,
                       int64_t rowValues, HostNumber k, bool isAlongK,
                       bool clearsHalfBytes = false) {
  Value data = side.operand.data, buffer;
  bool isFP4 = side.operand.type.isFP4();
  if (isAlongK) {
    buffer = launch.addValuesOfK(side.operand, k);
  } else {
    int64_t rank = cast<MemRefType>(data.getType()).getRank();
    auto all = llvm::map_to_vector(
        side.parts, [](const ScaledOperand &part) { return part.data; });
    HostNumber rows = countRows(launch.math, data, 1),
               rowBytes = launch.math.dim(data, rank - 1);
    int64_t alignment = side.isPadded ? 64 : 16;
    buffer = clearsHalfBytes ? launch.addBuffer(data, rows, rowBytes, alignment,
                                                Launch::Read | Launch::Odd)
                             : launch.addParts(all, rows, rowBytes, alignment);
  }
  // Bytes and elements of the box are the same number, but for packed FP4.
  bool isPacked = isFP4 && !side.isPadded;
  return launch.addMatrixMap(buffer, side.getMapType(), boxRows, side.element,
                             isPacked ? rowValues / 2 : rowValues,
                             KernelPlan::kRowBytes);
}

/// Scales [..., rows / 128, K atoms, 32, 4, 4].
static Value addScales(Launch &launch, const OperandPlan &side,
                       const KernelPlan &plan, bool isOnM, HostNumber k,
                       bool isAlongK) {
  HostMath &math = launch.math;
  Value scales = side.operand.scales, buffer;
  if (isAlongK) {
    buffer = launch.addScalesOfK(side.operand, k);
  } else {
    int64_t rank = cast<MemRefType>(scales.getType()).getRank();
    auto all = llvm::map_to_vector(
        side.parts, [](const ScaledOperand &part) { return part.scales; });
    HostNumber rowBytes = math.mul(math.dim(scales, rank - 4),
                                   math.constant(warpspec::kScaleAtomBytes));
    HostNumber columns = math.ceilDiv(k, side.operand.type.getBlockSize());
    buffer = launch.addScaleParts(all, countRows(math, scales, 4), rowBytes,
                                  columns);
  }
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
  int64_t boxBytes = plan.resultColumns * bytes;
  p.outMap = launch.addMatrixMap(buffer, NVFP4_TENSOR_U8, warpspec::kTmemLanes,
                                 launch.host.getI8Type(), boxBytes, boxBytes);
}

ProductExtents ProductExtents::get(HostMath &math, MatmulOp op) {
  Value a = op.getLhs()[0], b = op.getRhs()[0];
  int64_t aRank = cast<MemRefType>(a.getType()).getRank();
  ScaledType weights = op.getRhsType();
  int64_t bRank = weights.getRank();
  auto parts = static_cast<int64_t>(op.getRhs().size());
  GroupingAttr grouping = op.getGrouping();
  if (grouping.getKind() == GroupingKind::RaggedK) {
    HostNumber offsets = math.dim(op.getGroups(), 0);
    if (grouping.getOffsets() == OffsetsKind::Starts)
      offsets = math.add(offsets, math.constant(-1));
    return {math.dim(a, aRank - 2), math.dim(b, bRank - 2), offsets};
  }
  // Memory of coded weights has other extents than they; N of them is known.
  HostNumber columns =
      weights.isCoded() ? math.constant(op.getN()) : math.dim(b, bRank - 2);
  return {math.dim(a, aRank - 2), columns,
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

HostNumber nvfp4::gsg::sm100::addPartials(Launch &launch,
                                          const KernelPlan &plan,
                                          HostNumber tiles,
                                          KernelParameters &p) {
  HostMath &math = launch.math;
  HostNumber blocks = math.mul(tiles, math.constant(plan.ctas));
  if (plan.splitK == 1)
    return blocks;
  // The last part of a tile has its sums in tensor memory.
  HostNumber slots = math.mul(blocks, math.constant(plan.splitK - 1));
  constexpr int64_t lanes = warpspec::kTmemLanes, word = 4;
  auto add = [&](int64_t words, Type element) {
    return launch.addPointerTo(launch.addScratch(slots, words * word), element);
  };
  p.partials = add(lanes * plan.n, launch.host.getF32Type());
  p.published = add(lanes, launch.host.getI32Type());
  return math.mul(blocks, math.constant(plan.splitK));
}

void nvfp4::gsg::sm100::addFactors(Launch &launch, MatmulOp op,
                                   KernelParameters &p) {
  addPerGroup(launch, op.getAlpha(), p.alpha, p.alphaValue);
  addPerGroup(launch, op.getBeta(), p.beta, p.betaValue);
  addPerGroup(launch, op.getGlobalScale(), p.globalScale, p.globalScaleValue);
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
  addFactors(launch, op, p);
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

OperandMaps nvfp4::gsg::sm100::addOperandMaps(Launch &launch,
                                              const KernelPlan &plan,
                                              HostNumber k, bool isAlongK) {
  OperandMaps maps;
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

KernelParameters nvfp4::gsg::sm100::addParameters(Launch &launch,
                                                  const KernelPlan &plan,
                                                  MatmulOp op,
                                                  HostNumber &blocks) {
  HostMath &math = launch.math;
  KernelParameters p;
  bool isGathered = isAlongK(op);
  HostNumber k = countK(math, plan.a.operand, plan.b.operand);
  if (isGathered)
    launch.setGroups(op.getGrouping(), op.getGroups(), plan.k);
  OperandMaps maps = addOperandMaps(launch, plan, k, isGathered);
  p.aMap = maps.a;
  p.bMap = maps.b;
  p.aScaleMap = maps.aScales;
  p.bScaleMap = maps.bScales;
  p.startsByGroup =
      plan.a.operand.type.getGroupStart() == GroupStart::UpperBound;
  addCommonParameters(launch, plan, op, math.ceilDiv(k, plan.k), p);
  if (isGathered)
    p.depth = launch.addNumber(k);
  HostNumber tiles =
      countTiles(math, op, plan.getTileRows(), plan.getTileColumns());
  blocks = addPartials(launch, plan, tiles, p);
  return p;
}
