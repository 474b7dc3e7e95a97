//===- OneLaunch.cpp - one_launch as a kernel -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For few tokens every block routes and sorts all of them, so that blocks need
// not meet, and moves its share of the rows; the first one stores what was
// found. Experts of a token differ, so a bit for each token says who comes
// before whom among the rows of an expert.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgToLoops/Patterns.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

namespace {
constexpr int64_t kWarp = 32;
/// Blocks of a launch that moves rows, at most; about one for each
/// multiprocessor, since each routes all tokens.
constexpr int64_t kMostBlocks = 128;

/// The code of one block.
struct RoutedTokens {
  LoopBuilder &b;
  RouteOp route;
  SortTokensOp sort;
  /// Null if no rows are moved.
  PermuteOp permute;
  const loops::DataChecks &checks;
  int64_t mostTokens, numThreads, lanes;

  // Numbers of the launch.
  Value block = {}, numBlocks = {}, thread = {};
  /// In shared memory, i32: bits of the tokens of each expert, the first row of
  /// each, and of each slot its expert and then its row.
  Value bits = {}, starts = {}, slots = {};

  int64_t numExperts =
      cast<MemRefType>(sort.getEndsOut().getType()).getDimSize(0);
  int64_t numSlots =
      cast<MemRefType>(route.getWeightsOut().getType()).getDimSize(1);
  Value numTokens = {}, numEntries = {}, numRows = {};
  /// `numWords`: words of the bits of an expert.
  Value numWords = {};

  void launch() {
    Value blocks = b.index(1);
    if (permute) {
      Value pieces = b.mul(b.dim(permute.getOut(), 0), countPieces());
      Value shares = arith::CeilDivUIOp::create(b.builder, b.loc, pieces,
                                                b.index(numThreads));
      shares = arith::MinUIOp::create(b.builder, b.loc, shares,
                                      b.index(kMostBlocks));
      blocks = arith::MaxUIOp::create(b.builder, b.loc, shares, blocks);
    }
    launchBlocks(b, permute ? "route_sort_permute" : "route_sort", blocks,
                 numThreads,
                 {numExperts * int64_t(llvm::divideCeil(mostTokens, kWarp)),
                  numExperts, mostTokens * numSlots},
                 [&](const BlockCode &code) {
                   block = code.block;
                   thread = code.thread;
                   numBlocks = blocks;
                   bits = code.shared[0];
                   starts = code.shared[1];
                   slots = code.shared[2];
                   build();
                 });
  }

private:
  void build() {
    numTokens = arith::MinUIOp::create(
        b.builder, b.loc, b.dim(route.getLogits(), 0), b.index(mostTokens));
    numEntries = b.mul(numTokens, b.index(numSlots));
    numRows = b.dim(sort.getTokenOfRowOut(), 0);
    numWords =
        arith::CeilDivUIOp::create(b.builder, b.loc, numTokens, b.index(kWarp));
    share(b.mul(numWords, b.index(numExperts)),
          [&](Value i) { b.store(i32(0), bits, {i}); });
    barrier();
    routeTokens();
    barrier();
    b.ifThen(b.cmp(Predicate::ult, thread, b.index(kWarp)), [&] { addUp(); });
    barrier();
    place();
    if (!permute)
      return;
    barrier();
    move();
  }

  Value i32(int64_t value) { return b.constant(b.i32, value); }
  void barrier() { gpu::BarrierOp::create(b.builder, b.loc); }
  Value divide(Value a, Value by) {
    return arith::DivUIOp::create(b.builder, b.loc, a, by);
  }
  Value remain(Value a, Value by) {
    return arith::RemUIOp::create(b.builder, b.loc, a, by);
  }
  /// The thread's turns of `body` below `to`.
  void share(Value to, function_ref<void(Value)> body) {
    forRange(b, thread, to, b.index(numThreads), body);
  }
  void ifFirstBlock(function_ref<void()> body) {
    b.ifThen(b.cmp(Predicate::eq, block, b.index(0)), body);
  }
  Value countPieces() {
    Value columns = b.dim(permute.getOut(), 1);
    return arith::CeilDivUIOp::create(b.builder, b.loc, columns,
                                      b.index(lanes));
  }

  void routeTokens() {
    Value warp = b.index(kWarp), lane = remain(thread, warp);
    forRange(b, divide(thread, warp), numTokens, b.index(numThreads / kWarp),
             [&](Value token) {
               RoutedSlot slot = emitRoute(b, route, token, lane);
               b.ifThen(hasSlot(b, route, lane),
                        [&] { keep(token, lane, slot); });
             });
  }

