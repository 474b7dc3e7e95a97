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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;
using namespace nvfp4::warpspec;

void KernelBody::buildEpilogueRole() {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  forEachTile(
      [&](Value g, Value m, Value n) {
        enterResult(g);
        auto build = [&] {
          if (plan.swap)
            buildTurnedRows(g, m, n, thread);
          else
            buildRows(g, m, n, thread);
        };
        if (part)
          buildParts(thread, build);
        else
          build();
      },
      /*isEpilogue=*/true);
}

KernelBody::TilePlace KernelBody::getTilePlace(Value g, Value m, Value n) {
  TilePlace tile;
  GroupPlace group = getGroup(g);
  ActivationAttr activation = op.getActivationOrIdentity();
  tile.group = g;
  tile.groupStart = group.start;
  tile.groupRows = group.rows;
  tile.rowInGroup = mul(m, plan.getTileRows());
  tile.firstRow = add(group.start, tile.rowInGroup);
  tile.column = mul(n, plan.getTileColumns());
  if (plan.swap)
    tile.column = addOwn(tile.column, kTmemLanes);
  tile.outColumn = activation.isPaired() ? div(tile.column, 2) : tile.column;
  tile.params = arithmetic::emitActivationParams(b, loc, activation);
  return tile;
}

void KernelBody::buildRows(Value g, Value m, Value n, Value thread) {
  TilePlace tile = getTilePlace(g, m, n);
  Value first = addOwn(tile.rowInGroup, kTmemLanes);
  tile.thread = thread;
  tile.blockRow = add(tile.groupStart, first);
  tile.isWhole =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                            add(first, i32(kTmemLanes)), tile.groupRows);
  tile.rowInGroup = add(first, thread);
  tile.row = add(tile.groupStart, tile.rowInGroup);
  tile.isRow = less(tile.rowInGroup, tile.groupRows);
  loadGroupNumbers(tile);
  Value amax = drainAccumulator(tile, [&](Value acc, Value chunk, Value amax) {
    return buildChunk(tile, acc, chunk, amax);
  });
  if (amax)
    storeAmax(tile, thread, amax);
}

Value KernelBody::forEachChunk(
    int64_t end, Value amax,
    llvm::function_ref<Value(Value chunk, Value amax)> body) {
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

Value KernelBody::drainAccumulator(
    TilePlace &tile,
    llvm::function_ref<Value(Value acc, Value chunk, Value amax)> body) {
  auto wait = [&](Value pipeline) {
    return WaitOp::create(b, loc, pipeline, Value(), Value(), Value(), Value());
  };
  auto drain = wait(accumulators);
  Value amax = getNoAmax();
  if (!sharedColumns) {
    amax = forEachChunk(plan.n, amax, [&](Value chunk, Value amax) {
      return body(drain.getSlot()[0], chunk, amax);
    });
    ReleaseOp::create(b, loc, drain.getToken());
    return amax;
  }
  // The next product begins when the columns are free that it shares.
  int64_t own = plan.n - plan.sharedColumns;
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, turn, i32(0));
  auto drainPart = [&](WaitOp part, int64_t count, int64_t inFirst,
                       int64_t inSecond) {
    Value first =
        arith::SelectOp::create(b, loc, isFirst, i32(inFirst), i32(inSecond));
    tile.firstAccumulated = first;
    amax = forEachChunk(count, amax, [&](Value chunk, Value amax) {
      return body(part.getSlot()[0], add(first, chunk), amax);
    });
    ReleaseOp::create(b, loc, part.getToken());
  };
  drainPart(wait(sharedColumns), plan.sharedColumns, own, 0);
  drainPart(drain, own, 0, plan.sharedColumns);
  return amax;
}

void KernelBody::buildTurnedRows(Value g, Value m, Value n, Value thread) {
  TilePlace tile = getTilePlace(g, m, n);
  Value amax;
  if (plan.n <= 32) {
    // The accumulator is free as soon as it is in registers.
    auto drain = WaitOp::create(b, loc, accumulators, Value(), Value(), Value(),
                                Value());
    amax = buildTurnedChunk(tile, drain.getSlot()[0], i32(0), thread,
                            getNoAmax(), drain.getToken());
  } else {
    amax = drainAccumulator(tile, [&](Value acc, Value chunk, Value amax) {
      return buildTurnedChunk(tile, acc, chunk, thread, amax, Value());
    });
  }
  if (amax)
    storeAmax(tile, thread, amax);
}

Value KernelBody::getWarpColumn(Value column) {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  int64_t q = gate ? gate.getGranularity() : 0;
  if (q < 32 || getVectorColumns() == 32)
    return column;
  Value pair = div(column, 2);
  Value run = div(pair, q);
  return add(mul(run, 2 * q), sub(pair, mul(run, q)));
}

Value KernelBody::buildTurnedChunk(TilePlace tile, Value acc, Value chunk,
                                   Value thread, Value amax, Value token) {
  auto open = [&]<typename OpTy>(OpTy *) {
    return OpTy::create(b, loc, transposed, Value(), Value(), Value(), Value());
  };
  int64_t rows = plan.getChunkRows();
  Value values = loadColumns(tile, acc, chunk, rows);
  if (token)
    ReleaseOp::create(b, loc, token);
  auto fill = open((AcquireOp *)nullptr);
  for (int64_t row = 0; row < rows; ++row) {
    Value one = vector::ExtractStridedSliceOp::create(
        b, loc, values, ArrayRef<int64_t>{row}, ArrayRef<int64_t>{1},
        ArrayRef<int64_t>{1});
    SmemStoreOp::create(b, loc, one, fill.getSlot()[0],
                        ValueRange{i32(row), thread});
  }
  CommitOp::create(b, loc, fill.getToken());
  auto turned = open((WaitOp *)nullptr);
  Value lane = arith::AndIOp::create(b, loc, thread, i32(31));
  tile.rowInGroup = add(add(tile.rowInGroup, chunk), lane);
  tile.row = add(tile.groupStart, tile.rowInGroup);
  tile.isRow = less(tile.rowInGroup, tile.groupRows);
  tile.turnedRow = lane;
  if (rows < 32) {
    tile.isRow =
        arith::AndIOp::create(b, loc, tile.isRow, less(lane, i32(rows)));
    tile.turnedRow = arith::MinUIOp::create(b, loc, lane, i32(rows - 1));
  }
  loadGroupNumbers(tile);
  Value column = getWarpColumn(sub(thread, lane));
  amax = buildChunk(tile, turned.getSlot()[0], column, amax);
  ReleaseOp::create(b, loc, turned.getToken());
  return amax;
}

Value KernelBody::loadColumns(const TilePlace &tile, Value acc, Value offset,
                              int64_t columns) {
  if (tile.turnedRow)
    return SmemLoadOp::create(b, loc,
                              VectorType::get({columns}, b.getF32Type()), acc,
                              ValueRange{tile.turnedRow, offset});
  auto type = cast<MemRefType>(acc.getType());
  auto sliceType =
      MemRefType::get({kTmemLanes, columns}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  Value column = offset;
  if (tile.firstAccumulated)
    offset = sub(offset, tile.firstAccumulated);
  Value slice = TmemSliceOp::create(b, loc, sliceType, acc, offset);
  Value sums = TmemLoadOp::create(b, loc, slice).getResult();
  return firstSums ? addParts(sums, column) : sums;
}
