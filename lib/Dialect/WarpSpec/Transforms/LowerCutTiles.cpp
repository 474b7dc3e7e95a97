//===- LowerCutTiles.cpp - Tiles that two workers share ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All but the last rounds of tiles are dealt out whole. What is left is a
// sequence of steps, each of the cost of its tile, in which the steps of a tile
// stand in falling order; it is cut into ranges of the same cost. The first
// steps of a tile that is cut are thus the first of a range, and its last steps
// the last of the range before: a tile that takes no longer than a range is
// never in two hands at once. Where sums may be in any order and there are few
// tiles, all are cut into parts that workers take at once.
//
//===----------------------------------------------------------------------===//

#include "TileSearch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// What cuts take a worker: a tile more, to store what it has of one, to load
/// another, and operands that are no longer read by many at once. In the unit
/// of costs times steps, cycles; measured.
static constexpr int64_t kCutCost = 10000;
/// Steps of a part, at least; fewer are left to the other worker.
static constexpr int64_t kLeastSteps = 2;
/// Steps of one of the parts that are taken at once, at least, and parts of a
/// tile.
static constexpr int64_t kPartSteps = 4, kMostParts = 16;
/// Products of costs, workers and steps are in 32 bits.
static constexpr int64_t kMostSteps = 2048;

namespace {
class CutTiles : public TileSearch {
public:
  using TileSearch::TileSearch;

  SmallVector<Value> build(ValueRange inits, TileFn fn) {
    body = fn;
    setWorkers();
    countTiles();
    return loop.getInParts() ? buildParts(inits) : buildTiles(inits);
  }

private:
  SmallVector<Value> buildParts(ValueRange inits) {
    Value steps = loop.getSteps();
    auto least = [&](Value a, Value b) -> Value {
      return arith::MinSIOp::create(rewriter, loc, a, b);
    };
    Value parts =
        least(divide(workers, atLeast(total, 1)),
              least(divide(steps, constant(kPartSteps)), constant(kMostParts)));
    Value areParts = less(constant(1), parts);
    auto visitParts = [&] {
      Value tile = divide(worker, parts);
      Value number = subtract(worker, multiply(tile, parts));
      auto edge = [&](Value at) { return divide(multiply(at, steps), parts); };
      return when(less(tile, total), inits, [&] {
        return visit(tile, edge(number), edge(add(number, constant(1))), number,
                     inits);
      });
    };
    return choose(areParts, inits.getTypes(), visitParts,
                  [&] { return buildTiles(inits); });
  }

  SmallVector<Value> buildTiles(ValueRange inits) {
    Value isCut = decide();
    Value whole = select(isCut, start, total);
    Value one = constant(1);
    Value rounds = divide(add(whole, subtract(workers, one)), workers);
    SmallVector<Value> carried = forEach(
        constant(0), rounds, inits, [&](Value round, ValueRange values) {
          Value isOdd =
              equal(arith::AndIOp::create(rewriter, loc, round, one), one);
          Value place =
              select(isOdd, subtract(subtract(workers, one), worker), worker);
          Value tile = add(multiply(round, workers), place);
          return when(less(tile, whole), values, [&] {
            return visit(tile, constant(0), loop.getSteps(), constant(0),
                         values);
          });
        });
    return when(isCut, carried, [&] { return buildRange(carried); });
  }

  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(rewriter, loc, condition, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, a, b);
  }
  Value atLeast(Value a, int64_t b) {
    return arith::MaxSIOp::create(rewriter, loc, a, constant(b));
  }

  SmallVector<Value>
  forEach(Value from, Value to, ValueRange inits,
          function_ref<SmallVector<Value>(Value, ValueRange)> fn) {
    auto each = scf::ForOp::create(rewriter, loc, from, to, constant(1), inits);
    OpBuilder::InsertionGuard guard(rewriter);
    Block *block = each.getBody();
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      rewriter.eraseOp(&block->back());
    rewriter.setInsertionPointToEnd(block);
    SmallVector<Value> next =
        fn(each.getInductionVar(), each.getRegionIterArgs());
    scf::YieldOp::create(rewriter, loc, next);
    return SmallVector<Value>(each.getResults());
  }

  /// The results of `fn` under a condition, else those of `otherwise`.
  SmallVector<Value> choose(Value condition, TypeRange types,
                            function_ref<SmallVector<Value>()> fn,
                            function_ref<SmallVector<Value>()> otherwise) {
    auto branch =
        scf::IfOp::create(rewriter, loc, types, condition,
                          /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(rewriter, loc, fn());
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, otherwise());
    return SmallVector<Value>(branch.getResults());
  }

  /// The results of `fn` under a condition, else `others`.
  SmallVector<Value> when(Value condition, ValueRange others,
                          function_ref<SmallVector<Value>()> fn) {
    return choose(condition, others.getTypes(), fn,
                  [&] { return SmallVector<Value>(others); });
  }

