//===- EpilogueRole.cpp - Accumulators to results ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread owns one row of the tile and takes its columns in chunks.
//
//===----------------------------------------------------------------------===//

#include "EpilogueTile.h"
#include "nvfp4/Conversion/GsgToCpu/Arithmetic/Rounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;
using namespace nvfp4::warpspec;

void KernelBody::buildEpilogueRole() {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  ActivationAttr activation = op.getActivationOrIdentity();
  bool isPaired = activation.isPaired();
  forEachTile([&](Value g, Value m, Value n) {
    TilePlace tile;
    GroupPlace group = getGroup(g);
    Value rowInGroup = add(mul(m, plan.m), thread);
    tile.group = g;
    tile.rowInGroup = rowInGroup;
    tile.firstRow = add(group.start, mul(m, plan.m));
    tile.row = add(group.start, rowInGroup);
    tile.isRow = less(rowInGroup, group.rows);
    tile.column = mul(n, plan.n);
    tile.outColumn = isPaired ? mul(n, plan.n / 2) : tile.column;
    tile.params = cpu::emitActivationParams(b, loc, activation);
    loadGroupNumbers(tile);
    auto drain = WaitOp::create(b, loc, accumulators, Value(), Value(), Value(),
                                Value());
    SmallVector<Value> carried;
    if (parameters.amax)
      carried.push_back(i32(0));
    auto loop =
        scf::ForOp::create(b, loc, i32(0), i32(plan.n), i32(32), carried);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value amax = parameters.amax ? loop.getRegionIterArg(0) : Value();
      amax = buildChunk(tile, drain.getSlot()[0], loop.getInductionVar(), amax);
      if (amax)
        scf::YieldOp::create(b, loc, amax);
    }
    ReleaseOp::create(b, loc, drain.getToken());
    if (parameters.amax)
      storeAmax(tile, thread, loop.getResult(0));
  });
}

Value KernelBody::loadColumns(Value acc, Value offset, int64_t columns) {
  auto type = cast<MemRefType>(acc.getType());
  auto part =
      MemRefType::get({kTmemLanes, columns}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  Value slice = TmemSliceOp::create(b, loc, part, acc, offset);
  return TmemLoadOp::create(b, loc, slice).getResult();
}

/// Gate and up of 16 pairs: runs of `q` columns take turns.
static std::pair<Value, Value> splitPairs(OpBuilder &b, Location loc, Value z,
                                          int64_t q) {
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < 32; ++i)
    (i / q % 2 ? second : first).push_back(i);
  return {vector::ShuffleOp::create(b, loc, z, z, first),
          vector::ShuffleOp::create(b, loc, z, z, second)};
}

Value KernelBody::buildIf(Value condition, Value amax,
                          llvm::function_ref<Value()> body) {
  SmallVector<Type> types;
  if (amax)
    types.push_back(amax.getType());
  auto branch = scf::IfOp::create(b, loc, types, condition,
                                  /*withElseRegion=*/!!amax);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value inside = body();
  if (!amax)
    return {};
  scf::YieldOp::create(b, loc, inside);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, amax);
  return branch.getResult(0);
}

Value KernelBody::buildChunk(const TilePlace &tile, Value acc, Value chunk,
                             Value amax) {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  int64_t q = gate ? gate.getGranularity() : 0;
  Value column = add(tile.column, chunk);
  Value isInside = arith::AndIOp::create(b, loc, tile.isRow,
                                         less(column, parameters.columns));
  // Chunk c of 32 accumulator columns gives 32 results, or 16 of pairs.
  Value first = loadColumns(acc, chunk, 32);
  if (q < 32)
    return buildIf(isInside, amax, [&] {
      Value z = finishProduct(tile, first, column, /*isSecond=*/false);
      if (!q)
        return finishTile(tile, z, add(tile.outColumn, chunk), amax);
      auto [a, c] = splitPairs(b, loc, z, q);
      return finishTile(tile, {a, c}, add(tile.outColumn, div(chunk, 2)), amax);
    });
  // Columns [0, q) of every 2q are the first of their pair; the chunk that is
  // does both.
  Value inPair = arith::RemUIOp::create(b, loc, chunk, i32(2 * q));
  return buildIf(less(inPair, i32(q)), amax, [&] {
    Value second = loadColumns(acc, add(chunk, i32(q)), 32);
    return buildIf(isInside, amax, [&] {
      Value a = finishProduct(tile, first, column, /*isSecond=*/false);
      Value c = finishProduct(tile, second, add(column, i32(q)),
                              /*isSecond=*/true);
      Value pair = div(chunk, 2 * q);
      Value outColumn = add(tile.outColumn, add(mul(pair, q), inPair));
      return finishTile(tile, {a, c}, outColumn, amax);
    });
  });
}

