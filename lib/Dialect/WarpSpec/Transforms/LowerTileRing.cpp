//===- LowerTileRing.cpp - Tiles found by a warp of their own ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot of the ring is group, m, n and whether there is such a tile. The warp
// that finds tiles runs ahead; the roles copy a slot to registers and release
// it before they use it.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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

  /// Stage and phase after one more use.
  std::pair<Value, Value> advance(Value stage, Value phase) {
    Value next = arith::AddIOp::create(b, loc, stage, constant(1));
    Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next,
                                        constant(ring.getDepth()));
    Value flipped = arith::XOrIOp::create(b, loc, phase, constant(1));
    return {arith::SelectOp::create(b, loc, wraps, constant(0), next),
            arith::SelectOp::create(b, loc, wraps, flipped, phase)};
  }

  /// Hands one slot over.
  void push(Value stage, Value phase, ArrayRef<Value> words) {
    auto fill = AcquireOp::create(b, loc, ring, stage, phase, Value(), Value());
    Value elected = NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), Value());
    auto branch = scf::IfOp::create(b, loc, elected, false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value slot = vector::FromElementsOp::create(b, loc, getSlotType(), words);
      SmemStoreOp::create(b, loc, slot, fill.getSlot()[0],
                          ValueRange{constant(0)});
    }
    CommitOp::create(b, loc, fill.getToken());
  }
};
} // namespace

void nvfp4::warpspec::buildTileFinder(RewriterBase &rewriter,
                                      ForEachTileOp loop, int64_t cluster) {
  Location loc = loop.getLoc();
  RingBuilder b{rewriter, loc, getPipelineOp(loop.getRing())};
  SmallVector<Value> inits{b.constant(0), b.constant(1)};
  auto tiles =
      ForEachTileOp::create(rewriter, loc, TypeRange{b.i32, b.i32},
                            loop.getOrder(), loop.getGroups(), Value(), inits);
  IRMapping mapping;
  loop.getExtents().cloneInto(&tiles.getExtents(), mapping);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Type> types(5, b.i32);
    Block *body = rewriter.createBlock(&tiles.getBody(), {}, types,
                                       SmallVector<Location>(5, loc));
    auto args = body->getArguments();
    b.push(args[3], args[4], {args[0], args[1], args[2], b.constant(1)});
    auto [stage, phase] = b.advance(args[3], args[4]);
    YieldOp::create(rewriter, loc, ValueRange{stage, phase});
  }
  // The values of the loop are replaced with it.
  rewriter.setInsertionPointAfter(tiles);
  b.push(tiles.getResult(0), tiles.getResult(1),
         SmallVector<Value>(4, b.constant(0)));
  lowerTileLoop(rewriter, tiles, cluster);
}

void nvfp4::warpspec::lowerRingLoop(RewriterBase &rewriter,
                                    ForEachTileOp loop) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  RingBuilder b{rewriter, loc, getPipelineOp(loop.getRing())};
  // Stage and phase, then the carried values; tile and next stage before them.
  SmallVector<Value> inits{b.constant(0), b.constant(0)};
  llvm::append_range(inits, loop.getInitArgs());
  SmallVector<Type> headTypes(ValueRange(inits).getTypes());
  SmallVector<Type> bodyTypes(3, b.i32);
  llvm::append_range(bodyTypes, headTypes);
  auto tiles = scf::WhileOp::create(rewriter, loc, bodyTypes, inits);
  Block *head =
      rewriter.createBlock(&tiles.getBefore(), {}, headTypes,
                           SmallVector<Location>(headTypes.size(), loc));
  auto drain = WaitOp::create(rewriter, loc, b.ring, head->getArgument(0),
                              head->getArgument(1), Value(), Value());
  Value words =
      SmemLoadOp::create(rewriter, loc, b.getSlotType(), drain.getSlot()[0],
                         ValueRange{b.constant(0)});
  auto word = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(rewriter, loc, words, i);
  };
  SmallVector<Value> passed{word(0), word(1), word(2)};
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
  SmallVector<Value> arguments{args[0], args[1], args[2]};
  llvm::append_range(arguments, args.drop_front(5));
  Operation *end = body->getTerminator();
  rewriter.inlineBlockBefore(body, block, block->end(), arguments);
  SmallVector<Value> next{args[3], args[4]};
  llvm::append_range(next, end->getOperands());
  rewriter.setInsertionPoint(end);
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.eraseOp(end);
  rewriter.replaceOp(loop, tiles.getResults().drop_front(5));
}
