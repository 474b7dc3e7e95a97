//===- SumRows.cpp - sum_rows as a kernel -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has some columns of a group: four neighbouring threads have vectors
// of a row, and the block has 32 rows at once. Sums meet in an order that
// depends on nothing but the number of rows.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgToLoops/RowGroups.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

static constexpr int64_t kWarp = 32, kWarps = 4;
/// Threads that share a row, and rows of a warp.
static constexpr int64_t kShare = 4, kRows = kWarp / kShare;
/// Rows that a thread loads before it adds the first one.
static constexpr int64_t kAhead = 4;

namespace {
/// The code of one launch.
struct SumRowsEmitter {
  LoopBuilder &b;
  MemRefParts input, prob, out;
  RowGroups groups;
  int64_t lanes;

  SumRowsEmitter(LoopBuilder &b, SumRowsOp op, Operation *checked)
      : b(b), input(MemRefParts::get(b, op.getInput())),
        out(MemRefParts::get(b, op.getOut())),
        groups(b, input, op.getGrouping().value_or(GroupingAttr()),
               op.getGroups(), checked),
        lanes(countLanesOf(input)) {
    if (op.getProb())
      prob = MemRefParts::getColumn(b, op.getProb());
  }

  void emit() {
    constexpr int64_t perBlock = kWarps * kShare * 8;
    Value columns = input.columns(b);
    int64_t width = kShare * lanes;
    Value pieces = b.div(b.add(columns, width - 1), width);
    Value blocks = b.toIndex(b.mul(groups.getCount(), pieces));
    launchBlocks(
        b, "sum_rows", blocks, kWarps * kWarp, {perBlock},
        [&](const BlockCode &code) {
          Value block = b.toI64(code.block);
          Value group = b.div(block, pieces);
          Value first = b.mul(b.rem(block, pieces), width);
          emitBlock(group, first, columns, b.toI64(code.thread),
                    code.shared.front());
        },
        b.f64);
    groups.free();
  }

private:
  /// Elements of a vector of 16 bytes that makes up whole rows, or 1.
  static int64_t countLanesOf(const MemRefParts &parts) {
    if (!parts.isContiguous)
      return 1;
    int64_t bytes = parts.rowAlignment;
    std::optional<int64_t> columns = getConstantIntValue(parts.sizes.back());
    if (!columns)
      return 1;
    return std::max<int64_t>(1, std::gcd(bytes / parts.elementBytes, *columns));
  }

  /// The sums of `lanes` columns over every `kRows * kWarps`-th row of a group
  /// from `row` to `end`, vector<lanes x f64>.
  Value emitRows(Value row, Value end, Value column) {
    Value zero = b.widen(b.constantF32(VectorType::get(lanes, b.f32), 0.0f));
    constexpr int64_t step = kRows * kWarps;
    Value whole = b.sub(end, b.i64Constant(step * (kAhead - 1)));
    Value sums = zero;
    Value next = row;
    // Loads of a turn do not wait for one another.
    auto loop = [&](Value to, int64_t ahead) {
      SmallVector<Value> carried{sums, next};
      auto turns = scf::WhileOp::create(
          b.builder, b.loc, TypeRange{zero.getType(), b.i64}, carried,
          [&](OpBuilder &, Location, ValueRange values) {
            scf::ConditionOp::create(
                b.builder, b.loc, b.cmp(Predicate::slt, values[1], to), values);
          },
          [&](OpBuilder &, Location, ValueRange values) {
            SmallVector<Value> terms;
            for (int64_t i = 0; i < ahead; ++i)
              terms.push_back(load(b.add(values[1], step * i), column));
            Value sum = values[0];
            for (Value term : terms)
              sum = b.addF(sum, term);
            scf::YieldOp::create(
                b.builder, b.loc,
                ValueRange{sum, b.add(values[1], step * ahead)});
          });
      sums = turns.getResult(0);
      next = turns.getResult(1);
    };
    loop(whole, kAhead);
    loop(end, 1);
    return sums;
  }

  Value load(Value row, Value column) {
    Value line = input.rowAddress(b, row);
    Value inLine = b.mul(column, input.strides.back());
    Value address = b.ptrAdd(line, b.mul(inLine, input.elementBytes));
    Value x =
        b.widen(emitLoadReals(b, input.element, address, lanes,
                              /*mask=*/Value(), lanes * input.elementBytes));
    if (!prob.address)
      return x;
    Value p = b.load(b.f32, prob.rowAddress(b, row), /*bytes=*/0,
                     /*alignment=*/4);
    return b.mulF(x, b.spread(b.widen(p), x));
  }

  void emitBlock(Value group, Value first, Value columns, Value thread,
                 Value shared) {
    if (groups.checksCounts())
      b.ifThen(b.cmp(Predicate::eq, b.bitOr(first, thread), 0),
               [&] { groups.checkCount(group); });
    Value inRow = b.rem(thread, kShare);
    Value column = b.add(first, b.mul(inRow, lanes));
    Value begin = groups.begin(group);
    Value end = b.add(begin, groups.size(group));
    Value row = b.add(begin, b.div(thread, kShare));
    Value sums = b.branch(
        b.cmp(Predicate::slt, column, columns),
        [&] { return emitRows(row, end, column); },
        [&] {
          return b.widen(b.constantF32(VectorType::get(lanes, b.f32), 0.0f));
        });
    Value warp = b.div(thread, kWarp);
    Value isFirst = b.cmp(Predicate::slt, b.rem(thread, kWarp), kShare);
    for (int64_t i = 0; i < lanes; ++i) {
      Value sum = vector::ExtractOp::create(b.builder, b.loc, sums, i);
      sum = addOverWarp(b, sum, kShare);
      // [warp, column of the block]
      Value ofWarp = b.mul(warp, kShare * lanes);
      Value place = b.add(ofWarp, b.add(b.mul(inRow, lanes), i));
      b.ifThen(isFirst, [&] { b.store(sum, shared, {b.toIndex(place)}); });
    }
    gpu::BarrierOp::create(b.builder, b.loc);
    Value mine = b.add(first, thread);
    Value isSum = b.cmp(Predicate::slt, thread, kShare * lanes);
    Value has = b.bitAnd(isSum, b.cmp(Predicate::slt, mine, columns));
    b.ifThen(has, [&] {
      auto sumOf = [&](int64_t warp) {
        return b.load(shared,
                      {b.toIndex(b.add(thread, warp * kShare * lanes))});
      };
      Value total = sumOf(0);
      for (int64_t w = 1; w < kWarps; ++w)
        total = b.addF(total, sumOf(w));
      Value line = out.rowAddress(b, group);
      Value inLine = b.mul(mine, out.strides.back());
      Value address = b.ptrAdd(line, b.mul(inLine, out.elementBytes));
      b.store(b.narrow(total), address, /*bytes=*/0, /*alignment=*/4);
    });
  }
};

struct LowerSumRows : LowerToLaunch<SumRowsOp> {
  using LowerToLaunch::LowerToLaunch;
  void lower(SumRowsOp op, LoopBuilder &b) const override {
    SumRowsEmitter(b, op, getChecked(op)).emit();
  }
};
} // namespace

void togpu::populateSumRowsPatterns(RewritePatternSet &patterns,
                                    bool checksData) {
  patterns.add<LowerSumRows>(patterns.getContext(), checksData);
}
