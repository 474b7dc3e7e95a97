//===- Route.cpp - route as a kernel ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has a token: its lane l ranks experts l, l + 32 and so on, whose keys
// stay in registers, and afterwards weighs the expert of slot l. Sums go from
// lane to lane in the order of the CPU's code, so weights have its bits.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/RoutingKeys.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

static constexpr int64_t kWarp = 32;

namespace {
class RouteWarp {
public:
  RouteWarp(LoopBuilder &b, RouteOp op, Value token, Value lane)
      : b(b), op(op), method(op.getMethod()), token(token), lane(lane),
        lane32(b.toI32(lane)) {
    experts = cast<MemRefType>(op.getLogits().getType()).getDimSize(1);
    slots = cast<MemRefType>(op.getWeightsOut().getType()).getDimSize(1);
    for (int64_t first = 0; first < experts; first += kWarp)
      numbers.push_back(b.add(lane32, first));
  }

  RoutedSlot build() {
    loadLogits();
    rank();
    if (method == RoutingMethod::DeepSeekV3 && op.getNGroup() > 1)
      closeGroups();
    choose();
    return {expert, emitWeight(chosenLogit())};
  }

private:
  Value f32(double value) { return b.constantF32(b.f32, float(value)); }
  Value i32(int64_t value) { return b.constant(b.i32, value); }

  Value shuffle(Value value, int64_t argument, gpu::ShuffleMode mode) {
    return gpu::ShuffleOp::create(b.builder, b.loc, value,
                                  static_cast<int32_t>(argument), kWarp, mode)
        .getShuffleResult();
  }
  Value fromLane(Value value, int64_t source) {
    return shuffle(value, source, gpu::ShuffleMode::IDX);
  }
  /// All lanes get what the values of all combine to, in steps of two.
  SmallVector<Value>
  combine(SmallVector<Value> values,
          function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
    for (int64_t distance = kWarp / 2; distance > 0; distance /= 2) {
      SmallVector<Value> others;
      for (Value value : values)
        others.push_back(shuffle(value, distance, gpu::ShuffleMode::XOR));
      values = body(values, others);
    }
    return values;
  }

  /// Whether the lane's expert `i` exists; null if it does in every lane.
  Value exists(size_t i) {
    auto first = static_cast<int64_t>(i) * kWarp;
    if (first + kWarp <= experts)
      return Value();
    return b.cmp(Predicate::slt, numbers[i], experts);
  }

  Value loadF32(Value memref, ValueRange indices) {
    return b.toF32(b.load(memref, indices));
  }

  /// Logits of the lane's experts; -infinity for those that do not exist.
  void loadLogits() {
    for (size_t i = 0; i < numbers.size(); ++i) {
      auto load = [&] {
        return loadF32(op.getLogits(), {token, b.toIndex(numbers[i])});
      };
      Value isExpert = exists(i);
      logits.push_back(
          isExpert ? b.branch(isExpert, load, [&] { return f32(-INFINITY); })
                   : load());
    }
  }

  void rank() {
    for (auto [i, logit] : llvm::enumerate(logits)) {
      Value isExpert = exists(i);
      auto makeKey = [&, logit = logit, i = i]() -> Value {
        Value score = emitRankedScore(b, method, logit);
        if (op.getBias() && ranksBySigmoid(method))
          score = b.addF(score, b.load(op.getBias(), {b.toIndex(numbers[i])}));
        return emitKey(b, score);
      };
      keys.push_back(
          isExpert ? b.branch(isExpert, makeKey, [&] { return i32(kTakenKey); })
                   : makeKey());
    }
  }

