//===- Glu.cpp - glu and hadamard -------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on the rows of a real tensor, sixteen columns at a time. Columns
// of pairs whose runs divide sixteen are split by a shuffle of 32 neighbours;
// longer runs are read where they start.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

namespace {
constexpr int64_t kLanes = 16;

/// Calls `body(row)` for all rows of a tensor, in parallel.
void forRows(LoopBuilder &mb, const MemRefParts &parts,
             function_ref<void(Value)> body) {
  mb.parallel(mb.toIndex(parts.rows(mb)),
              [&](Value row) { body(mb.toI64(row)); });
}

/// One row of a tensor, by column.
struct Row {
  MathBuilder &mb;
  const MemRefParts &parts;
  Value base;

  Value at(Value column) {
    Value offset = mb.mul(column, parts.strides.empty() ? mb.i64Constant(1)
                                                        : parts.strides.back());
    return mb.ptrAdd(base, mb.mul(offset, parts.elementBytes));
  }
  Value load(Value column, int64_t lanes) {
    if (lanes == 1 || parts.isContiguous)
      return emitLoadReals(mb, parts.element, at(column), lanes);
    Value values = mb.constantF32(VectorType::get(lanes, mb.f32), 0.0f);
    for (int64_t i = 0; i < lanes; ++i)
      values = LLVM::InsertElementOp::create(
          mb.builder, mb.loc, values,
          lane(load(mb.add(column, i), /*lanes=*/1), 0), mb.i64Constant(i));
    return values;
  }
  void store(Value values, Value column) {
    int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
    if (lanes == 1 || parts.isContiguous)
      return emitStoreReals(mb, parts.element, values, at(column));
    for (int64_t i = 0; i < lanes; ++i)
      store(mb.splat(lane(values, i), 1), mb.add(column, i));
  }

private:
  Value lane(Value vector, int64_t i) {
    return LLVM::ExtractElementOp::create(mb.builder, mb.loc, vector,
                                          mb.i64Constant(i));
  }
};

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

private:
  static bool hasVectorRuns(ActivationAttr activation) {
    if (!activation.isPaired())
      return true;
    int64_t run = activation.getGate().getGranularity();
    return run % kLanes == 0 || kLanes % run == 0;
  }

  /// {z} or {gate, up} of output columns c .. c + lanes.
  static SmallVector<Value> loadArguments(MathBuilder &mb,
                                          ActivationAttr activation,
                                          Value columns, Row &in, Value c,
                                          int64_t lanes) {
    if (!activation.isPaired())
      return {in.load(c, lanes)};
    GateAttr gate = activation.getGate();
    int64_t run = gate.getGranularity();
    Value first, second;
    if (run > 0 && run < kLanes && lanes == kLanes) {
      Value low = in.load(mb.shl(c, 1), lanes);
      Value high = in.load(mb.add(mb.shl(c, 1), lanes), lanes);
      SmallVector<int64_t> firsts, seconds;
      for (int64_t i = 0; i < lanes; ++i) {
        firsts.push_back(i / run * 2 * run + i % run);
        seconds.push_back(firsts.back() + run);
      }
      first = mb.shuffle(low, high, firsts);
      second = mb.shuffle(low, high, seconds);
    } else {
      Value q = run > 0 ? mb.i64Constant(run) : columns;
      Value base = c;
      if (run > 0)
        base = mb.add(mb.mul(mb.div(c, run), 2 * run), mb.rem(c, run));
      first = in.load(base, lanes);
      second = in.load(mb.add(base, q), lanes);
    }
    if (gate.getOrder() == GateOrder::UpFirst)
      std::swap(first, second);
    return {first, second};
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
        to.store(transform(mb, op, in.load(c, kLanes)), c);
      });
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value transform(MathBuilder &mb, HadamardOp op, Value x) {
    auto mask = static_cast<uint32_t>(op.getSignMask());
    SmallVector<int32_t> signs;
    for (int64_t i = 0; i < kLanes; ++i)
      signs.push_back((mask >> i & 1) != 0 ? INT32_MIN : 0);
    Value signBits = arith::ConstantOp::create(
        mb.builder, mb.loc,
        DenseElementsAttr::get(VectorType::get(kLanes, mb.i32),
                               ArrayRef(signs)));
    x = mb.fromBits(mb.bitXor(mb.toBits(x), signBits));
    for (int64_t distance = 1; distance < kLanes; distance *= 2) {
      SmallVector<int64_t> partners, merge;
      for (int64_t i = 0; i < kLanes; ++i) {
        partners.push_back(i ^ distance);
        merge.push_back((i & distance) != 0 ? kLanes + i : i);
      }
      Value partner = mb.shuffle(x, x, partners);
      x = mb.shuffle(mb.addF(x, partner), mb.subF(partner, x), merge);
    }
    return op.getNormalized() ? mb.mulF(x, 0.25) : x;
  }
};
} // namespace

void nvfp4::gsg::cpu::populateActivationToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerGlu, LowerHadamard>(patterns.getContext());
}
