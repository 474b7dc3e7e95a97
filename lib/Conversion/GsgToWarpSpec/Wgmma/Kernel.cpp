//===- Kernel.cpp - The roles of a kernel for wgmma -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers, how tiles are cut, and the role that loads.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "../Common/ProblemTable.h"
#include "../Common/ProductChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::wgmma;
using namespace nvfp4::warpspec;

void wgmma::buildKernel(Launch &launch, const Plan &plan,
                        const Parameters &parameters, MatmulOp op) {
  KernelContext c(launch, op, parameters.common, Plan::kValues);
  OpBuilder &b = c.b;
  Value weights =
      allocateShared(c, {plan.stages, plan.warpgroups, plan.getWeightBytes()},
                     b.getI8Type(), 0);
  Value tokens = allocateShared(c, {plan.stages, plan.blocks, plan.width, 64},
                                plan.element, 128);
  Type result = cast<MemRefType>(op.getOut().getType()).getElementType();
  Buffers buffers;
  buffers.staged =
      allocateShared(c,
                     {plan.warpgroups, Plan::kChunk,
                      plan.isPlain ? Plan::kNarrowPitch : Plan::kPitch},
                     plan.isPlain ? result : b.getF32Type(), 0);
  buffers.input = makePipeline(c, {weights, tokens}, plan.stages, Agent::Tma,
                               Agent::Threads);
  Value tiles = allocateShared(c, {2, plan.isCut ? 8 : 4}, b.getI32Type(), 0);
  buffers.ring = makePipeline(c, tiles, 2, Agent::Threads, Agent::Threads);
  Kernel kernel(c, plan, parameters, buffers);
  buildRoles(
      c, {{"math", 4 * plan.warpgroups, plan.registers,
           [&] {
             emitDataChecks(kernel, plan.getThreads());
             buildMathRole(kernel);
           }},
          {"load", 1, plan.otherRegisters, [&] { buildLoadRole(kernel); }}});
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Cycles of the stages of a tile that stay together, or of one stage, as
/// nvfp4/Strategy/Wgmma/WgmmaTiles.h has them: those of the tensor core, or of
/// decoding.
static Value getTileCost(const Kernel &k, const GroupPlace &group) {
  const Plan &plan = k.plan;
  Value width = k.getRows(group, k.i32(0)).width;
  auto line = [&](int64_t start, int64_t tenths) {
    return k.mul(k.add(k.i32(start), k.div(k.mul(width, tenths), 10)),
                 plan.blocks / 2 * plan.cutStages);
  };
  bool isWide = plan.warpgroups == 4;
  return arith::MaxUIOp::create(k.b, k.loc, line(100, isWide ? 193 : 97),
                                isWide ? line(870, 84) : line(640, 42));
}

void Kernel::forEachTile(function_ref<void(const TileState &tile)> body) const {
  TileLoop tiles{.rows = plan.width, .columns = plan.getColumns()};
  auto cost = [&](const ProblemExtents &extents, const GroupPlace &group) {
    Value each = getTileCost(*this, group);
    // Problems of a list have a K of their own.
    return isList() ? arith::MulIOp::create(b, loc, each, extents.steps) : each;
  };
  tiles.ring = buffers.ring;
  tiles.cost = cost;
  if (plan.isCut)
    tiles.steps = div(parameters.extents.steps, plan.cutStages);
  tiles.inParts = plan.inParts;
  kernels::forEachTile(*this, tiles, [&](const TileState &found) {
    TileState tile = found;
    if (plan.isCut && plan.cutStages > 1) {
      tile.from = mul(tile.from, plan.cutStages);
      tile.to = mul(tile.to, plan.cutStages);
    }
    body(tile);
  });
}

TileRows Kernel::getRows(const GroupPlace &group, Value m) const {
  TileRows rows;
  rows.width =
      group.tileRows ? group.tileRows : chooseTileRows(*this, plan, group.rows);
  rows.first = mul(m, rows.width);
  rows.count =
      arith::MinSIOp::create(b, loc, rows.width, sub(group.rows, rows.first));
  return rows;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void wgmma::buildLoadRole(const Kernel &kernel) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  kernel.forEachTile([&](const TileState &tile) {
    auto i32 = [&](int64_t value) { return kernel.i32(value); };
    auto add = [&](Value x, Value y) { return kernel.add(x, y); };
    GroupPlace group = getGroup(kernel, tile.extents, tile.group);
    TileRows rows = kernel.getRows(group, tile.m);
    // With groups along K all rows and weights are one matrix.
    bool isAlongK = static_cast<bool>(group.steps);
    Value row = isAlongK ? rows.first : add(group.start, rows.first);
    Value steps = isAlongK ? group.steps : tile.extents.steps;
    // Strips of 64 columns; after the last one it is loaded again, and what
    // comes of it is not stored.
    Value strips = kernel.ceilDiv(tile.extents.columns, 64);
    Value firstStrip = kernel.mul(tile.n, plan.warpgroups);
    auto wide = [&](Value value) -> Value {
      return arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
    };
    auto mulWide = [&](Value x, Value y) -> Value {
      return arith::MulIOp::create(b, loc, x, y);
    };
    Value stageBytes =
        arith::ConstantIntOp::create(b, loc, plan.getWeightBytes(), 64);
    Value stripBytes = mulWide(wide(tile.extents.steps), stageBytes);
    SmallVector<Value> starts;
    for (int64_t i = 0; i < plan.warpgroups; ++i) {
      Value strip = arith::MinSIOp::create(b, loc, add(firstStrip, i32(i)),
                                           kernel.sub(strips, i32(1)));
      bool isStack = !isAlongK && !kernel.isList();
      Value all = isStack ? add(kernel.mul(tile.group, strips), strip) : strip;
      starts.push_back(mulWide(wide(all), stripBytes));
    }
    SmallVector<Value> maps = kernel.own.tokenMaps;
    if (kernel.isList()) {
      Value distance = getDistance(kernel, tile.group, ProblemWord::Weights,
                                   kernel.own.weights);
      for (Value &start : starts)
        start = arith::AddIOp::create(b, loc, start, distance);
      maps.push_back(getMap(kernel, Value(), tile.group, 0));
    }
    auto hint = [&](CacheHint value) {
      return CacheHintAttr::get(b.getContext(), value);
    };
    auto fillStage = [&](Value k, AcquireOp fill) {
      if (isAlongK)
        k = add(group.firstStep, k);
      Value at = mulWide(wide(k), stageBytes);
      for (auto [i, start] : llvm::enumerate(starts))
        BulkLoadOp::create(b, loc, kernel.own.weights,
                           arith::AddIOp::create(b, loc, start, at),
                           static_cast<uint32_t>(i), fill.getSlot()[0],
                           fill.getToken(), hint(CacheHint::EvictFirst));
      TmaLoadRowsOp::create(
          b, loc, rows.width, maps, kernel.mul(k, plan.blocks), row, i32(0),
          fill.getSlot()[1], fill.getToken(), hint(CacheHint::EvictLast));
    };
    Value from = plan.isCut ? tile.from : i32(0);
    Value to = plan.isCut ? tile.to : steps;
    fillStages(kernel, kernel.buffers.input, from, to, fillStage);
  });
}
