//===- Route.cpp - choice of experts ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `route`, one token a thread.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/RoutingKeys.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

namespace {
constexpr int64_t kLanes = 16;

/// A matrix of i32 for intermediate results, one row a token.
struct KeyRows {
  Value memref, address, columns;

  static KeyRows allocate(LoopBuilder &mb, Value rows, Value columns) {
    auto type =
        MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic}, mb.i32);
    Value memref = memref::AllocOp::create(
        mb.builder, mb.loc, type,
        ValueRange{mb.toIndex(rows), mb.toIndex(columns)});
    return {memref, MemRefParts::get(mb, memref).address, columns};
  }
  Value row(MathBuilder &mb, Value token) const {
    return mb.ptrAdd(address, mb.shl(mb.mul(token, columns), 2));
  }
};

Value keyAddress(MathBuilder &mb, Value keys, Value index) {
  return mb.ptrAdd(keys, mb.shl(index, 2));
}

/// The largest key of `count`, the first of equal ones: {key, index}; index is
/// -1 if all are taken.
SmallVector<Value> largestKey(MathBuilder &mb, Value keys, Value count) {
  SmallVector<Value> none{mb.constant(mb.i32, kTakenKey), mb.i64Constant(-1)};
  return mb.forLoop(mb.i64Constant(0), count, 1, none,
                    [&](Value i, ValueRange best) {
                      Value key = mb.load(mb.i32, keyAddress(mb, keys, i));
                      Value larger = mb.cmp(IntPredicate::sgt, key, best[0]);
                      return SmallVector<Value>{mb.select(larger, key, best[0]),
                                                mb.select(larger, i, best[1])};
                    });
}

class RouteEmitter {
public:
  RouteEmitter(LoopBuilder &mb, RouteOp op)
      : mb(mb), op(op), method(op.getMethod()),
        logits{MemRefParts::get(mb, op.getLogits())} {
    tokens = logits.parts.sizes[0];
    experts = logits.parts.sizes[1];
    slots = MemRefParts::get(mb, op.getWeightsOut()).sizes[1];
    if (op.getBias())
      bias = RealLines{MemRefParts::get(mb, op.getBias())};
  }

  void emit() {
    KeyRows keys = KeyRows::allocate(mb, tokens, experts);
    bool grouped = method == RoutingMethod::DeepSeekV3 && op.getNGroup() > 1;
    KeyRows groups;
    if (grouped)
      groups = KeyRows::allocate(
          mb, tokens, mb.i64Constant(static_cast<int64_t>(op.getNGroup())));
    mb.parallel(mb.toIndex(tokens), [&](Value index) {
      token = index;
      tokenNumber = mb.toI64(index);
      Value row = keys.row(mb, tokenNumber);
      rank(row);
      if (grouped)
        closeGroups(row, groups.row(mb, tokenNumber));
      choose(row);
      weigh();
    });
    memref::DeallocOp::create(mb.builder, mb.loc, keys.memref);
    if (grouped)
      memref::DeallocOp::create(mb.builder, mb.loc, groups.memref);
  }

private:
  /// Calls `body(first, count, values)` for runs of logits; count is null for
  /// full ones.
  SmallVector<Value> forLogits(
      ValueRange init,
      function_ref<SmallVector<Value>(Value, Value, Value, ValueRange)> body) {
    Value zero = mb.i64Constant(0);
    auto load = [&](Value first, Value count) {
      return logits.load(mb, {zero, tokenNumber, first}, kLanes, count);
    };
    Value full = mb.mul(mb.div(experts, kLanes), kLanes);
    SmallVector<Value> carried =
        mb.forLoop(zero, full, kLanes, init, [&](Value i, ValueRange values) {
          return body(i, {}, load(i, {}), values);
        });
    // At most one run that is not full.
    return mb.forLoop(full, experts, kLanes, carried,
                      [&](Value i, ValueRange values) {
                        Value rest = mb.sub(experts, full);
                        return body(i, rest, load(i, rest), values);
                      });
  }

  void rank(Value keys) {
    forLogits({}, [&](Value first, Value count, Value x, ValueRange) {
      Value score = emitRankedScore(mb, method, x);
      if (bias && ranksBySigmoid(method)) {
        Value zero = mb.i64Constant(0);
        Value added = bias->load(mb, {zero, zero, first}, kLanes, count);
        score = mb.addF(score, added);
      }
      emitStoreReals(mb, mb.f32, mb.fromBits(emitKey(mb, score)),
                     keyAddress(mb, keys, first), count);
      return SmallVector<Value>();
    });
  }