  void keep(Value token, Value lane, const RoutedSlot &slot) {
    Value entry = b.add(b.mul(token, b.index(numSlots)), lane);
    b.store(slot.expert, slots, {entry});
    Value expert = b.toIndex(slot.expert);
    b.ifThen(b.cmp(Predicate::ult, expert, b.index(numExperts)), [&] {
      Value at = placeOf(expert, divide(token, b.index(kWarp)));
      memref::AtomicRMWOp::create(b.builder, b.loc, arith::AtomicRMWKind::ori,
                                  bitOf(token), bits, ValueRange{at});
    });
    ifFirstBlock([&] {
      b.store(slot.expert, route.getExpertsOut(), {token, lane});
      b.store(slot.weight, route.getWeightsOut(), {token, lane});
    });
  }

  /// Where word `word` of the bits of `expert` is.
  Value placeOf(Value expert, Value word) {
    return b.add(b.mul(word, b.index(numExperts)), expert);
  }
  Value bitOf(Value token) {
    return b.shl(i32(1), b.toI32(remain(token, b.index(kWarp))));
  }
  Value loadWord(Value expert, Value word) {
    return b.load(bits, {placeOf(expert, word)});
  }
  Value countBits(Value word) {
    return LLVM::CtPopOp::create(b.builder, b.loc, b.i32, word);
  }
  /// The tokens of an expert in the words before `end`.
  Value countTokens(Value expert, Value end) {
    return b.fold(end, {i32(0)}, [&](Value word, ValueRange sum) {
      return SmallVector<Value>{
          b.add(sum[0], countBits(loadWord(expert, word)))};
    })[0];
  }
  Value countRows(Value expert) { return countTokens(expert, numWords); }
  /// The rows of an expert with the padding after them.
  Value padded(Value count) {
    auto align = static_cast<int64_t>(sort.getAlign());
    if (align == 1)
      return count;
    return b.mul(
        arith::CeilDivUIOp::create(b.builder, b.loc, count, i32(align)),
        i32(align));
  }

  /// Where the rows of each expert start: a lane of the first warp has some
  /// neighbours among the experts.
  void addUp() {
    int64_t length = llvm::divideCeil(numExperts, kWarp);
    Value first = b.mul(thread, b.index(length));
    Value end = arith::MinUIOp::create(
        b.builder, b.loc, b.add(first, b.index(length)), b.index(numExperts));
    auto forOwn = [&](Value init, function_ref<Value(Value, Value)> body) {
      auto loop = scf::ForOp::create(b.builder, b.loc, first, end, b.index(1),
                                     ValueRange{init});
      OpBuilder::InsertionGuard guard(b.builder);
      b.builder.setInsertionPointToStart(loop.getBody());
      Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
      scf::YieldOp::create(b.builder, b.loc, next);
      return loop.getResult(0);
    };
    Value own = forOwn(i32(0), [&](Value expert, Value sum) {
      return b.add(sum, padded(countRows(expert)));
    });
    Value sum = own;
    for (int32_t distance = 1; distance < kWarp; distance *= 2) {
      auto other = gpu::ShuffleOp::create(b.builder, b.loc, sum, distance,
                                          kWarp, gpu::ShuffleMode::UP);
      sum =
          b.select(other.getValid(), b.add(sum, other.getShuffleResult()), sum);
    }
    forOwn(b.sub(sum, own), [&](Value expert, Value start) {
      b.store(start, starts, {expert});
      Value count = countRows(expert);
      ifFirstBlock(
          [&] { b.store(b.add(start, count), sort.getEndsOut(), {expert}); });
      return b.add(start, padded(count));
    });
  }

  /// The row of a slot whose token is `token`.
  Value findRow(Value expert, Value token) {
    Value word = divide(token, b.index(kWarp));
    Value below = b.bitAnd(loadWord(expert, word), b.sub(bitOf(token), i32(1)));
    Value before = b.add(countTokens(expert, word), countBits(below));
    return b.add(b.load(starts, {expert}), before);
  }

  void place() {
    share(numEntries, [&](Value entry) {
      Value token = divide(entry, b.index(numSlots));
      Value slot = remain(entry, b.index(numSlots));
      Value expert = b.toIndex(b.load(slots, {entry}));
      Value row = b.branch(
          b.cmp(Predicate::ult, expert, b.index(numExperts)),
          [&] {
            Value found = findRow(expert, token);
            Value isRow = b.cmp(Predicate::ult, b.toIndex(found), numRows);
            return b.select(isRow, found, i32(-1));
          },
          [&] { return i32(-1); });
      b.store(row, slots, {entry});
      ifFirstBlock([&] {
        b.store(row, sort.getRowOfSlotOut(), {token, slot});
        Value place = b.toIndex(row);
        b.ifThen(b.cmp(Predicate::ult, place, numRows), [&] {
          b.store(b.toI32(token), sort.getTokenOfRowOut(), {place});
        });
      });
    });
    ifFirstBlock([&] {
      forGaps([&](Value from, Value to) {
        forRange(b, b.add(from, thread), to, b.index(numThreads),
                 [&](Value row) {
                   b.store(i32(-1), sort.getTokenOfRowOut(), {row});
                 });
      });
    });
  }

