//===- StageOperands.cpp - Staging as kernels -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands as the kernels of products read them; lib/Runtime/Staging has the
// host's code. Where that would fail the call, for a number that bf16 does not
// hold, stage_rows stores NaN.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"
#include "StagedColumns.h"

#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
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
  StagedColumns &source;
  CodeLines codes;
  MemRefParts scales;
  RealLines out;

  int64_t getSize() const { return format::blockSize(format); }

  void build(Value row, Value number) {
    Position to{b.i64Constant(0), row, b.mul(number, getSize())};
    ColumnPiece piece = source.find(to.along, getSize());
    b.ifThenElse(
        b.cmp(Predicate::eq, piece.count, getSize()),
        [&] { store(to, decode(row, piece, /*isWhole=*/true)); },
        [&] { buildEnd(to, piece); });
  }

private:
  /// The last block that has elements, or zeros behind it.
  void buildEnd(const Position &to, const ColumnPiece &piece) {
    b.ifThenElse(
        b.cmp(Predicate::sgt, piece.count, 0),
        [&] {
          Value values = decode(to.line, piece, /*isWhole=*/false);
          Value zeros = b.real(values, 0.0);
          store(to, b.select(emitLaneMask(b, piece.count, getSize()), values,
                             zeros));
        },
        [&] {
          store(to, b.constantF32(VectorType::get(getSize(), b.f32), 0.0f));
        });
  }

  void store(const Position &at, Value values) {
    out.store(b, values, at, /*count=*/Value());
  }

  Value decode(Value row, const ColumnPiece &piece, bool isWhole) {
    Position at{b.i64Constant(0), row, piece.column};
    Value code = codes.load(b, at, getSize(), isWhole ? Value() : piece.count);
    Value scale =
        b.load(b.i8, b.ptrAdd(scales.rowAddress(b, row), piece.scale));
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
    Value isBelow = b.bitAnd(isSmall, b.logicalNot(isZero));
    Value isAbove = b.bitAnd(isLarge, b.logicalNot(isInfinite));
    Value isOutside = b.bitOr(isBelow, isAbove);
    Value narrow = b.narrow(wide);
    return b.select(isOutside, b.real(narrow, std::nan("")), narrow);
  }
};

/// Calls `body(row, number)` for each of the pieces of `length` columns that
/// `rows` rows of `out` have, in threads of a launch. Those are the rows of
/// what is staged: where it has none, `out` has one, for memory has an address.
void forPieces(LoopBuilder &b, Value rows, const MemRefParts &out,
               int64_t length,
               function_ref<void(Value row, Value number)> body) {
  Value pieces = b.div(out.columns(b), length);
  b.parallel(b.toIndex(b.mul(rows, pieces)), [&](Value index) {
    Value number = b.toI64(index);
    Value row = b.div(number, pieces);
    body(row, b.rem(number, pieces));
  });
}

struct LowerStageRows : OpRewritePattern<warpspec::StageRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(warpspec::StageRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    RealLines out{MemRefParts::get(b, op.getOut())};
    Value input = getMatrix(b, op.getInput());
    Value columns = b.toI64(op.getColumns());
    // Without a format blocks have no meaning.
    BlockFormat format = op.getFormat() ? *symbolizeBlockFormat(*op.getFormat())
                                        : BlockFormat::NVFP4;
    Value scales = op.getScales() ? getMatrix(b, op.getScales()) : Value();
    StagedColumns source(b, format, columns, scales, GroupsAlongK::get(op));
    if (scales) {
      CodeLines codes{MemRefParts::get(b, input),
                      format::elementKind(toFormat(format))};
      codes.anyPhase = source.isGrouped();
      StagedBlock block{
          b, toFormat(format), source, codes, MemRefParts::get(b, scales), out};
      forPieces(b, codes.parts.rows(b), out.parts, block.getSize(),
                [&](Value row, Value number) { block.build(row, number); });
    } else {
      RealLines rows{MemRefParts::get(b, input)};
      rows.anyPhase = true;
      copyRows(b, rows, out, source);
    }
    source.free();
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Rows of 16 bits, eight columns a thread.
  static void copyRows(LoopBuilder &b, const RealLines &rows,
                       const RealLines &out, StagedColumns &source) {
    constexpr int64_t length = 8;
    forPieces(
        b, rows.parts.rows(b), out.parts, length, [&](Value row, Value number) {
          Position to{b.i64Constant(0), row, b.mul(number, length)};
          ColumnPiece piece = source.find(to.along, length);
          Position from{to.batch, row, piece.column};
          Value values = b.branch(
              b.cmp(Predicate::sgt, piece.count, 0),
              [&] { return rows.load(b, from, length, piece.count); },
              [&] {
                return b.constantF32(VectorType::get(length, b.f32), 0.0f);
              });
          out.store(b, values, to, /*count=*/Value());
        });
  }
};

