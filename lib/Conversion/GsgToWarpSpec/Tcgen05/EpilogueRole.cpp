//===- EpilogueRole.cpp - Accumulators in tensor memory to results --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread owns one row of the tile and takes its columns in chunks.
//
//===----------------------------------------------------------------------===//

#include "EpilogueRole.h"
#include "../Common/ProblemTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::tcgen05;
using namespace nvfp4::warpspec;

void tcgen05::buildEpilogueRole(const Kernel &kernel) {
  EpilogueRole(kernel).build();
}

void EpilogueRole::build() {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  kernel.forEachTile(/*isEpilogue=*/true, [&](const TileState &tile) {
    TileState own = tile;
    own.result = getResult(kernel, tile.group, plan.staged, 4);
    if (tile.part)
      buildPart(own, thread,
                [&](Value firstSums) { buildTile(own, thread, firstSums); });
    else
      buildTile(own, thread, Value());
  });
}

void EpilogueRole::buildTile(const TileState &tile, Value thread,
                             Value firstSums) {
  if (plan.swap)
    buildTransposedRows(tile, thread, firstSums);
  else
    buildRows(tile, thread, firstSums);
}

TileRow EpilogueRole::getTileRow(const TileState &tile) {
  TileRow row;
  GroupPlace group = getGroup(kernel, tile.extents, tile.group);
  ActivationAttr activation = kernel.getOp().getActivationOrIdentity();
  row.extents = tile.extents;
  row.result = tile.result;
  row.group = tile.group;
  row.groupStart = group.start;
  row.groupRows = group.rows;
  row.rowInGroup = mul(tile.m, plan.getTileRows());
  row.firstRow = add(group.start, row.rowInGroup);
  row.column = mul(tile.n, plan.getTileColumns());
  if (plan.swap)
    row.column = kernel.addOwn(row.column, kTmemLanes);
  row.outColumn = activation.isPaired() ? div(row.column, 2) : row.column;
  return row;
}

void EpilogueRole::buildRows(const TileState &tile, Value thread,
                             Value firstSums) {
  TileRow row = getTileRow(tile);
  Value first = kernel.addOwn(row.rowInGroup, kTmemLanes);
  row.thread = thread;
  row.blockRow = add(row.groupStart, first);
  row.isWhole =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                            add(first, i32(kTmemLanes)), row.groupRows);
  row.rowInGroup = add(first, thread);
  row.row = add(row.groupStart, row.rowInGroup);
  row.isRow = less(row.rowInGroup, row.groupRows);
  loadGroupNumbers(row);
  Value amax = drainAccumulator(
      tile, firstSums,
      [&](const AccumulatorView &view, Value chunk, Value amax) {
        auto load = [&](Value offset, int64_t columns) {
          return loadColumns(view, offset, columns);
        };
        return buildChunk(row, load, chunk, amax);
      });
  if (amax)
    storeAmax(row, thread, amax);
}

Value EpilogueRole::forEachChunk(
    int64_t end, Value amax,
    function_ref<Value(Value chunk, Value amax)> body) {
  SmallVector<Value> carried;
  if (amax)
    carried.push_back(amax);
  auto loop = scf::ForOp::create(b, loc, i32(0), i32(end),
                                 i32(getChunkColumns()), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value seen = body(loop.getInductionVar(),
                    amax ? Value(loop.getRegionIterArg(0)) : Value());
  if (amax)
    scf::YieldOp::create(b, loc, seen);
  return amax ? loop.getResult(0) : Value();
}

Value EpilogueRole::drainAccumulator(const TileState &tile, Value firstSums,
                                     DrainFn body) {
  auto drain = open<WaitOp>(kernel, kernel.buffers.accumulators);
  Value amax = getNoAmax();
  if (!kernel.buffers.sharedColumns) {
    amax = forEachChunk(plan.n, amax, [&](Value chunk, Value amax) {
      return body({drain.getSlot()[0], Value(), firstSums}, chunk, amax);
    });
    ReleaseOp::create(b, loc, drain.getToken());
    return amax;
  }
  // The next product begins when the columns are free that it shares.
  int64_t own = plan.n - plan.sharedColumns;
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        tile.parity, i32(0));
  auto drainColumns = [&](WaitOp part, int64_t count, int64_t inFirst,
                          int64_t inSecond) {
    Value first =
        arith::SelectOp::create(b, loc, isFirst, i32(inFirst), i32(inSecond));
    amax = forEachChunk(count, amax, [&](Value chunk, Value amax) {
      return body({part.getSlot()[0], first, firstSums}, add(first, chunk),
                  amax);
    });
    ReleaseOp::create(b, loc, part.getToken());
  };
  drainColumns(open<WaitOp>(kernel, kernel.buffers.sharedColumns),
               plan.sharedColumns, own, 0);
  drainColumns(drain, own, 0, plan.sharedColumns);
  return amax;
}

