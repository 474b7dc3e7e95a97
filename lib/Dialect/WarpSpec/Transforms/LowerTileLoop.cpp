//===- LowerTileLoop.cpp - for_each_tile to a group search and loops ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of all groups form one sequence, of which a worker takes every W-th.
// A tile's group is found 32 groups at a time: each lane counts the tiles of
// one group, a prefix sum over the lanes gives where each begins.
//
//===----------------------------------------------------------------------===//

#include "TileSearch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
class TileLoopLowering : public TileSearch {
public:
  using TileSearch::TileSearch;

  void run() {
    rewriter.setInsertionPoint(loop);
    setWorkers();
    APInt groups;
    if (matchPattern(loop.getGroups(), m_ConstantInt(&groups)) &&
        groups.isOne())
      lowerOneGroup();
    else
      lowerGroups();
  }

private:
  std::pair<Value, Value> countTiles(Value group) {
    SmallVector<Value> extents = getExtents(group);
    return {extents[0], extents[1]};
  }

  /// Moves the body to the insertion point; returns what it yields.
  SmallVector<Value> inlineBody(Value group, Value m, Value n,
                                ValueRange carried) {
    SmallVector<Value> arguments{group, m, n};
    llvm::append_range(arguments, carried);
    Block *body = &loop.getBody().front();
    auto yield = cast<YieldOp>(body->getTerminator());
    SmallVector<Value> yielded(yield.getValues());
    for (auto [argument, value] :
         llvm::zip_equal(body->getArguments(), arguments))
      for (Value &result : yielded)
        if (result == argument)
          result = value;
    rewriter.eraseOp(yield);
    Block *target = rewriter.getInsertionBlock();
    rewriter.inlineBlockBefore(body, target, rewriter.getInsertionPoint(),
                               arguments);
    return yielded;
  }

  /// A dense problem needs no search.
  void lowerOneGroup() {
    Value zero = constant(0);
    auto [m, n] = countTiles(zero);
    auto tiles = scf::ForOp::create(rewriter, loc, worker, multiply(m, n),
                                    workers, loop.getInitArgs());
    Block *block = tiles.getBody();
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      rewriter.eraseOp(&block->back());
    rewriter.setInsertionPointToEnd(block);
    auto [i, j] = locate(tiles.getInductionVar(), m, n);
    Operation *yield = scf::YieldOp::create(rewriter, loc);
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded =
        inlineBody(zero, i, j, tiles.getRegionIterArgs());
    yield->insertOperands(0, yielded);
    rewriter.replaceOp(loop, tiles.getResults());
  }

  /// What the search knows when it stops at a window of 32 groups.
  struct Window {
    Value hit, base, before, count, end, m, n, group;
  };

  /// Groups of the lanes in order of falling cost, and their extents (m, n), if
  /// there are no more groups than lanes.
  void sortFew(Value lane, Value cost, Value &m, Value &n, Value &group) {
    auto branch =
        scf::IfOp::create(rewriter, loc, TypeRange{i32, i32, i32}, areFew(),
                          /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, ValueRange{m, n, group});
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Value source = rankByCost(lane, cost);
    scf::YieldOp::create(rewriter, loc,
                         ValueRange{pick(m, source), pick(n, source), source});
    m = branch.getResult(0);
    n = branch.getResult(1);
    group = branch.getResult(2);
  }

