//===- StageRows.cpp - stage_rows as a kernel -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has a block under one scale. Where the host's code would fail the
// call, for a number that bf16 does not hold, the kernel stores NaN.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

namespace {
/// The code of one thread.
struct StagedBlock {
  LoopBuilder &b;
  format::BlockFormat format;
  CodeLines codes;
  MemRefParts scales;
  RealLines out;
  /// Of the operand, i64.
  Value columns;

  int64_t getSize() const { return format::blockSize(format); }

  void build(Value row, Value number) {
    Value first = b.mul(number, getSize());
    Position at{b.i64Constant(0), row, first};
    Value left = b.sub(columns, first);
    b.ifThenElse(
        b.cmp(Predicate::sge, left, getSize()),
        [&] { store(at, decode(at, number, Value())); },
        [&] { buildEnd(at, number, left); });
  }

private:
  /// The last block that has elements, or zeros behind it.
  void buildEnd(const Position &at, Value number, Value left) {
    b.ifThenElse(
        b.cmp(Predicate::sgt, left, 0),
        [&] {
          Value values = decode(at, number, left);
          Value zeros = b.real(values, 0.0);
          store(at, b.select(emitLaneMask(b, left, getSize()), values, zeros));
        },
        [&] {
          store(at, b.constantF32(VectorType::get(getSize(), b.f32), 0.0f));
        });
  }

  void store(const Position &at, Value values) {
    out.store(b, values, at, /*count=*/Value());
  }

  Value decode(const Position &at, Value number, Value count) {
    Value code = codes.load(b, at, getSize(), count);
    Value scale = b.load(b.i8, b.ptrAdd(scales.rowAddress(b, at.line), number));
    Value exact = emitDequantizeExactly(b, format, code, scale);
    if (exact.getType() == VectorType::get(getSize(), b.f32))
      return exact;
    return keepBf16(exact);
  }

  /// f64 as f32; NaN for a finite number outside of the range of bf16.
  Value keepBf16(Value wide) {
    Value magnitude = b.maxF(wide, b.negF(wide));
    Value isZero = b.cmpF(FloatPredicate::OEQ, magnitude, 0.0);
    Value isInfinite = b.cmpF(FloatPredicate::OEQ, magnitude, INFINITY);
    Value isSmall = b.cmpF(FloatPredicate::OLT, magnitude, 0x1p-126);
    Value isLarge = b.cmpF(FloatPredicate::OGE, magnitude, 0x1p128);
    Value isOutside = b.bitOr(b.bitAnd(isSmall, b.logicalNot(isZero)),
                              b.bitAnd(isLarge, b.logicalNot(isInfinite)));
    Value narrow = b.narrow(wide);
    return b.select(isOutside, b.real(narrow, std::nan("")), narrow);
  }
};

struct LowerStageRows : OpRewritePattern<warpspec::StageRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(warpspec::StageRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()) || !op.getFormat() ||
        op.isGroupedAlongK())
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    auto name = *op.getFormat();
    auto format = *format::parseBlockFormat({name.data(), name.size()});
    CodeLines codes{MemRefParts::get(b, getMatrix(b, op.getInput())),
                    format::elementKind(format)};
    MemRefParts scales = MemRefParts::get(b, getMatrix(b, op.getScales()));
    RealLines out{MemRefParts::get(b, op.getOut())};
    Value columns = b.toI64(op.getColumns());
    StagedBlock block{b, format, codes, scales, out, columns};
    Value blocks = b.div(out.parts.columns(b), block.getSize());
    Value total = b.mul(out.parts.rows(b), blocks);
    b.parallel(b.toIndex(total), [&](Value index) {
      Value number = b.toI64(index);
      block.build(b.div(number, blocks), b.rem(number, blocks));
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void togpu::populateStagingPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerStageRows>(patterns.getContext());
}