Value EpilogueRole::loadColumns(const AccumulatorView &view, Value offset,
                                int64_t columns) {
  auto type = cast<MemRefType>(view.columns.getType());
  auto sliceType =
      MemRefType::get({kTmemLanes, columns}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  Value column = offset;
  if (view.firstColumn)
    offset = sub(offset, view.firstColumn);
  Value slice = TmemSliceOp::create(b, loc, sliceType, view.columns, offset);
  Value sums = TmemLoadOp::create(b, loc, slice).getResult();
  int64_t exponent = plan.decodes ? DecodeCodesOp::getExponent(plan.code) : 0;
  if (exponent) {
    // A power of two, which weights were decoded with.
    auto factor = arith::ConstantOp::create(
        b, loc,
        b.getF32FloatAttr(std::ldexp(1.0f, static_cast<int>(-exponent))));
    sums = arith::MulFOp::create(b, loc, sums, broadcast(factor, sums));
  }
  return view.firstSums ? addParts(sums, view.firstSums, column) : sums;
}

void EpilogueRole::storeRows(const TileRow &row, Value y, Value column,
                             Value isInside, Value isColumn) {
  if (!kernel.buffers.staging)
    return Epilogue::storeRows(row, y, column, isInside, isColumn);
  Value isBox = arith::AndIOp::create(b, loc, row.isWhole, isColumn);
  auto branch = scf::IfOp::create(b, loc, isBox, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Type element = cast<MemRefType>(row.result.memref.getType()).getElementType();
  Value stored = y;
  if (!element.isF32())
    stored = arith::TruncFOp::create(
        b, loc,
        VectorType::get(cast<VectorType>(y.getType()).getShape(), element), y);
  auto fill = open<AcquireOp>(kernel, kernel.buffers.staging);
  SmemStoreOp::create(b, loc, stored, fill.getSlot()[0],
                      ValueRange{row.thread, i32(0)});
  CommitOp::create(b, loc, fill.getToken());
  auto ready = open<WaitOp>(kernel, kernel.buffers.staging);
  Value byte = mul(column, element.getIntOrFloatBitWidth() / 8);
  TmaStoreOp::create(b, loc, ready.getSlot()[0], row.result.map,
                     ValueRange{row.blockRow, byte}, row.result.memref,
                     CacheHintAttr());
  ReleaseOp::create(b, loc, ready.getToken());
  b.setInsertionPointToStart(branch.elseBlock());
  Epilogue::storeRows(row, y, column, isInside, isColumn);
}

//===----------------------------------------------------------------------===//
// Swap-AB
//===----------------------------------------------------------------------===//

void EpilogueRole::buildTransposedRows(const TileState &tile, Value thread,
                                       Value firstSums) {
  TileRow row = getTileRow(tile);
  Value amax;
  if (plan.n <= 32) {
    // The accumulator is free as soon as it is in registers.
    auto drain = open<WaitOp>(kernel, kernel.buffers.accumulators);
    amax = buildTransposedChunk(row, {drain.getSlot()[0], Value(), firstSums},
                                i32(0), thread, getNoAmax(), drain.getToken());
  } else {
    amax = drainAccumulator(
        tile, firstSums,
        [&](const AccumulatorView &view, Value chunk, Value amax) {
          return buildTransposedChunk(row, view, chunk, thread, amax, Value());
        });
  }
  if (amax)
    storeAmax(row, thread, amax);
}

Value EpilogueRole::getWarpColumn(Value column) {
  GateAttr gate = kernel.getOp().getActivationOrIdentity().getGate();
  int64_t q = gate ? gate.getGranularity() : 0;
  if (q < 32 || getVectorColumns() == 32)
    return column;
  Value pair = div(column, 2);
  Value run = div(pair, q);
  return add(mul(run, 2 * q), sub(pair, mul(run, q)));
}

Value EpilogueRole::buildTransposedChunk(TileRow row,
                                         const AccumulatorView &view,
                                         Value chunk, Value thread, Value amax,
                                         Value token) {
  int64_t rows = plan.getChunkRows();
  Value values = loadColumns(view, chunk, rows);
  if (token)
    ReleaseOp::create(b, loc, token);
  auto fill = open<AcquireOp>(kernel, kernel.buffers.transposed);
  for (int64_t column = 0; column < rows; ++column) {
    Value one = vector::ExtractStridedSliceOp::create(
        b, loc, values, ArrayRef<int64_t>{column}, ArrayRef<int64_t>{1},
        ArrayRef<int64_t>{1});
    SmemStoreOp::create(b, loc, one, fill.getSlot()[0],
                        ValueRange{i32(column), thread});
  }
  CommitOp::create(b, loc, fill.getToken());
  auto transposed = open<WaitOp>(kernel, kernel.buffers.transposed);
  Value lane = arith::AndIOp::create(b, loc, thread, i32(31));
  row.rowInGroup = add(add(row.rowInGroup, chunk), lane);
  row.row = add(row.groupStart, row.rowInGroup);
  row.isRow = less(row.rowInGroup, row.groupRows);
  // The row of the transposed chunk that the thread has.
  Value ownRow = lane;
  if (rows < 32) {
    row.isRow = arith::AndIOp::create(b, loc, row.isRow, less(lane, i32(rows)));
    ownRow = arith::MinUIOp::create(b, loc, lane, i32(rows - 1));
  }
  loadGroupNumbers(row);
  Value column = getWarpColumn(sub(thread, lane));
  auto load = [&](Value offset, int64_t columns) -> Value {
    return SmemLoadOp::create(
        b, loc, VectorType::get({columns}, b.getF32Type()),
        transposed.getSlot()[0], ValueRange{ownRow, offset});
  };
  amax = buildChunk(row, load, column, amax);
  ReleaseOp::create(b, loc, transposed.getToken());
  return amax;
}
