//===- LowerTileRing.cpp - Tiles found by a warp of their own ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot of the ring is group, m, n and whether there is such a tile, then the
// range of its steps and the number of parts before where tiles are cut. The
// warp that finds tiles runs ahead; the roles copy a slot to registers and
// release it before they use it.
//
//===----------------------------------------------------------------------===//

#include "TileSearch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// Builds with values of 32 bits.
struct RingBuilder {
  RewriterBase &b;
  Location loc;
  PipelineOp ring;
  Type i32 = b.getI32Type();

  Value constant(int64_t value) { return createI32(b, loc, value); }
  VectorType getSlotType() { return VectorType::get({4}, i32); }

  /// Stage and phase of the slot after this one.
  RingPosition advance(Value stage, Value phase) {
    return nvfp4::warpspec::advance(b, loc, {stage, phase}, ring.getDepth());
  }

  /// Hands one slot over.
  void push(Value stage, Value phase, ArrayRef<Value> words) {
    auto fill = AcquireOp::create(b, loc, ring, stage, phase, Value(), Value());
    Value elected = NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), Value());
    auto branch = scf::IfOp::create(b, loc, elected, false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      for (size_t i = 0; i < words.size(); i += 4) {
        Value slot = vector::FromElementsOp::create(b, loc, getSlotType(),
                                                    words.slice(i, 4));
        SmemStoreOp::create(b, loc, slot, fill.getSlot()[0],
                            ValueRange{constant(i)});
      }
    }
    CommitOp::create(b, loc, fill.getToken());
  }
  /// The same of a tile; returns the stage and phase after it.
  SmallVector<Value> pushTile(ArrayRef<Value> tile, Value stage, Value phase) {
    SmallVector<Value> words(tile.take_front(3));
    words.push_back(constant(1));
    llvm::append_range(words, tile.drop_front(3));
    words.resize(tile.size() > 3 ? 8 : 4, constant(0));
    push(stage, phase, words);
    auto [nextStage, nextPhase] = advance(stage, phase);
    return {nextStage, nextPhase};
  }
};
} // namespace

void nvfp4::warpspec::buildTileFinder(RewriterBase &rewriter,
                                      ForEachTileOp loop, int64_t cluster) {
  Location loc = loop.getLoc();
  RingBuilder b{rewriter, loc, getPipelineOp(loop.getRing())};
  SmallVector<Value> inits{b.constant(0), b.constant(1)}, ends;
  SmallVector<Type> types(2, b.i32);
  ForEachTileOp tiles;
  auto buildWhole = [&] {
    tiles = ForEachTileOp::create(rewriter, loc, types, loop.getOrder(),
                                  loop.getGroups(), Value(), Value(),
                                  /*inParts=*/false, inits);
    IRMapping mapping;
    loop.getExtents().cloneInto(&tiles.getExtents(), mapping);
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Type> bodyTypes(5, b.i32);
    Block *body = rewriter.createBlock(&tiles.getBody(), {}, bodyTypes,
                                       SmallVector<Location>(5, loc));
    auto args = body->getArguments();
    SmallVector<Value> tile(args.take_front(3));
    if (loop.getSteps())
      tile.append({b.constant(0), loop.getSteps(), b.constant(0)});
    YieldOp::create(rewriter, loc, b.pushTile(tile, args[3], args[4]));
  };
  if (loop.getSteps()) {
    auto branch = scf::IfOp::create(
        rewriter, loc, types, TileSearch(rewriter, loop, cluster).areFew(),
        /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> cut =
        lowerCutTiles(rewriter, loop, cluster, inits,
                      [&](ArrayRef<Value> tile, ValueRange carried) {
                        return b.pushTile(tile, carried[0], carried[1]);
                      });
    scf::YieldOp::create(rewriter, loc, cut);
    rewriter.setInsertionPointToStart(branch.elseBlock());
    buildWhole();
    rewriter.setInsertionPointAfter(tiles);
    scf::YieldOp::create(rewriter, loc, tiles.getResults());
    ends.assign(branch.getResults().begin(), branch.getResults().end());
  } else {
    buildWhole();
    rewriter.setInsertionPointAfter(tiles);
    ends.assign(tiles.getResults().begin(), tiles.getResults().end());
  }
  // The values of the loop are replaced with it.
  b.push(ends[0], ends[1],
         SmallVector<Value>(loop.getSteps() ? 8 : 4, b.constant(0)));
  lowerTileLoop(rewriter, tiles, cluster);
}

void nvfp4::warpspec::lowerRingLoop(RewriterBase &rewriter,
                                    ForEachTileOp loop) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  RingBuilder b{rewriter, loc, getPipelineOp(loop.getRing())};
  unsigned own = loop.getNumTileArguments();
  // Stage and phase, then the carried values; tile and next stage before them.
  SmallVector<Value> inits{b.constant(0), b.constant(0)};
  llvm::append_range(inits, loop.getInitArgs());
  SmallVector<Type> headTypes(ValueRange(inits).getTypes());
  SmallVector<Type> bodyTypes(own, b.i32);
  llvm::append_range(bodyTypes, headTypes);
  auto tiles = scf::WhileOp::create(rewriter, loc, bodyTypes, inits);
  Block *head =
      rewriter.createBlock(&tiles.getBefore(), {}, headTypes,
                           SmallVector<Location>(headTypes.size(), loc));
  auto drain = WaitOp::create(rewriter, loc, b.ring, head->getArgument(0),
                              head->getArgument(1), Value(), Value());
  auto load = [&](int64_t first) -> Value {
    return SmemLoadOp::create(rewriter, loc, b.getSlotType(),
                              drain.getSlot()[0],
                              ValueRange{b.constant(first)});
  };
  Value words = load(0), steps = loop.getSteps() ? load(4) : Value();
  auto word = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(rewriter, loc, i < 4 ? words : steps,
                                     i % 4);
  };
  SmallVector<Value> passed{word(0), word(1), word(2)};
  for (unsigned i = 3; i < own; ++i)
    passed.push_back(word(i + 1));
  Value more = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                     word(3), b.constant(0));
  ReleaseOp::create(rewriter, loc, drain.getToken());
  auto [stage, phase] = b.advance(head->getArgument(0), head->getArgument(1));
  passed.append({stage, phase});
  llvm::append_range(passed, head->getArguments().drop_front(2));
  scf::ConditionOp::create(rewriter, loc, more, passed);

  Block *block =
      rewriter.createBlock(&tiles.getAfter(), {}, bodyTypes,
                           SmallVector<Location>(bodyTypes.size(), loc));
  auto args = block->getArguments();
  Block *body = &loop.getBody().front();
  SmallVector<Value> arguments(args.take_front(own));
  llvm::append_range(arguments, args.drop_front(own + 2));
  Operation *end = body->getTerminator();
  rewriter.inlineBlockBefore(body, block, block->end(), arguments);
  SmallVector<Value> next{args[own], args[own + 1]};
  llvm::append_range(next, end->getOperands());
  rewriter.setInsertionPoint(end);
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.eraseOp(end);
  rewriter.replaceOp(loop, tiles.getResults().drop_front(own + 2));
}