  /// Keeps the groups with the largest sums of their two best scores; the
  /// scores of the others become -infinity.
  void closeGroups() {
    auto groups = static_cast<int64_t>(op.getNGroup());
    int64_t size = experts / groups;
    SmallVector<Value> groupOf;
    for (Value number : numbers)
      groupOf.push_back(b.div(number, size));
    SmallVector<Value> groupKeys;
    for (int64_t g = 0; g < groups; ++g)
      groupKeys.push_back(emitGroupKey(groupOf, g));
    int64_t kept = std::min(static_cast<int64_t>(op.getTopkGroup()), groups);
    for (int64_t turn = 0; turn < kept; ++turn) {
      Value best = i32(kTakenKey), number = i32(-1);
      for (auto [g, key] : llvm::enumerate(groupKeys)) {
        Value larger = b.cmp(Predicate::sgt, key, best);
        best = b.select(larger, key, best);
        number = b.select(larger, i32(static_cast<int64_t>(g)), number);
      }
      for (auto [g, key] : llvm::enumerate(groupKeys))
        key = b.select(b.cmp(Predicate::eq, number, static_cast<int64_t>(g)),
                       i32(kTakenKey), key);
    }
    Value lowest = emitKey(b, f32(-INFINITY));
    for (auto [g, groupKey] : llvm::enumerate(groupKeys)) {
      Value isClosed = b.cmp(Predicate::ne, groupKey, kTakenKey);
      for (auto [key, group] : llvm::zip(keys, groupOf)) {
        Value isMember = b.cmp(Predicate::eq, group, static_cast<int64_t>(g));
        key = b.select(b.bitAnd(isClosed, isMember), lowest, key);
      }
    }
  }

  /// The key of the sum of the two best scores of group `g`, in all lanes.
  Value emitGroupKey(ArrayRef<Value> groupOf, int64_t g) {
    SmallVector<Value> best{i32(kTakenKey), i32(kTakenKey)};
    auto add = [&](ValueRange two, ValueRange other) -> SmallVector<Value> {
      Value first = b.maxS(two[0], other[0]);
      Value second = b.minS(two[0], other[0]);
      return {first, b.maxS(second, b.maxS(two[1], other[1]))};
    };
    for (auto [key, group] : llvm::zip(keys, groupOf)) {
      Value isMember = b.cmp(Predicate::eq, group, g);
      Value candidate = b.select(isMember, key, i32(kTakenKey));
      best = add(best, {candidate, i32(kTakenKey)});
    }
    best = combine(best, add);
    Value first = emitScore(b, best[0]);
    Value isSingle = b.cmp(Predicate::eq, best[1], kTakenKey);
    Value sum = b.addF(first, emitScore(b, best[1]));
    return emitKey(b, b.select(isSingle, first, sum));
  }

  /// The lane's largest key and its expert, the first of equal ones; the expert
  /// is -1 if all are taken.
  SmallVector<Value> largest(ValueRange current) {
    SmallVector<Value> best{i32(kTakenKey), i32(-1)};
    for (auto [key, number] : llvm::zip(current, numbers)) {
      Value larger = b.cmp(Predicate::sgt, key, best[0]);
      best = {b.select(larger, key, best[0]),
              b.select(larger, number, best[1])};
    }
    return best;
  }

  void choose() {
    SmallVector<Value> init(keys);
    init.push_back(i32(-1));
    expert = b.fold(b.index(slots), init, [&](Value slot, ValueRange carried) {
                ValueRange current = carried.drop_back();
                Value best = combine(
                    largest(current),
                    [&](ValueRange x, ValueRange y) -> SmallVector<Value> {
                      Value isEqual = b.cmp(Predicate::eq, y[0], x[0]);
                      Value isTie =
                          b.bitAnd(isEqual, b.cmp(Predicate::slt, y[1], x[1]));
                      Value better =
                          b.bitOr(b.cmp(Predicate::sgt, y[0], x[0]), isTie);
                      return {b.select(better, y[0], x[0]),
                              b.select(better, y[1], x[1])};
                    })[1];
                SmallVector<Value> next;
                for (auto [key, number] : llvm::zip(current, numbers))
                  next.push_back(b.select(b.cmp(Predicate::eq, number, best),
                                          i32(kTakenKey), key));
                Value isMine = b.cmp(Predicate::eq, lane, slot);
                next.push_back(b.select(isMine, best, carried.back()));
                return next;
              }).back();
  }

  /// The f32 logit of the expert of the lane's slot; -infinity if there is
  /// none.
  Value chosenLogit() {
    return b.branch(
        b.cmp(Predicate::sge, expert, 0),
        [&] { return loadF32(op.getLogits(), {token, b.toIndex(expert)}); },
        [&] { return f32(-INFINITY); });
  }