  /// Keeps the groups with the largest sums of their two best scores; the
  /// scores of the others become -infinity.
  void closeGroups(Value keys, Value groupKeys) {
    Value zero = mb.i64Constant(0);
    Value groups = mb.i64Constant(static_cast<int64_t>(op.getNGroup()));
    Value size = mb.div(experts, groups);
    mb.forLoop(zero, groups, 1, [&](Value g) {
      Value members = keyAddress(mb, keys, mb.mul(g, size));
      Value none = mb.constant(mb.i32, kTakenKey);
      SmallVector<Value> best =
          mb.forLoop(zero, size, 1, {none, none}, [&](Value i, ValueRange two) {
            Value key = mb.load(mb.i32, keyAddress(mb, members, i));
            return SmallVector<Value>{mb.maxS(two[0], key),
                                      mb.maxS(two[1], mb.minS(two[0], key))};
          });
      Value sum = mb.addF(emitScore(mb, best[0]), emitScore(mb, best[1]));
      Value single = mb.cmp(IntPredicate::eq, best[1], kTakenKey);
      sum = mb.select(single, emitScore(mb, best[0]), sum);
      mb.store(emitKey(mb, sum), keyAddress(mb, groupKeys, g));
    });
    Value taken = mb.constant(mb.i32, kTakenKey);
    Value keep = mb.i64Constant(static_cast<int64_t>(op.getTopkGroup()));
    mb.forLoop(zero, mb.minS(keep, groups), 1, [&](Value) {
      Value best = largestKey(mb, groupKeys, groups)[1];
      mb.store(taken, keyAddress(mb, groupKeys, best));
    });
    Value lowest = emitKey(mb, mb.constantF32(mb.f32, -INFINITY));
    mb.forLoop(zero, groups, 1, [&](Value g) {
      Value key = mb.load(mb.i32, keyAddress(mb, groupKeys, g));
      Value first = mb.mul(g, size);
      mb.ifThen(mb.cmp(IntPredicate::ne, key, kTakenKey), [&] {
        mb.forLoop(first, mb.add(first, size), 1,
                   [&](Value e) { mb.store(lowest, keyAddress(mb, keys, e)); });
      });
    });
  }

  void choose(Value keys) {
    mb.forLoop(mb.i64Constant(0), slots, 1, [&](Value slot) {
      Value best = largestKey(mb, keys, experts)[1];
      mb.store(mb.truncate(best, mb.i32), op.getExpertsOut(),
               {token, mb.toIndex(slot)});
      mb.ifThen(mb.cmp(IntPredicate::sge, best, 0), [&] {
        mb.store(mb.constant(mb.i32, kTakenKey), keyAddress(mb, keys, best));
      });
    });
  }

  /// The f32 logit of the expert of a slot; -infinity where there is none.
  Value chosenLogit(Value slot) {
    Value expert =
        mb.toIndex(mb.load(op.getExpertsOut(), {token, mb.toIndex(slot)}));
    Value exists = mb.cmp(IntPredicate::sge, expert, mb.index(0));
    return mb.branch(
        exists,
        [&] { return mb.toF32(mb.load(op.getLogits(), {token, expert})); },
        [&] { return mb.constantF32(mb.f32, -INFINITY); });
  }

  /// Weights of the chosen experts, in the order of slots.
  void weigh() {
    switch (method) {
    case RoutingMethod::Default:
      return weighBySoftmax(maxOfRow(), /*wholeRow=*/true);
    case RoutingMethod::Renormalize:
      return weighBySoftmax(maxOfChosen(), /*wholeRow=*/false);
    case RoutingMethod::TopK:
      return forSlots(
          [&](Value slot) { storeWeight(chosenLogit(slot), slot); });
    case RoutingMethod::Sigmoid:
    case RoutingMethod::TopKSigmoid:
    case RoutingMethod::Llama4:
      forSlots([&](Value slot) {
        storeWeight(emitSigmoid(mb.builder, mb.loc, chosenLogit(slot)), slot);
      });
      return;
    case RoutingMethod::SigmoidRenorm:
    case RoutingMethod::DeepSeekV3:
    case RoutingMethod::MiniMax2:
      return weighByShare();
    }
  }