  /// Calls `body(from, to)` for the rows after those of experts.
  void forGaps(function_ref<void(Value, Value)> body) {
    auto endOf = [&](Value expert) {
      Value end = b.toIndex(b.add(b.load(starts, {expert}), countRows(expert)));
      return arith::MinUIOp::create(b.builder, b.loc, end, numRows).getResult();
    };
    Value last = b.index(numExperts - 1);
    if (sort.getAlign() != 1)
      forRange(b, b.index(0), last, b.index(1), [&](Value expert) {
        Value next = b.toIndex(b.load(starts, {b.add(expert, b.index(1))}));
        next = arith::MinUIOp::create(b.builder, b.loc, next, numRows);
        body(endOf(expert), next);
      });
    body(endOf(last), numRows);
  }

  /// Moves the block's share of the rows, `lanes` columns a thread.
  void move() {
    Value pieces = countPieces(), out = permute.getOut();
    Value first = b.add(b.mul(block, b.index(numThreads)), thread);
    Value step = b.mul(numBlocks, b.index(numThreads));
    auto forPieces = [&](Value from, Value count,
                         function_ref<void(Value, Value)> body) {
      forRange(b, first, b.mul(count, pieces), step, [&](Value i) {
        Value column = b.mul(remain(i, pieces), b.index(lanes));
        body(b.add(from, divide(i, pieces)), column);
      });
    };
    forPieces(b.index(0), numEntries, [&](Value entry, Value column) {
      Value row = b.toIndex(b.load(slots, {entry}));
      b.ifThen(b.cmp(Predicate::ult, row, numRows), [&] {
        Value token = divide(entry, b.index(numSlots));
        Value values = loadToken(b, permute, token, row, column, lanes, checks);
        storeLanes(b, values, out, row, column);
      });
    });
    forGaps([&](Value from, Value to) {
      forPieces(from, b.sub(to, from), [&](Value row, Value column) {
        storeLanes(b,
                   loadToken(b, permute, b.index(-1), row, column, lanes, {}),
                   out, row, column);
      });
    });
  }
};
} // namespace

/// Takes memory away of which only extents are read, and which the launch did
/// not write.
static void freeUnused(IRRewriter &rewriter, Value memory) {
  auto alloc = memory.getDefiningOp<gpu::AllocOp>();
  if (!alloc || !llvm::all_of(alloc->getUsers(), [](Operation *user) {
        auto dim = dyn_cast<memref::DimOp>(user);
        return dim ? dim.getConstantIndex().has_value()
                   : isa<gpu::DeallocOp>(user);
      }))
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  auto type = cast<MemRefType>(memory.getType());
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers())) {
    auto dim = dyn_cast<memref::DimOp>(user);
    if (!dim) {
      rewriter.eraseOp(user);
      continue;
    }
    int64_t number = *dim.getConstantIndex();
    rewriter.setInsertionPoint(dim);
    Value extent =
        type.isDynamicDim(number)
            ? alloc.getDynamicSizes()[type.getDynamicDimIndex(number)]
            : arith::ConstantIndexOp::create(rewriter, dim.getLoc(),
                                             type.getDimSize(number))
                  .getResult();
    rewriter.replaceOp(dim, extent);
  }
  rewriter.eraseOp(alloc);
}

static void lower(IRRewriter &rewriter, OneLaunchOp op, bool checksData) {
  rewriter.setInsertionPoint(op);
  auto route = op.find<RouteOp>();
  auto permute = op.find<PermuteOp>();
  if (!route && !permute)
    return loops::lowerBothDirections(rewriter, op, checksData);
  if (!route) {
    Value rows = permute.getOut();
    loops::lowerPermuteAndQuantize(rewriter, op, checksData);
    return freeUnused(rewriter, rows);
  }
  LoopBuilder b(rewriter, getLaunchLoc(route));
  loops::DataChecks checks;
  int64_t lanes = 1;
  if (permute) {
    Value out = permute.getOut();
    lanes = countLanes({permute.getInput(), out},
                       cast<MemRefType>(out.getType()).getDimSize(1));
    if (checksData)
      checks = loops::DataChecks(rewriter, permute,
                                 getPermuteCheck(op.getContext()));
  }
  int64_t most = *op.getMostTokens();
  int64_t threads = OneLaunchOp::countWarps(route, most) * kWarp;
  RoutedTokens{b,       route, op.find<SortTokensOp>(), permute, checks, most,
               threads, lanes}
      .launch();
  rewriter.eraseOp(op);
}

void togpu::lowerOneLaunches(Operation *top, bool checksData) {
  SmallVector<OneLaunchOp> launches;
  top->walk([&](OneLaunchOp op) {
    if (isDeviceMemory(op.getBody()->front().getOperand(0).getType()))
      launches.push_back(op);
  });
  IRRewriter rewriter(top->getContext());
  for (OneLaunchOp op : launches)
    lower(rewriter, op, checksData);
}
