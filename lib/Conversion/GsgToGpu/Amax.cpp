//===- Amax.cpp - amax as a kernel ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A maximum depends on no order, so that warps meet in an atomic maximum of the
// bits: magnitudes are ordered like them, those of NaN behind infinity.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

static constexpr int64_t kRun = 16, kThreads = 256;
static constexpr int32_t kWarp = 32;
/// Pieces of a thread, and the most blocks of a matrix: two for each
/// multiprocessor of an H200.
static constexpr int64_t kPieces = 4, kMostBlocks = 264;

namespace {
/// The code of one operation. A piece is a vector of a row or, if rows are
/// mixed, of sixteen.
struct AmaxEmitter {
  LoopBuilder &b;
  AmaxOp op;
  MemRefParts input, out;
  Value rows, columns;
  int64_t lanes, rowsOfPiece;

  AmaxEmitter(LoopBuilder &b, AmaxOp op)
      : b(b), op(op), input(MemRefParts::get(b, op.getInput())),
        out(MemRefParts::get(b, op.getOut())),
        rows(input.sizes[input.getRank() - 2]), columns(input.sizes.back()),
        lanes(countLanesOf()), rowsOfPiece(op.getTransposed() ? kRun : 1) {}

  void emit() {
    Value batches = input.getRank() > 2 ? input.sizes[0] : b.i64Constant(1);
    b.parallel(b.toIndex(batches), [&](Value batch) {
      Value zero = b.constantF32(b.f32, 0.0f);
      b.store(zero, addressOf(b.toI64(batch)), /*bytes=*/0, /*alignment=*/4);
    });
    Value inRow = ceilDiv(columns, lanes);
    Value pieces = b.mul(ceilDiv(rows, rowsOfPiece), inRow);
    Value blocks =
        b.minS(ceilDiv(pieces, kThreads * kPieces), b.i64Constant(kMostBlocks));
    launchBlocks(b, "amax", b.toIndex(b.mul(batches, blocks)), kThreads, {},
                 [&](const BlockCode &code) {
                   Value number = b.toI64(code.block);
                   Value batch = b.div(number, blocks);
                   Value ofBlock = b.mul(b.rem(number, blocks), kThreads);
                   Value first = b.add(ofBlock, b.toI64(code.thread));
                   Value step = b.mul(blocks, kThreads);
                   share(batch, overPieces(batch, first, pieces, step, inRow));
                 });
  }

private:
  Value ceilDiv(Value a, int64_t by) {
    if (std::optional<int64_t> known = getConstantIntValue(a))
      return b.i64Constant(llvm::divideCeil(*known, by));
    return b.div(b.add(a, by - 1), by);
  }

  /// Elements of a vector of a piece. Vectors make up whole rows, but for runs
  /// of a transform along columns.
  int64_t countLanesOf() {
    if (op.getHadamard() && !op.getTransposed())
      return kRun;
    std::optional<int64_t> known = getConstantIntValue(columns);
    if (!input.isContiguous || !known)
      return 1;
    int64_t bytes = std::gcd(input.rowAlignment, op.getTransposed() ? 4 : 16);
    return std::max<int64_t>(1, std::gcd(bytes / input.elementBytes, *known));
  }

  Value addressOf(Value batch) {
    if (out.strides.empty())
      return out.address;
    return b.ptrAdd(out.address,
                    b.mul(b.mul(batch, out.strides[0]), out.elementBytes));
  }

  /// The bits of the largest magnitude of the pieces of a thread.
  Value overPieces(Value batch, Value first, Value pieces, Value step,
                   Value inRow) {
    auto loop = scf::ForOp::create(
        b.builder, b.loc, first, pieces, step, ValueRange{b.constant(b.i32, 0)},
        [&](OpBuilder &, Location, Value piece, ValueRange most) {
          Value row = b.mul(b.div(piece, inRow), rowsOfPiece);
          Value column = b.mul(b.rem(piece, inRow), lanes);
          Value found = op.getTransposed() ? mixRows(batch, row, column)
                                           : emitPiece(batch, row, column);
          scf::YieldOp::create(b.builder, b.loc, b.maxS(most[0], found));
        });
    return loop.getResult(0);
  }

  RealLines getLines() { return {input, /*transposed=*/false}; }

  Value emitPiece(Value batch, Value row, Value column) {
    Position at{batch, row, column};
    if (!op.getHadamard())
      return magnitude(getLines().load(b, at, lanes, /*count=*/Value()));
    HadamardAttr attr = *op.getHadamard();
    Value left = b.sub(columns, column);
    auto emitRun = [&](Value count) {
      Value x = getLines().load(b, at, kRun, count);
      Value y = emitHadamard(b, x, attr.getNormalized(), attr.getSignMask());
      if (count) {
        Value mask = emitLaneMask(b, count, kRun);
        y = b.select(mask, y, b.real(y, 0.0));
      }
      return magnitude(y);
    };
    return b.branch(
        b.cmp(Predicate::sge, left, kRun), [&] { return emitRun(Value()); },
        [&] { return emitRun(left); });
  }

  /// Sixteen rows of `lanes` columns after a transform along the rows.
  Value mixRows(Value batch, Value row, Value column) {
    HadamardAttr attr = *op.getHadamard();
    Value left = b.sub(rows, row);
    auto emitRun = [&](bool isWhole) {
      Value zeros = b.constantF32(VectorType::get(lanes, b.f32), 0.0f);
      SmallVector<Value> x, exists;
      for (int64_t i = 0; i < kRun; ++i) {
        Position at{batch, b.add(row, i), column};
        auto load = [&] {
          return getLines().load(b, at, lanes, /*count=*/Value());
        };
        if (isWhole) {
          x.push_back(load());
          continue;
        }
        exists.push_back(b.cmp(Predicate::sgt, left, i));
        x.push_back(b.branch(exists.back(), load, [&] { return zeros; }));
      }
      emitHadamard(b, x, attr.getNormalized(), attr.getSignMask());
      Value most = b.toBits(zeros);
      for (int64_t i = 0; i < kRun; ++i) {
        Value larger = b.maxS(most, b.toBits(b.absF(x[i])));
        most = isWhole ? larger : b.select(exists[i], larger, most);
      }
      return largestLane(most);
    };
    return b.branch(
        b.cmp(Predicate::sge, left, kRun),
        [&] { return emitRun(/*isWhole=*/true); },
        [&] { return emitRun(/*isWhole=*/false); });
  }

  Value magnitude(Value x) { return largestLane(b.toBits(b.absF(x))); }

  Value largestLane(Value bits) {
    return vector::ReductionOp::create(b.builder, b.loc,
                                       vector::CombiningKind::MAXUI, bits);
  }

  /// Brings the bits of all threads to the result.
  void share(Value batch, Value bits) {
    for (int32_t distance = kWarp / 2; distance > 0; distance /= 2)
      bits =
          b.maxS(bits, gpu::ShuffleOp::create(b.builder, b.loc, bits, distance,
                                              kWarp, gpu::ShuffleMode::XOR)
                           .getShuffleResult());
    Value lane = gpu::LaneIdOp::create(b.builder, b.loc, IntegerAttr());
    b.ifThen(b.cmp(Predicate::eq, lane, b.index(0)), [&] {
      LLVM::AtomicRMWOp::create(b.builder, b.loc, LLVM::AtomicBinOp::max,
                                addressOf(batch), bits,
                                LLVM::AtomicOrdering::monotonic);
    });
  }
};

struct LowerAmax : OpRewritePattern<AmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    AmaxEmitter(b, op).emit();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void togpu::populateAmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAmax>(patterns.getContext());
}