  void forSlots(function_ref<void(Value)> body) {
    mb.forLoop(mb.i64Constant(0), slots, 1, body);
  }
  Value foldSlots(Value init, function_ref<Value(Value, Value)> body) {
    return mb.forLoop(mb.i64Constant(0), slots, 1, init,
                      [&](Value slot, ValueRange carried) {
                        return SmallVector<Value>{body(slot, carried[0])};
                      })[0];
  }
  void storeWeight(Value weight, Value slot) {
    mb.store(weight, op.getWeightsOut(), {token, mb.toIndex(slot)});
  }
  Value loadWeight(Value slot) {
    return mb.load(op.getWeightsOut(), {token, mb.toIndex(slot)});
  }

  /// The maximum of numbers; NaN counts as -infinity.
  Value maxOfRow() {
    Value lowest = mb.constantF32(VectorType::get(kLanes, mb.f32), -INFINITY);
    Value lanes = forLogits(
        {lowest}, [&](Value, Value count, Value x, ValueRange largest) {
          Value counts = mb.cmpF(FloatPredicate::OGT, x, largest[0]);
          if (count)
            counts = mb.bitAnd(counts, emitLaneMask(mb, count, kLanes));
          return SmallVector<Value>{mb.select(counts, x, largest[0])};
        })[0];
    return vector::ReductionOp::create(mb.builder, mb.loc,
                                       vector::CombiningKind::MAXNUMF, lanes);
  }
  Value maxOfChosen() {
    return foldSlots(mb.constantF32(mb.f32, -INFINITY),
                     [&](Value slot, Value largest) {
                       Value x = chosenLogit(slot);
                       Value larger = mb.cmpF(FloatPredicate::OGT, x, largest);
                       return mb.select(larger, x, largest);
                     });
  }

  void weighBySoftmax(Value largest, bool wholeRow) {
    Value zero = mb.constantF32(mb.f32, 0.0f);
    Value sum;
    if (wholeRow) {
      sum = forLogits({zero}, [&](Value, Value count, Value x,
                                  ValueRange carried) {
        Value e = emitExpDistance(mb, x, largest);
        if (count)
          e = mb.select(emitLaneMask(mb, count, kLanes), e, mb.real(e, 0.0));
        Value total = carried[0];
        for (int64_t lane = 0; lane < kLanes; ++lane)
          total = mb.addF(
              total, vector::ExtractOp::create(mb.builder, mb.loc, e, lane));
        return SmallVector<Value>{total};
      })[0];
    } else {
      sum = foldSlots(zero, [&](Value slot, Value total) {
        return mb.addF(total, emitExpDistance(mb, chosenLogit(slot), largest));
      });
    }
    forSlots([&](Value slot) {
      Value e = emitExpDistance(mb, chosenLogit(slot), largest);
      storeWeight(mb.divF(e, sum), slot);
    });
  }

  /// sigmoid / (sum of sigmoids + 1e-20), times the scaling of DeepSeek.
  void weighByShare() {
    Value sum =
        foldSlots(mb.constantF32(mb.f32, 0.0f), [&](Value slot, Value total) {
          Value weight = emitSigmoid(mb.builder, mb.loc, chosenLogit(slot));
          storeWeight(weight, slot);
          return mb.addF(total, weight);
        });
    sum = mb.addF(sum, mb.constantF32(mb.f32, kSigmoidSumFloor));
    float scaling = getRoutedScaling(op);
    forSlots([&](Value slot) {
      Value weight = mb.divF(loadWeight(slot), sum);
      if (scaling != 1.0f)
        weight = mb.mulF(weight, mb.constantF32(mb.f32, scaling));
      storeWeight(weight, slot);
    });
  }

  LoopBuilder &mb;
  RouteOp op;
  RoutingMethod method;
  RealLines logits;
  std::optional<RealLines> bias;
  Value tokens, experts, slots;
  /// The token of the current iteration, as index and as i64.
  Value token, tokenNumber;
};

struct LowerRoute : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RouteOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getLogits().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder mb(rewriter, op.getLoc());
    RouteEmitter(mb, op).emit();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::gsg::cpu::populateRoutingToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerRoute>(patterns.getContext());
}