/// Codes, 16 bytes a thread.
struct LowerStageValues : OpRewritePattern<warpspec::StageValuesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(warpspec::StageValuesOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    BlockFormat format = *symbolizeBlockFormat(op.getFormat());
    format::ElementKind kind = format::elementKind(toFormat(format));
    Value columns = b.toI64(op.getColumns());
    StagedColumns source(b, format, columns, /*scales=*/Value(),
                         GroupsAlongK::get(op));
    CodeLines from{MemRefParts::get(b, getMatrix(b, op.getInput())), kind};
    CodeLines to{MemRefParts::get(b, op.getOut()), kind};
    from.anyPhase = true;
    constexpr int64_t bytes = 16;
    int64_t length = bytes * 8 / format::elementBits(toFormat(format));
    forPieces(b, from.parts.rows(b), to.parts, bytes,
              [&](Value row, Value number) {
                Position at{b.i64Constant(0), row, b.mul(number, length)};
                ColumnPiece piece = source.find(at.along, length);
                Value zeros = b.constant(VectorType::get(length, b.i8), 0);
                Value codes = b.branch(
                    b.cmp(Predicate::sgt, piece.count, 0),
                    [&] {
                      Value some = from.load(b, {at.batch, row, piece.column},
                                             length, piece.count);
                      return b.select(emitLaneMask(b, piece.count, length),
                                      some, zeros);
                    },
                    [&] { return zeros; });
                to.store(b, codes, at, /*count=*/Value());
              });
    source.free();
    rewriter.eraseOp(op);
    return success();
  }
};

/// Four scales of a row a thread, which lie together in a tile of 128 rows.
struct LowerStageScales : OpRewritePattern<warpspec::StageScalesOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr int64_t kTileRows = 128, kTileColumns = 4;

  LogicalResult matchAndRewrite(warpspec::StageScalesOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    BlockFormat format = *symbolizeBlockFormat(op.getFormat());
    int64_t block = format::blockSize(toFormat(format));
    Value input = getMatrix(b, op.getInput());
    StagedColumns source(b, format, b.toI64(op.getColumns()), input,
                         GroupsAlongK::get(op));
    MemRefParts from = MemRefParts::get(b, input);
    MemRefParts to = MemRefParts::get(b, op.getOut());
    // A row of the result has the tiles of 128 rows.
    Value tiles = b.div(to.columns(b), warpspec::kScaleAtomBytes);
    Value rows = b.mul(to.rows(b), kTileRows);
    b.parallel(b.toIndex(b.mul(rows, tiles)), [&](Value index) {
      Value number = b.toI64(index);
      Value row = b.div(number, tiles), tile = b.rem(number, tiles);
      Value word = b.constant(b.i32, 0);
      for (int64_t i = 0; i < kTileColumns; ++i) {
        Value column = b.add(b.mul(tile, kTileColumns), i);
        ColumnPiece piece = source.find(b.mul(column, block), block);
        Value isRow = b.cmp(Predicate::slt, row, from.rows(b));
        Value isThere = b.bitAnd(isRow, b.cmp(Predicate::sgt, piece.count, 0));
        Value scale = b.branch(
            isThere,
            [&] {
              return b.load(b.i8,
                            b.ptrAdd(from.rowAddress(b, row), piece.scale));
            },
            [&] { return b.constant(b.i8, 0); });
        word = b.bitOr(word, b.shl(b.zeroExtend(scale, b.i32), 8 * i));
      }
      Value inTile = b.rem(row, b.i64Constant(kTileRows));
      Value inColumn = b.mul(b.rem(inTile, b.i64Constant(32)), 16);
      Value offset = b.add(inColumn, b.mul(b.div(inTile, 32), kTileColumns));
      Value line = to.rowAddress(b, b.div(row, kTileRows));
      Value at = b.add(b.mul(tile, warpspec::kScaleAtomBytes), offset);
      b.store(word, b.ptrAdd(line, at), /*bytes=*/0, /*alignment=*/4);
    });
    source.free();
    rewriter.eraseOp(op);
    return success();
  }
};

