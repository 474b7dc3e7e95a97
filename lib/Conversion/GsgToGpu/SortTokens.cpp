//===- SortTokens.cpp - sort_tokens as a kernel -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stable counting sort. For few entries in one launch: the block of an expert
// counts the entries of all, which tells where its rows start, and places its
// own; each thread has some neighbours among the entries, in their order. A row
// is written by one block: gaps by that of the expert before.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/KernelTarget/LaunchCosts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

namespace {
constexpr int64_t kThreads = 256;

/// The code of one block.
struct SortBlock {
  LoopBuilder &b;
  SortTokensOp op;
  /// The numbers of the block and of the thread.
  Value expert, thread;
  /// In shared memory: entries of each expert, and of each thread those of the
  /// block's expert.
  Value counts, own;
  /// All entries, as one row.
  Value entries, rowOfSlot, numEntries, numExperts;
  const loops::DataChecks &checks;

  void build() {
    clear();
    gpu::BarrierOp::create(b.builder, b.loc);
    count();
    gpu::BarrierOp::create(b.builder, b.loc);
    Value start = getStart();
    Value end = b.add(start, b.load(counts, {expert}));
    Value isFirst = b.cmp(Predicate::eq, thread, b.index(0));
    b.ifThen(isFirst, [&] { b.store(end, op.getEndsOut(), {expert}); });
    place(b.add(start, getRank()));
    fillGap(end);
  }

private:
  Value least(Value x, Value y) {
    return arith::MinUIOp::create(b.builder, b.loc, x, y);
  }
  /// The thread's turns of `body`, from `from` on.
  void share(Value from, Value to, function_ref<void(Value)> body) {
    forRange(b, b.add(from, thread), to, b.index(kThreads), body);
  }
  /// The thread's neighbours among the entries, with carried values.
  SmallVector<Value>
  forOwn(ValueRange init,
         function_ref<SmallVector<Value>(Value at, ValueRange carried)> body) {
    Value length = arith::CeilDivUIOp::create(b.builder, b.loc, numEntries,
                                              b.index(kThreads));
    Value from = b.mul(thread, length);
    auto loop = scf::ForOp::create(b.builder, b.loc, least(from, numEntries),
                                   least(b.add(from, length), numEntries),
                                   b.index(1), init);
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b.builder, b.loc,
        body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  }
  Value loadEntry(Value at) { return b.toIndex(b.load(entries, {at})); }
  Value isExpert(Value entry) {
    return b.cmp(Predicate::ult, entry, numExperts);
  }
  /// Whether an entry that names no expert is none of -1.
  Value isBad(Value entry) { return b.cmp(Predicate::ne, entry, b.index(-1)); }
  Value isOwn(Value entry) { return b.cmp(Predicate::eq, entry, expert); }
  Value i32(int32_t value) { return b.constant(b.i32, value); }
  Value roundUp(Value row) {
    if (op.getAlign() == 1)
      return row;
    Value align = i32(static_cast<int32_t>(op.getAlign()));
    return b.mul(arith::CeilDivUIOp::create(b.builder, b.loc, row, align),
                 align);
  }

  void clear() {
    share(b.index(0), numExperts,
          [&](Value e) { b.store(i32(0), counts, {e}); });
  }

  void count() {
    share(b.index(0), numEntries, [&](Value at) {
      Value entry = loadEntry(at);
      b.ifThen(isExpert(entry), [&] {
        memref::AtomicRMWOp::create(b.builder, b.loc,
                                    arith::AtomicRMWKind::addi, i32(1), counts,
                                    ValueRange{entry});
      });
    });
    Value mine = forOwn(i32(0), [&](Value at, ValueRange carried) {
      Value one =
          arith::ExtUIOp::create(b.builder, b.loc, b.i32, isOwn(loadEntry(at)));
      return SmallVector<Value>{b.add(carried[0], one)};
    })[0];
    b.store(mine, own, {thread});
  }

  /// The first row of the block's expert.
  Value getStart() {
    Value end = b.fold(expert, {i32(0)}, [&](Value e, ValueRange carried) {
      return SmallVector<Value>{
          b.add(roundUp(carried[0]), b.load(counts, {e}))};
    })[0];
    return roundUp(end);
  }

  /// How many of the expert's entries come before the thread's.
  Value getRank() {
    return b.fold(thread, {i32(0)}, [&](Value t, ValueRange carried) {
      return SmallVector<Value>{b.add(carried[0], b.load(own, {t}))};
    })[0];
  }

