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

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

HostNumber nvfp4::gsg::kernels::countRows(HostMath &math, Value memref,
                                          int64_t last) {
  HostNumber rows = math.constant(1);
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t d = 0; d < rank - last; ++d)
    rows = math.mul(rows, math.dim(memref, d));
  return rows;
}

HostNumber nvfp4::gsg::kernels::countK(HostMath &math, const ScaledOperand &a,
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
static void addResult(Launch &launch, MatmulOp op, KernelParameters &p,
                      HostNumber columns, int64_t boxColumns, int access) {
  HostMath &math = launch.math;
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  HostNumber rowBytes = math.mul(columns, math.constant(bytes));
  Buffer buffer = launch.addBuffer(op.getOut(), countRows(math, op.getOut(), 1),
                                   rowBytes, 16, access);
  p.result.memref = launch.addPointerTo(buffer, element, access);
  p.result.stride = launch.addNumber(
      math.mul(math.ceilDiv(rowBytes, 16), math.constant(16 / bytes)));
  if (boxColumns == 0)
    return;
  int64_t boxBytes = boxColumns * bytes;
  p.result.map =
      launch.addMatrixMap(buffer, warpspec::kTmemLanes, launch.host.getI8Type(),
                          boxBytes, boxBytes);
}

HostExtents HostExtents::get(HostMath &math, MatmulOp op) {
  Value a = op.getLhs()[0], b = op.getRhs()[0];
  int64_t aRank = cast<MemRefType>(a.getType()).getRank();
  ScaledType weights = op.getRhsType();
  int64_t bRank = weights.getRank();
  GroupingAttr grouping = op.getGrouping();
  if (getForm(grouping).cutsK()) {
    HostNumber offsets = math.dim(op.getGroups(), 0);
    if (hasStarts(grouping))
      offsets = math.add(offsets, math.constant(-1));
    return {math.dim(a, aRank - 2), math.dim(b, bRank - 2), offsets};
  }
  // Memory of coded weights has other extents than they; N of them is known.
  HostNumber columns =
      weights.isCoded() ? math.constant(op.getN()) : math.dim(b, bRank - 2);
  return {math.dim(a, aRank - 2), columns,
          bRank == 3 ? math.dim(b, 0) : math.constant(1)};
}

HostNumber nvfp4::gsg::kernels::countTiles(HostMath &math, MatmulOp op,
                                           int64_t rows, int64_t columns) {
  HostExtents extents = HostExtents::get(math, op);
  // Every group may have one tile of rows that it does not fill.
  HostNumber rowTiles = math.ceilDiv(extents.rows, rows);
  if (getForm(op.getGrouping()).cutsRows())
    rowTiles = math.add(rowTiles, extents.groups);
  else
    rowTiles = math.mul(rowTiles, extents.groups);
  return math.mul(rowTiles, math.ceilDiv(extents.columns, columns));
}

void nvfp4::gsg::kernels::addFactors(Launch &launch, MatmulOp op,
                                     KernelParameters &p) {
  addPerGroup(launch, op.getAlpha(), p.alpha, p.alphaValue);
  addPerGroup(launch, op.getBeta(), p.beta, p.betaValue);
  addPerGroup(launch, op.getGlobalScale(), p.globalScale, p.globalScaleValue);
}

void nvfp4::gsg::kernels::addCommonParameters(Launch &launch, MatmulOp op,
                                              HostNumber steps,
                                              int64_t boxColumns,
                                              KernelParameters &p) {
  HostMath &math = launch.math;
  auto [rows, columns, groups] = HostExtents::get(math, op);
  HostNumber outColumns = op.getActivationOrIdentity().isPaired()
                              ? math.ceilDiv(columns, 2)
                              : columns;
  p.groups = launch.addNumber(groups);
  p.extents.rows = launch.addNumber(rows);
  p.extents.columns = launch.addNumber(columns);
  p.extents.outColumns = launch.addNumber(outColumns);
  p.knownColumns = columns.known;
  p.knownOutColumns = outColumns.known;
  // With K = 0 one step multiplies what lies outside: zeros.
  p.extents.steps = launch.addNumber(math.atLeastOne(steps));

  auto pointer = [&](Value memref) {
    return memref ? launch.addPointer(memref, Launch::Read) : Value();
  };
  p.offsets = pointer(op.getGroups());
  addFactors(launch, op, p);
  p.bias = pointer(op.getBias());
  p.rowScale = pointer(op.getRowScale());
  p.prob = pointer(op.getProb());
  p.addend = pointer(op.getAddend());
  p.activationParams = pointer(op.getActivationParams());
  p.row = llvm::map_to_vector(op.getRow(), pointer);
  p.column = llvm::map_to_vector(op.getColumn(), pointer);
  p.group = llvm::map_to_vector(op.getGroup(), pointer);
  int kept = op.getTail() == TailMode::Zero ? Launch::Zero : Launch::Read;
  Type byte = launch.host.getI8Type();
  if (op.getQuantizer())
    p.result.memref =
        launch.addPointer(op.getOut(), kept | Launch::Write, byte);
  else
    addResult(launch, op, p, outColumns, boxColumns, kept | Launch::Write);
  if (op.getOutScales())
    p.outScales =
        launch.addPointer(op.getOutScales(), kept | Launch::Write, byte);
  if (op.getSeed())
    p.seed = launch.addLong(op.getSeed());
  for (const ProductCopy &copy : op.getCopyList()) {
    CopyParameters &in = p.copies.emplace_back();
    in.attr = copy.attr;
    in.type = copy.out.type;
    in.values = launch.addPointer(copy.out.data, kept | Launch::Write, byte);
    in.scales = launch.addPointer(copy.out.scales, kept | Launch::Write, byte);
    in.globalScaleOperand = copy.globalScale;
    addPerGroup(launch, copy.globalScale, in.globalScale, in.globalScaleValue);
    if (copy.seed)
      in.seed = launch.addLong(copy.seed);
  }
  if (op.getPreactOut())
    p.preact = launch.addPointer(op.getPreactOut(), kept | Launch::Write);
  if (op.getAmaxOut())
    p.amax = launch.addPointer(op.getAmaxOut(), Launch::Zero | Launch::Write,
                               launch.host.getI32Type());
}

warpspec::WeightCode nvfp4::gsg::kernels::getWeightCode(ScaledType weights) {
  using warpspec::WeightCode;
  switch (weights.getFormat()) {
  case BlockFormat::NVFP4:
    return WeightCode::E2M1_UE4M3;
  case BlockFormat::MXFP4:
  case BlockFormat::NVFP4_E8M0:
    return WeightCode::E2M1_UE8M0;
  case BlockFormat::MXFP8_E4M3:
    return WeightCode::E4M3_UE8M0;
  case BlockFormat::MXFP8_E5M2:
    return WeightCode::E5M2_UE8M0;
  }
  llvm_unreachable("covered switch");
}
