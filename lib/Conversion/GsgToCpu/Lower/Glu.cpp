//===- Glu.cpp - glu and hadamard -------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on the rows of a real tensor, sixteen columns at a time.
//
//===----------------------------------------------------------------------===//

#include "RealRows.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/RowGroups.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

namespace {
struct LowerGlu : OpRewritePattern<GluOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GluOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    ActivationAttr activation = op.getActivation();
    if (activation.getKind() == ActivationKind::Custom)
      return rewriter.notifyMatchFailure(op, "has no region");
    LoopBuilder mb(rewriter, op.getLoc());
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    ActivationParams params =
        emitActivationParams(mb.builder, mb.loc, activation);
    Value columns = out.columns(mb);
    bool vectors =
        input.isContiguous && out.isContiguous && hasVectorRuns(activation);
    Value blocks = vectors ? mb.div(columns, kLanes) : mb.i64Constant(0);
    forRows(mb, out, [&](Value row) {
      Row in{mb, input, input.rowAddress(mb, row)};
      Row to{mb, out, out.rowAddress(mb, row)};
      auto activate = [&](Value c, int64_t lanes) {
        SmallVector<Value> z =
            loadArguments(mb, activation, columns, in, c, lanes);
        to.store(emitActivation(mb.builder, mb.loc, activation, params, z), c);
      };
      if (vectors)
        mb.forLoop(mb.i64Constant(0), mb.mul(blocks, kLanes), kLanes,
                   [&](Value c) { activate(c, kLanes); });
      mb.forLoop(mb.mul(blocks, kLanes), columns, 1,
                 [&](Value c) { activate(c, 1); });
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerGluBackward : OpRewritePattern<GluBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GluBackwardOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder mb(rewriter, op.getLoc());
    ActivationAttr activation = op.getActivation();
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts gradient = MemRefParts::get(mb, op.getGradient());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    std::optional<MemRefParts> prob = getColumn(mb, op.getProb());
    std::optional<MemRefParts> ofProb = getColumn(mb, op.getProbOut());
    ActivationParams params =
        emitActivationParams(mb.builder, mb.loc, activation);
    Value columns = gradient.columns(mb);
    bool vectors = input.isContiguous && gradient.isContiguous &&
                   out.isContiguous && hasVectorRuns(activation);
    Value end =
        vectors ? mb.mul(mb.div(columns, kLanes), kLanes) : mb.i64Constant(0);
    std::optional<RowGroups> groups;
    if (op.getGroups())
      groups.emplace(mb, input, *op.getGrouping(), op.getGroups());
    auto lowerRow = [&](Value row) {
      Row in{mb, input, input.rowAddress(mb, row)};
      Row dy{mb, gradient, gradient.rowAddress(mb, row)};
      Row to{mb, out, out.rowAddress(mb, row)};
      Value factor;
      if (prob)
        factor = mb.load(mb.f32, prob->rowAddress(mb, row));
      // Adds the terms of the gradient of the factor, in f64, to `sums`.
      auto compute = [&](Value c, int64_t lanes,
                         ValueRange sums) -> SmallVector<Value> {
        SmallVector<Value> z =
            loadArguments(mb, activation, columns, in, c, lanes);
        Value d = dy.load(c, lanes);
        Value t = factor ? mb.mulF(d, mb.spread(factor, d)) : d;
        storeArguments(mb, activation, columns, to,
                       emitActivationGradient(mb.builder, mb.loc, activation,
                                              params, z, t),
                       c);
        if (sums.empty())
          return {};
        Value y = emitActivation(mb.builder, mb.loc, activation, params, z);
        Value terms = mb.mulF(mb.widen(d), mb.widen(y));
        return {mb.addF(sums.front(), terms)};
      };
      Value total = mb.widen(mb.constantF32(mb.f32, 0.0f));
      auto run = [&](Value from, Value to, int64_t lanes) {
        SmallVector<Value> zeros;
        if (ofProb)
          zeros.push_back(
              mb.widen(mb.constantF32(VectorType::get(lanes, mb.f32), 0.0f)));
        SmallVector<Value> sums = mb.forLoop(
            from, to, lanes, zeros, [&](Value c, ValueRange carried) {
              return compute(c, lanes, carried);
            });
        if (ofProb)
          total = addLanes(mb, sums.front(), total);
      };
      run(mb.i64Constant(0), end, kLanes);
      run(end, columns, 1);
      if (ofProb)
        mb.store(mb.narrow(total), ofProb->rowAddress(mb, row));
    };
    forRows(mb, gradient, [&](Value row) {
      if (groups)
        mb.ifThen(groups->contains(row), [&] { lowerRow(row); });
      else
        lowerRow(row);
    });
    if (groups)
      groups->free();
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// `sum` and all lanes, from the first on.
  static Value addLanes(MathBuilder &mb, Value vector, Value sum) {
    int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
    for (int64_t i = 0; i < lanes; ++i)
      sum = mb.addF(sum, LLVM::ExtractElementOp::create(
                             mb.builder, mb.loc, vector, mb.i64Constant(i)));
    return sum;
  }
};

struct LowerHadamard : OpRewritePattern<HadamardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(HadamardOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder mb(rewriter, op.getLoc());
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    Value end = mb.mul(mb.div(out.columns(mb), kLanes), kLanes);
    forRows(mb, out, [&](Value row) {
      Row in{mb, input, input.rowAddress(mb, row)};
      Row to{mb, out, out.rowAddress(mb, row)};
      mb.forLoop(mb.i64Constant(0), end, kLanes, [&](Value c) {
        to.store(emitHadamard(mb, in.load(c, kLanes), op.getNormalized(),
                              op.getSignMask()),
                 c);
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::gsg::cpu::populateActivationToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerGlu, LowerGluBackward, LowerHadamard>(
      patterns.getContext());
}