/// Four bytes of a tile a thread; columns past the last one are zero.
struct LowerStagePaddedScales
    : OpRewritePattern<warpspec::StagePaddedScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(warpspec::StagePaddedScalesOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    MemRefParts from = MemRefParts::get(b, op.getInput());
    MemRefParts to = MemRefParts::get(b, op.getOut());
    // Tiles of 32 x 4 x 4 are the last three dimensions.
    Value tiles = from.sizes[from.getRank() - 4];
    Value columns = b.toI64(op.getColumns());
    Value rows = b.i64Constant(1);
    for (Value size : ArrayRef(from.sizes).drop_back(4))
      rows = b.mul(rows, size);
    forPieces(b, rows, to, 4, [&](Value row, Value number) {
      Value tile = b.div(b.mul(number, 4), warpspec::kScaleAtomBytes);
      Value bytes = b.mul(tiles, warpspec::kScaleAtomBytes);
      Value at = b.mul(number, 4);
      Value word = b.branch(
          b.cmp(Predicate::slt, at, bytes),
          [&] {
            Value source = b.ptrAdd(from.address, b.add(b.mul(row, bytes), at));
            return b.load(b.i32, source, /*bytes=*/0, /*alignment=*/4);
          },
          [&] { return b.constant(b.i32, 0); });
      // Bytes of columns that there are.
      Value left = b.sub(columns, b.mul(tile, 4));
      Value count = b.minS(b.maxS(left, 0), 4);
      Value mask =
          b.sub(b.shl(b.i64Constant(1), b.mul(count, 8)), b.i64Constant(1));
      word = b.bitAnd(word, b.truncate(mask, b.i32));
      b.store(word, b.ptrAdd(to.rowAddress(b, row), at), /*bytes=*/0,
              /*alignment=*/4);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// A byte a thread.
struct LowerStageOddValues : OpRewritePattern<warpspec::StageOddValuesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(warpspec::StageOddValuesOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    MemRefParts from = MemRefParts::get(b, getMatrix(b, op.getInput()));
    MemRefParts to = MemRefParts::get(b, op.getOut());
    Value last = b.sub(from.columns(b), b.i64Constant(1));
    forPieces(b, from.rows(b), to, 1, [&](Value row, Value column) {
      Value byte = b.branch(
          b.cmp(Predicate::sle, column, last),
          [&] {
            return b.load(b.i8, b.ptrAdd(from.rowAddress(b, row), column));
          },
          [&] { return b.constant(b.i8, 0); });
      Value isLast = b.cmp(Predicate::eq, column, last);
      Value cut = b.select(isLast, b.bitAnd(byte, 15), byte);
      b.store(cut, b.ptrAdd(to.rowAddress(b, row), column));
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void togpu::populateStagingPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerStageRows, LowerStageValues, LowerStageScales,
               LowerStagePaddedScales, LowerStageOddValues>(
      patterns.getContext());
}