  /// From the window at `base`, which `before` tiles precede, to the one that
  /// holds `tile`.
  Window search(Value tile, Value base, Value before) {
    SmallVector<Type> types(8, i32);
    types[0] = rewriter.getI1Type();
    auto loopOp = scf::WhileOp::create(rewriter, loc, TypeRange(types),
                                       ValueRange{base, before});
    OpBuilder::InsertionGuard guard(rewriter);
    Block *head =
        rewriter.createBlock(&loopOp.getBefore(), {}, {i32, i32}, {loc, loc});
    Value lane = NVVM::LaneIdOp::create(rewriter, loc, i32);
    Value group = add(head->getArgument(0), lane);
    auto counts = scf::IfOp::create(
        rewriter, loc, SmallVector<Type>(isBalanced() ? 3 : 2, i32),
        less(group, loop.getGroups()),
        /*addThenBlock=*/true, /*addElseBlock=*/true);
    {
      OpBuilder::InsertionGuard inner(rewriter);
      rewriter.setInsertionPointToStart(counts.thenBlock());
      scf::YieldOp::create(rewriter, loc, getExtents(group));
      rewriter.setInsertionPointToStart(counts.elseBlock());
      scf::YieldOp::create(
          rewriter, loc,
          SmallVector<Value>(counts.getNumResults(), constant(0)));
    }
    Value m = counts.getResult(0), n = counts.getResult(1);
    if (isBalanced())
      sortFew(lane, counts.getResult(2), m, n, group);
    Value count = multiply(m, n);
    Value sum = addUp(lane, count);
    Value end = add(head->getArgument(1), sum);
    Value last = pick(end, constant(31));
    Value hit = less(tile, last);
    Value next = add(head->getArgument(0), constant(32));
    Value more = less(next, loop.getGroups());
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    Value misses = arith::XOrIOp::create(rewriter, loc, hit, isTrue);
    Value goesOn = arith::AndIOp::create(rewriter, loc, misses, more);
    SmallVector<Value> passed{
        hit,  head->getArgument(0), head->getArgument(1), count, end, m, n,
        group};
    scf::ConditionOp::create(rewriter, loc, goesOn, passed);
    Block *step = rewriter.createBlock(&loopOp.getAfter(), {}, types,
                                       SmallVector<Location>(8, loc));
    Value after = pick(step->getArgument(4), constant(31));
    scf::YieldOp::create(
        rewriter, loc,
        ValueRange{add(step->getArgument(1), constant(32)), after});
    ResultRange r = loopOp.getResults();
    return {r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]};
  }

  void lowerGroups() {
    // tile, what the next one is further on, base and before of the window,
    // then the carried values.
    constexpr unsigned own = 4, found = 3;
    Value one = constant(1);
    // Balanced, every second round of tiles is dealt out backwards: to the next
    // it is 2 (W - 1 - w) + 1 and 2 w + 1 in turns, which make 2 W.
    Value twice = add(workers, workers);
    Value step =
        isBalanced() ? subtract(twice, add(add(worker, worker), one)) : workers;
    SmallVector<Value> inits{worker, step, constant(0), constant(0)};
    llvm::append_range(inits, loop.getInitArgs());
    TypeRange carriedTypes(loop.getInitArgs());
    SmallVector<Type> headTypes(own, i32), bodyTypes(own + found, i32);
    llvm::append_range(headTypes, carriedTypes);
    llvm::append_range(bodyTypes, carriedTypes);
    auto tiles = scf::WhileOp::create(rewriter, loc, bodyTypes, inits);
    Block *head =
        rewriter.createBlock(&tiles.getBefore(), {}, headTypes,
                             SmallVector<Location>(headTypes.size(), loc));
    Value tile = head->getArgument(0);
    Window window = search(tile, head->getArgument(2), head->getArgument(3));
    Value begins = subtract(window.end, window.count);
    // The first lane whose group ends past the tile.
    Value ahead = less(tile, window.end);
    Value lane = findFirst(ahead);
    Value place = subtract(tile, pick(begins, lane));
    // Without a hit there is nothing to divide by.
    one = constant(1);
    Value m = arith::MaxUIOp::create(rewriter, loc, pick(window.m, lane), one);
    Value n = arith::MaxUIOp::create(rewriter, loc, pick(window.n, lane), one);
    auto [i, j] = locate(place, m, n);
    Value group =
        isBalanced() ? pick(window.group, lane) : add(window.base, lane);
    SmallVector<Value> passed{
        tile, head->getArgument(1), window.base, window.before, group, i, j};
    llvm::append_range(passed, head->getArguments().drop_front(own));
    scf::ConditionOp::create(rewriter, loc, window.hit, passed);

    Block *block =
        rewriter.createBlock(&tiles.getAfter(), {}, bodyTypes,
                             SmallVector<Location>(bodyTypes.size(), loc));
    auto args = block->getArguments();
    Value next = isBalanced() ? subtract(twice, args[1]) : args[1];
    SmallVector<Value> carried{add(args[0], args[1]), next, args[2], args[3]};
    Operation *yield = scf::YieldOp::create(rewriter, loc, carried);
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded = inlineBody(
        args[own], args[own + 1], args[own + 2], args.drop_front(own + found));
    yield->insertOperands(own, yielded);
    rewriter.replaceOp(loop, tiles.getResults().drop_front(own + found));
  }
};
} // namespace

void nvfp4::warpspec::lowerTileLoop(RewriterBase &rewriter, ForEachTileOp loop,
                                    int64_t cluster) {
  TileLoopLowering(rewriter, loop, cluster).run();
}
