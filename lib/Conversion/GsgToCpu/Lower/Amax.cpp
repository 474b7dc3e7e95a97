//===- Amax.cpp - amax ------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has sixteen rows of a matrix, of which a transform along rows mixes
// the same columns. Magnitudes are ordered like their bits, those of NaN behind
// infinity.
//
//===----------------------------------------------------------------------===//

#include "RealRows.h"

#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

static constexpr int64_t kRun = 16;

namespace {
/// The code of one operation.
struct AmaxEmitter {
  LoopBuilder &mb;
  AmaxOp op;
  MemRefParts input;
  Value rows, columns;

  AmaxEmitter(LoopBuilder &mb, AmaxOp op)
      : mb(mb), op(op), input(MemRefParts::get(mb, op.getInput())),
        rows(input.sizes[input.getRank() - 2]), columns(input.sizes.back()) {}

  void emit() {
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    Value batches = input.getRank() > 2 ? input.sizes[0] : mb.i64Constant(1);
    Value runs = mb.div(mb.add(rows, kRun - 1), kRun);
    Value count = mb.toIndex(mb.mul(batches, runs));
    auto type = MemRefType::get(ShapedType::kDynamic, mb.i32);
    Value maxima =
        memref::AllocOp::create(mb.builder, mb.loc, type, ValueRange{count});
    mb.parallel(count, [&](Value task) {
      Value number = mb.toI64(task);
      Value batch = mb.div(number, runs);
      Value first = mb.mul(mb.rem(number, runs), kRun);
      mb.store(emitRows(batch, first), maxima, {task});
    });
    mb.forLoop(mb.i64Constant(0), batches, 1, [&](Value batch) {
      Value begin = mb.mul(batch, runs);
      Value bits =
          mb.forLoop(begin, mb.add(begin, runs), 1, {mb.constant(mb.i32, 0)},
                     [&](Value i, ValueRange most) {
                       return SmallVector<Value>{
                           mb.maxS(most[0], mb.load(maxima, {mb.toIndex(i)}))};
                     })[0];
      Value place = mb.mul(batch, input.getRank() > 2 ? out.strides[0]
                                                      : mb.i64Constant(0));
      mb.store(mb.fromBits(bits),
               mb.ptrAdd(out.address, mb.mul(place, out.elementBytes)));
    });
    memref::DeallocOp::create(mb.builder, mb.loc, maxima);
  }

private:
  /// The bits of the largest magnitude of up to 16 rows from `first` on.
  Value emitRows(Value batch, Value first) {
    Value zero = mb.constant(mb.i32, 0);
    Value end = mb.minS(mb.add(first, kRun), rows);
    if (op.getTransposed())
      return overColumns([&](Value column, int64_t lanes) {
        return magnitude(mixRows(batch, first, end, column, lanes));
      });
    return mb.forLoop(first, end, 1, zero, [&](Value row, ValueRange most) {
      Value found = overColumns([&](Value column, int64_t lanes) {
        if (op.getHadamard() && lanes == 1)
          return lastRun(batch, row, column);
        Value x = load(batch, row, column, lanes);
        return magnitude(op.getHadamard() ? transform(x) : x);
      });
      return SmallVector<Value>{mb.maxS(most[0], found)};
    })[0];
  }

  /// The maximum of `body` over vectors of 16 columns and those that are left,
  /// one by one; a transform along columns has these in one call.
  Value overColumns(function_ref<Value(Value, int64_t)> body) {
    Value end = mb.mul(mb.div(columns, kRun), kRun);
    Value most = mb.constant(mb.i32, 0);
    auto run = [&](Value from, Value to, int64_t lanes, int64_t step) {
      most =
          mb.forLoop(from, to, step, most, [&](Value column, ValueRange found) {
            return SmallVector<Value>{mb.maxS(found[0], body(column, lanes))};
          })[0];
    };
    run(mb.i64Constant(0), end, kRun, kRun);
    bool isRun = op.getHadamard() && !op.getTransposed();
    run(end, columns, 1, isRun ? kRun : 1);
    return most;
  }

  Value load(Value batch, Value row, Value column, int64_t lanes) {
    Row in{mb, input, input.rowAddress(mb, mb.add(mb.mul(batch, rows), row))};
    return in.load(column, lanes);
  }

  Value transform(Value x) {
    HadamardAttr attr = *op.getHadamard();
    return emitHadamard(mb, x, attr.getNormalized(), attr.getSignMask());
  }

  /// The maximum of a run of columns that ends with the row.
  Value lastRun(Value batch, Value row, Value column) {
    Value zeros = mb.constantF32(VectorType::get(kRun, mb.f32), 0.0f);
    Value count = mb.sub(columns, column);
    Value x = mb.forLoop(
        mb.i64Constant(0), count, 1, zeros, [&](Value i, ValueRange v) {
          Value one = LLVM::ExtractElementOp::create(
              mb.builder, mb.loc, load(batch, row, mb.add(column, i), 1),
              mb.i64Constant(0));
          return SmallVector<Value>{
              LLVM::InsertElementOp::create(mb.builder, mb.loc, v[0], one, i)};
        })[0];
    return magnitude(
        mb.select(emitLaneMask(mb, count, kRun), transform(x), zeros));
  }

  /// The largest magnitudes of columns after a transform along rows.
  Value mixRows(Value batch, Value first, Value end, Value column,
                int64_t lanes) {
    Value zeros = mb.constantF32(VectorType::get(lanes, mb.f32), 0.0f);
    SmallVector<Value> x, exists;
    for (int64_t i = 0; i < kRun; ++i) {
      Value row = mb.add(first, i);
      exists.push_back(mb.cmp(IntPredicate::slt, row, end));
      x.push_back(mb.branch(
          exists.back(), [&] { return load(batch, row, column, lanes); },
          [&] { return zeros; }));
    }
    HadamardAttr attr = *op.getHadamard();
    emitHadamard(mb, x, attr.getNormalized(), attr.getSignMask());
    Value most = mb.toBits(zeros);
    for (auto [value, exist] : llvm::zip_equal(x, exists))
      most = mb.select(exist, mb.maxS(most, mb.toBits(mb.absF(value))), most);
    return mb.fromBits(most);
  }

  /// The bits of max |x|.
  Value magnitude(Value x) {
    return vector::ReductionOp::create(mb.builder, mb.loc,
                                       vector::CombiningKind::MAXUI,
                                       mb.toBits(mb.absF(x)));
  }
};

struct LowerAmax : OpRewritePattern<AmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "operates on tensors");
    LoopBuilder mb(rewriter, op.getLoc());
    AmaxEmitter(mb, op).emit();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::gsg::cpu::populateAmaxToCpuPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAmax>(patterns.getContext());
}
