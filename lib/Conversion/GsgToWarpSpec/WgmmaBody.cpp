//===- WgmmaBody.cpp - The roles of a kernel for sm_90a ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp loads, warpgroups multiply and finish 64 columns each.
//
//===----------------------------------------------------------------------===//

#include "WgmmaBody.h"
#include "EpilogueTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;
using namespace nvfp4::warpspec;

void WgmmaBody::build() {
  Value weights = allocateShared(
      {plan.stages, plan.warpgroups, plan.getWeightBytes()}, b.getI8Type(), 0);
  Value tokens = allocateShared({plan.stages, plan.blocks, plan.width, 64},
                                plan.element, 128);
  Type result = cast<MemRefType>(op.getOut().getType()).getElementType();
  staged =
      allocateShared({plan.warpgroups, WgmmaPlan::kChunk,
                      isPlain ? WgmmaPlan::kNarrowPitch : WgmmaPlan::kPitch},
                     isPlain ? result : b.getF32Type(), 0);
  input =
      makePipeline({weights, tokens}, plan.stages, Agent::Tma, Agent::Threads);
  Value tiles = allocateShared({2, plan.isCut ? 8 : 4}, b.getI32Type(), 0);
  ring = makePipeline(tiles, 2, Agent::Threads, Agent::Threads);
  buildRoles(
      {{"math", 4 * plan.warpgroups, plan.registers, [&] { buildMathRole(); }},
       {"load", 1, plan.otherRegisters, [&] { buildLoadRole(); }}});
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void WgmmaBody::forEachTile(TileFn body) {
  Value steps;
  if (plan.isCut)
    steps = div(parameters.steps, plan.cutStages);
  KernelBody::forEachTile(
      plan.width, plan.getColumns(), ring,
      [&](Value g, Value m, Value n) {
        if (plan.isCut && plan.cutStages > 1)
          cut = {mul(cut.first, plan.cutStages),
                 mul(cut.second, plan.cutStages)};
        body(g, m, n);
      },
      /*isEpilogue=*/false, steps, plan.inParts);
}

/// Cycles of what is cut, as nvfp4/Strategy/WgmmaTiles.h has them: what the
/// tensor core takes, or decoding.
Value WgmmaBody::getTileCost(const GroupPlace &group) {
  Value width = getRows(group, i32(0)).width;
  auto line = [&](int64_t start, int64_t tenths) {
    return mul(add(i32(start), div(mul(width, tenths), 10)),
               plan.blocks / 2 * plan.cutStages);
  };
  bool isWide = plan.warpgroups == 4;
  return arith::MaxUIOp::create(b, loc, line(100, isWide ? 193 : 97),
                                isWide ? line(870, 84) : line(640, 42));
}

/// Tiles of one group have nearly the same width, as small as it can be.
WgmmaBody::Rows WgmmaBody::getRows(const GroupPlace &group, Value m) {
  auto roundUp = [&](Value value, int64_t to) {
    return mul(ceilDiv(value, to), to);
  };
  Value tiles = ceilDiv(group.rows, plan.width);
  // Extents are asked of groups without rows, too.
  tiles = arith::MaxUIOp::create(b, loc, tiles, i32(1));
  Value each = arith::DivUIOp::create(
      b, loc, add(group.rows, sub(tiles, i32(1))), tiles);
  Value narrow = roundUp(each, 8);
  Value wide = arith::MinSIOp::create(b, loc, roundUp(each, plan.widthStep),
                                      i32(plan.width));
  Value isNarrow =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, each, i32(64));
  Rows rows;
  rows.width = arith::SelectOp::create(b, loc, isNarrow, narrow, wide);
  rows.first = mul(m, rows.width);
  rows.count =
      arith::MinSIOp::create(b, loc, rows.width, sub(group.rows, rows.first));
  return rows;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void WgmmaBody::buildLoadRole() {
  forEachTile([&](Value g, Value m, Value n) {
    GroupPlace group = getGroup(g);
    Rows rows = getRows(group, m);
    // With groups along K all rows and weights are one matrix.
    bool isAlongK = static_cast<bool>(group.steps);
    Value row = isAlongK ? rows.first : add(group.start, rows.first);
    Value steps = isAlongK ? group.steps : parameters.steps;
    // Strips of 64 columns; behind the last one it is loaded again, and what
    // comes of it is not stored.
    Value strips = ceilDiv(parameters.columns, 64);
    Value firstStrip = mul(n, plan.warpgroups);
    auto wide = [&](Value value) -> Value {
      return arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
    };
    auto mulWide = [&](Value x, Value y) -> Value {
      return arith::MulIOp::create(b, loc, x, y);
    };
    Value stageBytes =
        arith::ConstantIntOp::create(b, loc, plan.getWeightBytes(), 64);
    Value stripBytes = mulWide(wide(parameters.steps), stageBytes);
    SmallVector<Value> starts;
    for (int64_t i = 0; i < plan.warpgroups; ++i) {
      Value strip = arith::MinSIOp::create(b, loc, add(firstStrip, i32(i)),
                                           sub(strips, i32(1)));
      Value all = isAlongK ? strip : add(mul(g, strips), strip);
      starts.push_back(mulWide(wide(all), stripBytes));
    }
    auto hint = [&](CacheHint value) {
      return CacheHintAttr::get(b.getContext(), value);
    };
    auto [from, to] = plan.isCut ? cut : std::pair(i32(0), steps);
    fillStages(from, to, [&](Value k, AcquireOp fill) {
      if (isAlongK)
        k = add(group.firstStep, k);
      Value at = mulWide(wide(k), stageBytes);
      for (auto [i, start] : llvm::enumerate(starts))
        BulkLoadOp::create(b, loc, parameters.weights,
                           arith::AddIOp::create(b, loc, start, at),
                           static_cast<uint32_t>(i), fill.getSlot()[0],
                           fill.getToken(), hint(CacheHint::EvictFirst));
      TmaLoadRowsOp::create(b, loc, rows.width, parameters.tokenMaps,
                            mul(k, plan.blocks), row, i32(0), fill.getSlot()[1],
                            fill.getToken(), hint(CacheHint::EvictLast));
    });
  });
}

//===----------------------------------------------------------------------===//
// Products and results
//===----------------------------------------------------------------------===//

Value WgmmaBody::getFlag(Value number) {
  return toIndex(add(mul(number, plan.getThreads()),
                     ThreadIndexOp::create(b, loc, b.getI32Type())));
}

void WgmmaBody::awaitSums(Value number) {
  Value flag = getFlag(number);
  AwaitOp::create(b, loc, parameters.published, flag);
  // As it was, for another launch with the same memory.
  memref::StoreOp::create(b, loc, i32(0), parameters.published, flag);
}

void WgmmaBody::buildMathRole() {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  warpgroup = div(thread, 128);
  forEachTile([&](Value g, Value m, Value n) {
    GroupPlace group = getGroup(g);
    Rows rows = getRows(group, m);
    auto fragment = VectorType::get({plan.width / 2}, b.getF32Type());
    auto multiply = [&](Value from, Value to, Value slot, Value isAfter) {
      return MmaDecodedOp::create(b, loc, fragment, b.getI32Type(),
                                  b.getI32Type(), input, from, to, rows.width,
                                  plan.widthStep, plan.code,
                                  slot ? parameters.partials : Value(), slot,
                                  isAfter, Value(), Value())
          .getResult();
    };
    auto finish = [&](Value product) {
      if (isPlain)
        buildPlainResults(g, group, rows, n, product);
      else
        buildResults(g, group, rows, n, product);
    };
    if (!plan.isCut)
      return finish(multiply(i32(0),
                             group.steps ? group.steps : parameters.steps,
                             Value(), Value()));
    OpBuilder::InsertionGuard guard(b);
    auto isEqual = [&](Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
    };
    auto [from, to] = cut;
    Value block = NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
    Value before = sub(block, i32(1));
    Value isAfter = less(i32(0), from);
    if (partsBefore)
      isAfter =
          arith::AndIOp::create(b, loc, isAfter, isEqual(partsBefore, i32(0)));
    auto wait = scf::IfOp::create(b, loc, isAfter, /*withElseRegion=*/false);
    b.setInsertionPointToStart(wait.thenBlock());
    awaitSums(before);
    b.setInsertionPointAfter(wait);
    Value product = multiply(from, to, before, isAfter);
    auto branch = scf::IfOp::create(b, loc, isEqual(to, parameters.steps),
                                    /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    StoreFragmentOp::create(b, loc, product, rows.width, parameters.partials,
                            block);
    PublishOp::create(b, loc, parameters.published, getFlag(block));
    b.setInsertionPointToStart(branch.thenBlock());
    if (partsBefore) {
      Value first = sub(block, partsBefore);
      auto loop = scf::ForOp::create(b, loc, first, block, i32(1));
      b.setInsertionPointToStart(loop.getBody());
      awaitSums(loop.getInductionVar());
      b.setInsertionPointAfter(loop);
      product = AddFragmentsOp::create(b, loc, fragment, product, rows.width,
                                       partsBefore, parameters.partials, first);
    }
    finish(product);
  });
}

void WgmmaBody::buildPlainResults(Value g, const GroupPlace &group,
                                  const Rows &rows, Value n, Value fragment) {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  auto bits = [&](Value value, int64_t mask) -> Value {
    return arith::AndIOp::create(b, loc, value, i32(mask));
  };
  TilePlace tile;
  tile.group = g;
  tile.groupStart = group.start;
  tile.row = tile.firstRow = add(group.start, rows.first);
  tile.isRow = arith::ConstantIntOp::create(b, loc, 1, 1);
  loadGroupNumbers(tile);
  auto scale = [&](Value factor) {
    fragment =
        arith::MulFOp::create(b, loc, fragment, broadcast(factor, fragment));
  };
  scale(getFactor(g));
  if (tile.alpha)
    scale(tile.alpha);
  // A thread takes 8 columns of every 16th row.
  Value column = add(mul(add(mul(n, plan.warpgroups), warpgroup), 64),
                     mul(bits(thread, 7), 8));
  Value inWarpgroup = div(bits(thread, 127), 8);
  Value hasColumns = less(column, parameters.columns);
  auto loop =
      scf::ForOp::create(b, loc, i32(0), rows.count, i32(WgmmaPlan::kChunk));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value chunk = loop.getInductionVar();
  StageFragmentOp::create(b, loc, fragment, chunk, staged, IntegerAttr());
  Type element = cast<MemRefType>(staged.getType()).getElementType();
  for (int64_t i = 0; i < WgmmaPlan::kChunk; i += 16) {
    OpBuilder::InsertionGuard inner(b);
    Value row = add(inWarpgroup, i32(i));
    Value rowInTile = add(chunk, row);
    Value is =
        arith::AndIOp::create(b, loc, less(rowInTile, rows.count), hasColumns);
    auto branch = scf::IfOp::create(b, loc, is, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    Value loaded =
        SmemLoadOp::create(b, loc, VectorType::get({8}, element), staged,
                           ValueRange{warpgroup, row, mul(bits(thread, 7), 8)});
    Value at = flatten(add(tile.row, rowInTile), parameters.outStride, column);
    vector::StoreOp::create(b, loc, loaded, parameters.out, ValueRange(at),
                            false, llvm::Align(16));
  }
}

void WgmmaBody::buildResults(Value g, const GroupPlace &group, const Rows &rows,
                             Value n, Value fragment) {
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  ActivationAttr activation = op.getActivationOrIdentity();
  Value strip = add(mul(n, plan.warpgroups), warpgroup);
  SmallVector<Value> carried;
  if (parameters.amax)
    carried.push_back(i32(0));
  auto loop = scf::ForOp::create(b, loc, i32(0), rows.count,
                                 i32(WgmmaPlan::kChunk), carried);
  TilePlace last;
  last.group = g;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value chunk = loop.getInductionVar();
    StageFragmentOp::create(b, loc, fragment, chunk, staged, IntegerAttr());
    // Each warp of a warpgroup takes some of the 64 columns, or the first two
    // do.
    auto inWarpgroup =
        arith::AndIOp::create(b, loc, thread, i32(127)).getResult();
    stagedRow = arith::AndIOp::create(b, loc, thread, i32(31));
    Value part = mul(div(inWarpgroup, 32), 32);
    Value rowInTile = add(chunk, stagedRow);
    TilePlace tile;
    tile.group = g;
    tile.rowInGroup = add(rows.first, rowInTile);
    tile.firstRow = add(group.start, rows.first);
    tile.row = add(group.start, tile.rowInGroup);
    tile.isRow = less(rowInTile, rows.count);
    tile.groupStart = group.start;
    tile.groupRows = group.rows;
    tile.thread = thread;
    tile.column = mul(strip, 64);
    tile.outColumn = activation.isPaired() ? mul(strip, 32) : tile.column;
    tile.params = arithmetic::emitActivationParams(b, loc, activation);
    Value hasColumns = less(part, i32(64));
    Value amax = parameters.amax ? loop.getRegionIterArg(0) : Value();
    Values otherwise;
    if (amax)
      otherwise.push_back(amax);
    Values seen = buildIf(hasColumns, otherwise, [&]() -> Values {
      loadGroupNumbers(tile);
      Value inside = buildChunk(tile, staged, part, amax);
      return inside ? Values{inside} : Values{};
    });
    if (amax)
      amax = seen.front();
    if (amax)
      scf::YieldOp::create(b, loc, amax);
  }
  if (parameters.amax)
    storeAmax(last, thread, loop.getResult(0));
}

/// What mma_decoded leaves out of the product: a power of two rounds nothing.
Value WgmmaBody::getFactor(Value g) {
  if (!parameters.factors)
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(128));
  Value matrix = parameters.depth ? i32(0) : g;
  return memref::LoadOp::create(b, loc, parameters.factors, toIndex(matrix));
}

Value WgmmaBody::loadColumns(const TilePlace &tile, Value acc, Value offset,
                             int64_t columns) {
  auto type = VectorType::get({columns}, b.getF32Type());
  Value loaded = SmemLoadOp::create(b, loc, type, acc,
                                    ValueRange{warpgroup, stagedRow, offset});
  return arith::MulFOp::create(b, loc, loaded,
                               broadcast(getFactor(tile.group), loaded));
}
