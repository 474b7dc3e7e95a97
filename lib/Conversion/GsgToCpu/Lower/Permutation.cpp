//===- Permutation.cpp - sort_tokens, permute and combine -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data movement of a Mixture-of-Experts layer as loops over memrefs. Each
// output element is computed by one thread in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

namespace {
using Predicate = arith::CmpIPredicate;

/// Replaces an operation on memrefs by the loops that `lower` emits.
template <typename OpTy> struct LowerToLoops : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const final {
    if (op->getNumResults())
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder b(rewriter, op.getLoc());
    lower(op, b);
    rewriter.eraseOp(op);
    return success();
  }

  virtual void lower(OpTy op, LoopBuilder &b) const = 0;
};

/// A stable counting sort by expert. Entries outside [0, E) and rows beyond
/// the buffer take part in nothing.
struct LowerSortTokens : LowerToLoops<SortTokensOp> {
  using LowerToLoops::LowerToLoops;

  void lower(SortTokensOp op, LoopBuilder &b) const override {
    Value experts = op.getExperts(), ends = op.getEndsOut();
    Value tokenOfRow = op.getTokenOfRowOut(), rowOfSlot = op.getRowOfSlotOut();
    Value numTokens = b.dim(experts, 0), numSlots = b.dim(experts, 1);
    Value numExperts = b.dim(ends, 0), numRows = b.dim(tokenOfRow, 0);
    Value none = b.constant(b.i32, -1), zero = b.constant(b.i32, 0);

    auto isExpert = [&](Value expert) -> Value {
      return b.cmp(Predicate::ult, b.toIndex(expert), numExperts);
    };
    b.loop(numRows, [&](Value r) { b.store(none, tokenOfRow, {r}); });

    // Counts, then the first row of each expert.
    b.loop(numExperts, [&](Value e) { b.store(zero, ends, {e}); });
    b.loop(numTokens, [&](Value t) {
      b.loop(numSlots, [&](Value s) {
        Value expert = b.load(experts, {t, s});
        b.ifThen(isExpert(expert), [&] {
          Value e = b.toIndex(expert);
          Value count = b.load(ends, {e});
          b.store(b.add(count, 1), ends, {e});
        });
      });
    });
    Value align = b.constant(b.i32, static_cast<int32_t>(op.getAlign()));
    b.fold(numExperts, {zero}, [&](Value e, ValueRange carried) {
      Value units =
          arith::CeilDivUIOp::create(b.builder, b.loc, carried[0], align);
      Value start = b.mul(units, align);
      Value end = b.add(start, b.load(ends, {e}));
      b.store(start, ends, {e});
      return SmallVector<Value>{end};
    });

    // Placing a pair moves the start of its expert; what remains are the ends.
    b.loop(numTokens, [&](Value t) {
      b.loop(numSlots, [&](Value s) {
        b.store(none, rowOfSlot, {t, s});
        Value expert = b.load(experts, {t, s});
        b.ifThen(isExpert(expert), [&] {
          Value e = b.toIndex(expert);
          Value row = b.load(ends, {e});
          b.store(b.add(row, 1), ends, {e});
          Value r = b.toIndex(row);
          b.ifThen(b.cmp(Predicate::ult, r, numRows), [&] {
            b.store(b.toI32(t), tokenOfRow, {r});
            b.store(row, rowOfSlot, {t, s});
          });
        });
      });
    });
  }
};

struct LowerPermute : LowerToLoops<PermuteOp> {
  using LowerToLoops::LowerToLoops;

  void lower(PermuteOp op, LoopBuilder &b) const override {
    Value input = op.getInput(), out = op.getOut();
    Value numTokens = b.dim(input, 0), numColumns = b.dim(out, 1);
    Type element = cast<MemRefType>(out.getType()).getElementType();
    Value zero = arith::ConstantOp::create(
        b.builder, b.loc, cast<TypedAttr>(b.builder.getZeroAttr(element)));
    b.parallel(b.dim(out, 0), [&](Value r) {
      Value token = b.toIndex(b.load(op.getTokenOfRow(), {r}));
      b.ifThenElse(
          b.cmp(Predicate::ult, token, numTokens),
          [&] {
            b.loop(numColumns, [&](Value c) {
              b.store(b.load(input, {token, c}), out, {r, c});
            });
          },
          [&] {
            b.loop(numColumns, [&](Value c) { b.store(zero, out, {r, c}); });
          });
    });
  }
};

struct LowerCombine : LowerToLoops<CombineOp> {
  using LowerToLoops::LowerToLoops;

  void lower(CombineOp op, LoopBuilder &b) const override {
    Value input = op.getInput(), out = op.getOut();
    Value rows = op.getRowOfSlot();
    Value numRows = b.dim(input, 0), numSlots = b.dim(rows, 1);
    Value numColumns = b.dim(out, 1);
    Type element = cast<MemRefType>(out.getType()).getElementType();
    b.parallel(b.dim(out, 0), [&](Value t) {
      b.loop(numColumns, [&](Value c) {
        Value none = b.constantF32(b.f32, 0.0f);
        Value sum = b.fold(numSlots, {none}, [&](Value s, ValueRange carried) {
          Value row = b.toIndex(b.load(rows, {t, s}));
          Value next = b.branch(
              b.cmp(Predicate::ult, row, numRows),
              [&]() -> Value {
                Value value = b.toF32(b.load(input, {row, c}));
                Value weight = op.getWeights() ? b.load(op.getWeights(), {t, s})
                                               : b.constantF32(b.f32, 1.0f);
                return math::FmaOp::create(b.builder, b.loc, weight, value,
                                           carried[0]);
              },
              [&] { return carried[0]; });
          return SmallVector<Value>{next};
        })[0];
        b.store(b.fromF32(sum, element), out, {t, c});
      });
    });
  }
};
} // namespace

void nvfp4::gsg::cpu::populatePermutationToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerSortTokens, LowerPermute, LowerCombine>(
      patterns.getContext());
}