Value KernelBody::finishTile(const TilePlace &tile, ArrayRef<Value> z,
                             Value column, Value amax) {
  ActivationAttr activation = op.getActivationOrIdentity();
  SmallVector<Value> inputs(z);
  if (GateAttr gate = activation.getGate();
      gate && gate.getOrder() == GateOrder::UpFirst)
    std::swap(inputs[0], inputs[1]);
  ActivationKind kind = activation.getKind();
  bool isFast =
      op.getMath() == MathMode::Fast && !activation.getRoundBf16() &&
      (kind == ActivationKind::SiLU || kind == ActivationKind::SwiGLU);
  Value y = kind == ActivationKind::Custom ? applyRegion(tile, inputs, column)
            : isFast
                ? applyFastActivation(tile, inputs)
                : cpu::emitActivation(b, loc, activation, tile.params, inputs);
  if (op.getProb() && op.getProbPosition() == ProbPosition::PostActivation)
    y = arith::MulFOp::create(b, loc, y, broadcast(tile.prob, y));
  if (op.getQuantizer())
    storeQuantized(tile, y, column);
  else
    storeVector(
        tile, y, column,
        {parameters.out, parameters.outColumns, parameters.knownOutColumns});
  return amax ? foldAmax(amax, y, column) : Value();
}

Value KernelBody::applyRegion(const TilePlace &tile, ArrayRef<Value> z,
                              Value column) {
  auto lanesOf = [&](Type element) {
    return VectorType::get(cast<VectorType>(z.front().getType()).getShape(),
                           element);
  };
  int64_t columns = lanesOf(b.getF32Type()).getNumElements();
  SmallVector<Value> in(z);
  if (op.getActivationOrIdentity().getRoundBf16())
    for (Value &value : in)
      value = cpu::emitRoundToBF16(b, loc, value);
  for (Value number : tile.rowNumbers)
    in.push_back(broadcast(number, z.front()));
  Value mask = maskOf(column, columns, parameters.outColumns,
                      parameters.knownOutColumns);
  for (auto [operand, memref] :
       llvm::zip_equal(op.getColumn(), parameters.column)) {
    bool isPerGroup = cast<MemRefType>(operand.getType()).getRank() == 2;
    Value at = flatten(isPerGroup ? tile.group : i32(0), parameters.outColumns,
                       column);
    in.push_back(
        loadVector(memref, at, columns, mask, parameters.knownOutColumns));
  }
  for (Value number : tile.groupNumbers)
    in.push_back(broadcast(number, z.front()));
  // The region's operations on numbers, on vectors of them.
  Block &region = op.getEpilogue().front();
  IRMapping mapping;
  mapping.map(region.getArguments(), in);
  for (Operation &inner : region.without_terminator()) {
    TypedAttr attr;
    if (matchPattern(&inner, m_Constant(&attr))) {
      auto all =
          DenseElementsAttr::get(lanesOf(attr.getType()), Attribute(attr));
      mapping.map(inner.getResult(0), arith::ConstantOp::create(b, loc, all));
      continue;
    }
    Operation *clone = b.clone(inner, mapping);
    for (Value result : clone->getResults())
      result.setType(lanesOf(result.getType()));
  }
  return mapping.lookup(region.getTerminator()->getOperand(0));
}