  /// The groups of the lanes, by falling cost, and where their tiles stand.
  void countTiles() {
    Value lane = NVVM::LaneIdOp::create(rewriter, loc, i32);
    SmallVector<Value> none(3, constant(0));
    SmallVector<Value> extents = when(less(lane, loop.getGroups()), none,
                                      [&] { return getExtents(lane); });
    group = rankByCost(lane, extents[2]);
    m = pick(extents[0], group);
    n = pick(extents[1], group);
    cost = atLeast(pick(extents[2], group), 1);
    Value count = multiply(m, n);
    end = addUp(lane, count);
    begin = subtract(end, count);
    total = pick(end, constant(31));
    // One round and what does not fill another.
    Value rounds = divide(total, workers);
    start = multiply(atLeast(subtract(rounds, constant(1)), 0), workers);
    firstCut = arith::MaxSIOp::create(rewriter, loc, begin, start);
    Value cutTiles = atLeast(subtract(end, firstCut), 0);
    costOfCut = multiply(cutTiles, cost);
    costEnd = addUp(lane, costOfCut);
    costBegin = subtract(costEnd, costOfCut);
  }

  /// Of all tiles that may be cut. Read anew where it is needed: the warp that
  /// finds tiles has few registers.
  Value getAllCost() { return pick(costEnd, constant(31)); }

  /// True if ranges are worth what it takes to cut tiles.
  Value decide() {
    Value steps = loop.getSteps();
    Value tiles = subtract(total, start);
    Value mean = divide(getAllCost(), atLeast(tiles, 1));
    // Workers without a second tile, if nothing is cut.
    Value idle = subtract(add(workers, workers), tiles);
    SmallVector<Value> conditions{
        less(workers, tiles), less(constant(4 * kLeastSteps - 1), steps),
        less(steps, constant(kMostSteps + 1)),
        // A range is no less than a part, even of the dearest tile.
        less(multiply(pick(cost, constant(0)), constant(kLeastSteps)),
             multiply(mean, steps)),
        less(multiply(workers, constant(kCutCost)),
             multiply(multiply(idle, mean), steps))};
    Value all = conditions.front();
    for (Value condition : ArrayRef(conditions).drop_front())
      all = arith::AndIOp::create(rewriter, loc, all, condition);
    return all;
  }

  /// The tile in which range `number` begins, and how many of its last steps
  /// are those of the range before.
  std::pair<Value, Value> getBoundary(Value number) {
    Value steps = loop.getSteps();
    Value key = multiply(number, getAllCost());
    Value lane = findFirst(less(key, multiply(costEnd, workers)));
    Value isTile = less(lane, constant(32));
    Value within = subtract(key, multiply(pick(costBegin, lane), workers));
    Value tileCost = multiply(pick(cost, lane), workers);
    Value tiles = divide(within, tileCost);
    Value tile = add(pick(firstCut, lane), tiles);
    Value rest = subtract(within, multiply(tiles, tileCost));
    Value taken = divide(multiply(rest, steps), tileCost);
    Value zero = constant(0), least = constant(kLeastSteps);
    taken = select(less(taken, least), zero, taken);
    Value isRest = less(subtract(steps, taken), least);
    tile = select(isRest, add(tile, constant(1)), tile);
    taken = select(isRest, zero, taken);
    return {select(isTile, tile, total), select(isTile, taken, zero)};
  }

  SmallVector<Value> buildRange(ValueRange inits) {
    Value steps = loop.getSteps(), zero = constant(0), one = constant(1);
    Value number = subtract(subtract(workers, one), worker);
    auto [first, before] = getBoundary(number);
    auto [last, after] = getBoundary(add(number, one));
    return forEach(first, add(last, one), inits,
                   [&](Value tile, ValueRange values) {
                     Value low = select(equal(tile, first), before, zero);
                     Value high = select(equal(tile, last), after, steps);
                     return when(less(low, high), values, [&] {
                       return visit(tile, subtract(steps, high),
                                    subtract(steps, low), zero, values);
                     });
                   });
  }

  SmallVector<Value> visit(Value tile, Value from, Value to, Value before,
                           ValueRange values) {
    Value lane = findFirst(less(tile, end));
    auto [i, j] = locate(subtract(tile, pick(begin, lane)),
                         atLeast(pick(m, lane), 1), atLeast(pick(n, lane), 1));
    return body({pick(group, lane), i, j, from, to, before}, values);
  }

  TileFn body;
  /// Of this lane's group: which it is, its tiles, what one of them costs,
  /// where they begin and end; the first of those that may be cut, and where
  /// those begin and end in cost.
  Value group, m, n, cost, begin, end, firstCut, costOfCut, costBegin, costEnd;
  /// All tiles, and the first that may be cut.
  Value total, start;
};
} // namespace

SmallVector<Value>
nvfp4::warpspec::lowerCutTiles(RewriterBase &rewriter, ForEachTileOp loop,
                               int64_t cluster, ValueRange inits, TileFn body) {
  return CutTiles(rewriter, loop, cluster).build(inits, body);
}