  void place(Value first) {
    Value tokenOfRow = op.getTokenOfRowOut();
    Value numRows = b.dim(tokenOfRow, 0);
    Value numSlots = b.dim(op.getExperts(), 1);
    Value hasStrays = b.cmp(Predicate::eq, expert, b.index(0));
    // The last bad entry is reported after the loop, whose turns stay short.
    SmallVector<Value> init{first};
    if (checks)
      init.push_back(b.index(-1));
    SmallVector<Value> found = forOwn(init, [&](Value at, ValueRange carried) {
      Value entry = loadEntry(at), row = carried[0];
      Value isStray = arith::AndIOp::create(b.builder, b.loc, hasStrays,
                                            b.logicalNot(isExpert(entry)));
      SmallVector<Value> next(carried);
      if (checks)
        next[1] = b.branch(
            isStray,
            [&] {
              b.store(i32(-1), rowOfSlot, {at});
              return b.select(isBad(entry), at, carried[1]);
            },
            [&] { return carried[1]; });
      else
        b.ifThen(isStray, [&] { b.store(i32(-1), rowOfSlot, {at}); });
      auto placeOne = [&]() -> Value {
        Value r = b.toIndex(row);
        Value isRow = b.cmp(Predicate::ult, r, numRows);
        Value stored =
            arith::SelectOp::create(b.builder, b.loc, isRow, row, i32(-1));
        b.store(stored, rowOfSlot, {at});
        b.ifThen(isRow, [&] {
          Value token = arith::DivUIOp::create(b.builder, b.loc, at, numSlots);
          b.store(b.toI32(token), tokenOfRow, {r});
        });
        return b.add(row, 1);
      };
      next[0] = b.branch(isOwn(entry), placeOne, [&] { return row; });
      return next;
    });
    if (!checks)
      return;
    Value at = found[1], hasBad = b.cmp(Predicate::ne, at, b.index(-1));
    b.ifThen(hasBad,
             [&] { reportStray(b, op, at, loadEntry(at), hasBad, checks); });
  }

  /// No token has the rows between this expert's and the next one's.
  void fillGap(Value end) {
    Value tokenOfRow = op.getTokenOfRowOut();
    Value numRows = b.dim(tokenOfRow, 0);
    Value last =
        arith::SubIOp::create(b.builder, b.loc, numExperts, b.index(1));
    Value isLast = b.cmp(Predicate::eq, expert, last);
    Value start = least(b.toIndex(roundUp(end)), numRows);
    Value next =
        arith::SelectOp::create(b.builder, b.loc, isLast, numRows, start);
    share(b.toIndex(end), next,
          [&](Value r) { b.store(i32(-1), tokenOfRow, {r}); });
  }
};

struct LowerSortTokens : OpRewritePattern<SortTokensOp> {
  LowerSortTokens(MLIRContext *context, bool checksData)
      : OpRewritePattern(context), checksData(checksData) {}

  LogicalResult matchAndRewrite(SortTokensOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getEndsOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    LoopBuilder b(rewriter, getLaunchLoc(op));
    auto flatten = [&](Value matrix) -> Value {
      return memref::CollapseShapeOp::create(
          rewriter, b.loc, matrix, SmallVector<ReassociationIndices>{{0, 1}});
    };
    Value entries = flatten(op.getExperts());
    Value rowOfSlot = flatten(op.getRowOfSlotOut());
    loops::DataChecks checks;
    if (checksData)
      checks =
          loops::DataChecks(rewriter, op,
                            loops::DataChecks::getIndex(
                                getContext(), "sort_tokens_c6", "experts"));
    b.ifThenElse(
        b.cmp(Predicate::ule, b.dim(entries, 0),
              b.index(strategy::TokenMoves::kFewEntries)),
        [&] { launchFew(b, op, entries, rowOfSlot, checks); },
        [&] { launchManyTokens(b, op, entries, rowOfSlot, checks); });
    rewriter.eraseOp(op);
    return success();
  }

private:
  const bool checksData;

  static void launchFew(LoopBuilder &b, SortTokensOp op, Value entries,
                        Value rowOfSlot, const loops::DataChecks &checks) {
    Value experts = b.dim(op.getEndsOut(), 0);
    auto ends = cast<MemRefType>(op.getEndsOut().getType());
    launchBlocks(b, "sort_tokens", experts, kThreads,
                 {ends.getDimSize(0), kThreads}, [&](const BlockCode &code) {
                   SortBlock{b,
                             op,
                             code.block,
                             code.thread,
                             code.shared[0],
                             code.shared[1],
                             entries,
                             rowOfSlot,
                             b.dim(entries, 0),
                             experts,
                             checks}
                       .build();
                 });
  }
};
} // namespace

void togpu::reportStray(LoopBuilder &b, SortTokensOp op, Value at, Value entry,
                        Value isBad, const loops::DataChecks &checks) {
  Value slots = b.toI64(b.dim(op.getExperts(), 1)), number = b.toI64(at);
  loops::DataChecks::Finding finding;
  finding.row = b.div(number, slots);
  finding.column = b.rem(number, slots);
  finding.seen = b.toI64(entry);
  finding.limit = b.toI64(b.dim(op.getEndsOut(), 0));
  checks.report(b, 0, isBad, finding);
}

void togpu::populateSortTokensPatterns(RewritePatternSet &patterns,
                                       bool checksData) {
  patterns.add<LowerSortTokens>(patterns.getContext(), checksData);
}