  Value emitWeight(Value logit) {
    switch (method) {
    case RoutingMethod::Default: {
      Value most = maxOfRow();
      return b.divF(emitExpDistance(b, logit, most), sumOfRow(most));
    }
    case RoutingMethod::Renormalize: {
      Value e = emitExpDistance(b, logit, maxOfSlots(logit));
      return b.divF(e, sumOfSlots(e));
    }
    case RoutingMethod::TopK:
      return logit;
    case RoutingMethod::Sigmoid:
    case RoutingMethod::TopKSigmoid:
    case RoutingMethod::Llama4:
      return emitSigmoid(b.builder, b.loc, logit);
    case RoutingMethod::SigmoidRenorm:
    case RoutingMethod::DeepSeekV3:
    case RoutingMethod::MiniMax2: {
      Value sigmoid = emitSigmoid(b.builder, b.loc, logit);
      Value weight =
          b.divF(sigmoid, b.addF(sumOfSlots(sigmoid), f32(kSigmoidSumFloor)));
      float scaling = getRoutedScaling(op);
      return scaling == 1.0f ? weight : b.mulF(weight, f32(scaling));
    }
    }
    llvm_unreachable("expected a method of routing");
  }

  Value larger(Value x, Value y) {
    return b.select(b.cmpF(FloatPredicate::OGT, y, x), y, x);
  }
  /// The maximum of numbers; NaN counts as -infinity.
  Value maxOfRow() {
    Value most = f32(-INFINITY);
    for (Value logit : logits)
      most = larger(most, logit);
    return combine({most}, [&](ValueRange x, ValueRange y) {
      return SmallVector<Value>{larger(x[0], y[0])};
    })[0];
  }
  Value maxOfSlots(Value logit) {
    Value most = f32(-INFINITY);
    for (int64_t slot = 0; slot < slots; ++slot)
      most = larger(most, fromLane(logit, slot));
    return most;
  }
  Value sumOfRow(Value most) {
    Value sum = f32(0);
    for (auto [i, logit] : llvm::enumerate(logits)) {
      Value e = emitExpDistance(b, logit, most);
      int64_t end = std::min(kWarp, experts - static_cast<int64_t>(i) * kWarp);
      for (int64_t source = 0; source < end; ++source)
        sum = b.addF(sum, fromLane(e, source));
    }
    return sum;
  }
  Value sumOfSlots(Value value) {
    Value sum = f32(0);
    for (int64_t slot = 0; slot < slots; ++slot)
      sum = b.addF(sum, fromLane(value, slot));
    return sum;
  }

  LoopBuilder &b;
  RouteOp op;
  RoutingMethod method;
  Value token, lane, lane32;
  int64_t experts, slots;
  /// Of the lane's experts: their numbers (i32), logits (f32) and keys (i32).
  SmallVector<Value> numbers, logits, keys;
  /// That of the lane's slot, i32.
  Value expert;
};

struct LowerRoute : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RouteOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getWeightsOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    loops::DeviceLoopBuilder b(rewriter, op);
    Value threads = b.mul(b.dim(op.getLogits(), 0), b.index(kWarp));
    b.parallel(threads, [&](Value thread) {
      Value warp = b.index(kWarp);
      Value token = arith::DivUIOp::create(rewriter, b.loc, thread, warp);
      Value lane = arith::RemUIOp::create(rewriter, b.loc, thread, warp);
      RoutedSlot slot = emitRoute(b, op, token, lane);
      b.ifThen(hasSlot(b, op, lane), [&] {
        b.store(slot.expert, op.getExpertsOut(), {token, lane});
        b.store(slot.weight, op.getWeightsOut(), {token, lane});
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

RoutedSlot togpu::emitRoute(LoopBuilder &b, RouteOp op, Value token,
                            Value lane) {
  return RouteWarp(b, op, token, lane).build();
}

Value togpu::hasSlot(LoopBuilder &b, RouteOp op, Value lane) {
  int64_t slots = cast<MemRefType>(op.getWeightsOut().getType()).getDimSize(1);
  return b.cmp(Predicate::ult, lane, b.index(slots));
}

void togpu::populateRoutePatterns(RewritePatternSet &patterns) {
  patterns.add<LowerRoute>(patterns.getContext());
}
