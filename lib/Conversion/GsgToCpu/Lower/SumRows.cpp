//===- SumRows.cpp - sum_rows -----------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has some columns of a group and goes through its rows in order.
//
//===----------------------------------------------------------------------===//

#include "RealRows.h"

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/RowGroups.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;

namespace {
struct LowerSumRows : OpRewritePattern<SumRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  /// A cache line of bf16.
  static constexpr int64_t kColumns = 32;

  LogicalResult matchAndRewrite(SumRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder mb(rewriter, op.getLoc());
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    std::optional<MemRefParts> prob = getColumn(mb, op.getProb());
    RowGroups groups(mb, input, op.getGrouping().value_or(GroupingAttr()),
                     op.getGroups());
    Value columns = input.columns(mb);
    Value pieces = mb.div(mb.add(columns, kColumns - 1), kColumns);
    Value tasks = mb.mul(groups.getCount(), pieces);
    mb.parallel(mb.toIndex(tasks), [&](Value index) {
      Value task = mb.toI64(index);
      Value group = mb.div(task, pieces);
      Value first = mb.mul(mb.rem(task, pieces), kColumns);
      Value begin = groups.begin(group);
      Value end = mb.add(begin, groups.size(group));
      auto sum = [&](Value column, int64_t lanes) {
        Value zero =
            mb.widen(mb.constantF32(VectorType::get(lanes, mb.f32), 0.0f));
        Value total =
            mb.forLoop(begin, end, 1, zero, [&](Value row, ValueRange sums) {
              Row in{mb, input, input.rowAddress(mb, row)};
              Value x = mb.widen(in.load(column, lanes));
              if (prob) {
                Value p = mb.load(mb.f32, prob->rowAddress(mb, row));
                x = mb.mulF(x, mb.spread(mb.widen(p), x));
              }
              return SmallVector<Value>{mb.addF(sums.front(), x)};
            })[0];
        Row to{mb, out, out.rowAddress(mb, group)};
        to.store(mb.narrow(total), column);
      };
      Value last = mb.add(first, kColumns);
      mb.ifThenElse(
          mb.cmp(arith::CmpIPredicate::sle, last, columns),
          [&] { sum(first, kColumns); },
          [&] { mb.forLoop(first, columns, 1, [&](Value c) { sum(c, 1); }); });
    });
    groups.free();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::gsg::cpu::populateSumRowsToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerSumRows>(patterns.getContext());
}
