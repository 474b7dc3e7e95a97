//===- EpilogueRegion.cpp - Expanded epilogues on lanes ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of arithmetic work on single elements, so they are cloned on
// vectors, as many after each other at a time as there are before the next load
// or store.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/EpilogueRegion.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/EpilogueColumns.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;

Value EpilogueLanes::sigmoid(OpBuilder &builder, SigmoidOp op, Value x) {
  return emitSigmoid(builder, op.getLoc(), x);
}

namespace {
class RegionEmitter {
public:
  RegionEmitter(OpBuilder &builder, Location loc, EpilogueLanes &lanes,
                Value like)
      : builder(builder), loc(loc), lanes(lanes), like(like),
        count(cast<VectorType>(like.getType()).getNumElements()) {}

  void map(Value from, Value to) { mapping.map(from, to); }
  Value get(Value value) { return getLanes(value, 0, count); }

  void emit(Block::iterator begin, Block::iterator end) {
    emit(llvm::map_to_vector(llvm::make_range(begin, end),
                             [](Operation &op) { return &op; }));
  }
  void emit(ArrayRef<Operation *> operations) {
    SmallVector<Operation *> run;
    auto finishRun = [&] {
      if (!run.empty())
        emitRun(run);
      run.clear();
    };
    for (Operation *op : operations) {
      if (op->hasTrait<OpTrait::ConstantLike>())
        continue;
      if (!isa<LoadClauseOp, StorePreactOp, FoldAmaxOp, StoreResultOp>(op)) {
        run.push_back(op);
        continue;
      }
      finishRun();
      if (auto load = dyn_cast<LoadClauseOp>(op))
        map(load, lanes.load(load, like));
      else if (auto store = dyn_cast<StorePreactOp>(op))
        lanes.storePreActivation(get(store.getZ()));
      else if (auto fold = dyn_cast<FoldAmaxOp>(op))
        lanes.foldAmax(get(fold.getY()));
      else
        lanes.storeResult(get(cast<StoreResultOp>(op).getY()));
    }
    finishRun();
  }

private:
  /// `width` lanes from `first` on of a value from before the run.
  Value getLanes(Value value, int64_t first, int64_t width) {
    TypedAttr attr;
    if (matchPattern(value, m_Constant(&attr))) {
      auto type = VectorType::get({width}, value.getType());
      return arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(type, Attribute(attr)));
    }
    Value all = mapping.lookup(value);
    auto vector = dyn_cast<VectorType>(all.getType());
    if (!vector)
      return vector::BroadcastOp::create(
          builder, loc, VectorType::get({width}, all.getType()), all);
    if (width == count)
      return all;
    return vector::ExtractStridedSliceOp::create(
        builder, loc, all, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{width},
        ArrayRef<int64_t>{1});
  }

  /// The values of a run that operations after it use.
  static SmallVector<Value> getResults(ArrayRef<Operation *> run) {
    SmallVector<Value> results;
    for (Operation *op : run)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !llvm::is_contained(run, user);
            }))
          results.push_back(result);
    return results;
  }

  void emitRun(ArrayRef<Operation *> run) {
    int64_t width = lanes.getLanesAtOnce(run, count);
    SmallVector<Value> results = getResults(run);
    if (width == count) {
      IRMapping local = emitLanes(run, 0, width);
      for (Value result : results)
        map(result, local.lookup(result));
      return;
    }
    SmallVector<Value> all = llvm::map_to_vector(results, [&](Value result) {
      auto type = VectorType::get({count}, result.getType());
      return Value(
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)));
    });
    for (int64_t first = 0; first < count; first += width) {
      IRMapping local = emitLanes(run, first, width);
      for (auto [result, whole] : llvm::zip_equal(results, all))
        whole = vector::InsertStridedSliceOp::create(
            builder, loc, local.lookup(result), whole, ArrayRef<int64_t>{first},
            ArrayRef<int64_t>{1});
    }
    for (auto [result, whole] : llvm::zip_equal(results, all))
      map(result, whole);
  }

  /// The operations of a run on `width` lanes from `first` on.
  IRMapping emitLanes(ArrayRef<Operation *> run, int64_t first, int64_t width) {
    IRMapping local;
    for (Operation *op : run) {
      for (Value operand : op->getOperands())
        if (!local.contains(operand))
          local.map(operand, getLanes(operand, first, width));
      if (auto round = dyn_cast<RoundBf16Op>(op)) {
        Value x = local.lookup(round.getInput());
        local.map(round.getResult(), emitRoundToBF16(builder, loc, x));
      } else if (auto sigmoid = dyn_cast<SigmoidOp>(op)) {
        Value x = local.lookup(sigmoid.getInput());
        local.map(sigmoid.getResult(), lanes.sigmoid(builder, sigmoid, x));
      } else {
        Operation *clone = builder.clone(*op, local);
        for (Value result : clone->getResults())
          result.setType(VectorType::get({width}, result.getType()));
      }
    }
    return local;
  }

  OpBuilder &builder;
  Location loc;
  EpilogueLanes &lanes;
  Value like;
  const int64_t count;
  IRMapping mapping;
};
} // namespace

Value arithmetic::emitColumnsOfProduct(OpBuilder &builder, Location loc,
                                       Block &epilogue, EpilogueLanes &lanes,
                                       Value acc) {
  RegionEmitter emitter(builder, loc, lanes, acc);
  emitter.map(epilogue.getArgument(0), acc);
  PairColumnsOp pair = getPairColumns(epilogue);
  emitter.emit(epilogue.begin(), pair ? pair->getIterator() : epilogue.end());
  return pair ? emitter.get(pair.getZ()) : Value();
}

void arithmetic::emitColumnsOfResult(OpBuilder &builder, Location loc,
                                     Block &epilogue, EpilogueLanes &lanes,
                                     Value gate, Value up) {
  RegionEmitter emitter(builder, loc, lanes, gate);
  PairColumnsOp pair = getPairColumns(epilogue);
  emitter.map(pair.getGate(), gate);
  emitter.map(pair.getUp(), up);
  emitter.emit(getColumnFree(epilogue).getArrayRef());
  emitter.emit(std::next(pair->getIterator()), epilogue.end());
}

bool arithmetic::isVectorizable(Block &region) {
  return llvm::all_of(region.without_terminator(), [](Operation &op) {
    if (isa<GroupedScaledGemmDialect>(op.getDialect()))
      return true;
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return type.isIntOrIndexOrFloat();
    });
    return scalar && op.getNumRegions() == 0 &&
           (op.hasTrait<OpTrait::ConstantLike>() ||
            op.hasTrait<OpTrait::Vectorizable>());
  });
}
