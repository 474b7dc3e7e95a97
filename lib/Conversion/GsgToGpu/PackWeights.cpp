//===- PackWeights.cpp - Weights packed for sm_90a by kernels ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread packs what four threads of the decoder read: two rows, eight apart,
// of the 64 columns of a block. For UE8M0 scales a launch before finds the
// range of those that count, since all of a matrix share one factor.
//
//===----------------------------------------------------------------------===//

#include "PackWeights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::format;
using namespace nvfp4::format::wgmma;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

namespace {
constexpr int64_t kStep = 16, kQuads = 32, kLanesOfQuad = 4;

/// Sixteen columns of a row.
struct RowStep {
  /// vector<16xi8>, of which those that count for nothing are zero.
  Value codes;
  /// The byte of the scale that is stored, i32.
  Value stored;
  /// For UE8M0: whether the power of two counts, and its exponent (i32).
  Value isPower, exponent;
};

struct WeightPacker {
  LoopBuilder &b;
  const PackedWeights &weights;
  StagedColumns &source;
  CodeLines codes;
  MemRefParts scales, out;
  Value strips;
  /// The range of exponents of each matrix: lowest and highest, i32.
  Value ranges = {};

  bool isUE8M0() const { return weights.coding.scale == ScaleKind::E8M0; }
  bool isFP4() const { return weights.coding.element == ElementKind::E2M1; }

  void run() {
    if (isUE8M0())
      findRanges();
    storeFactors();
    forQuads([&](const Quad &quad) { pack(quad); });
    if (ranges)
      gpu::DeallocOp::create(b.builder, b.loc, Type(), ValueRange(), ranges);
  }

private:
  struct Quad {
    Value matrix, strip, block, number;
  };

  Value i32(int64_t value) { return b.constant(b.i32, value); }

  void forQuads(function_ref<void(const Quad &)> body) {
    Value total =
        b.mul(b.mul(b.mul(weights.matrices, strips), weights.blocks), kQuads);
    b.parallel(b.toIndex(total), [&](Value index) {
      Value n = b.toI64(index);
      Quad quad;
      quad.number = b.rem(n, kQuads);
      n = b.div(n, kQuads);
      quad.block = b.rem(n, weights.blocks);
      n = b.div(n, weights.blocks);
      quad.strip = b.rem(n, strips);
      quad.matrix = b.div(n, strips);
      body(quad);
    });
  }

  //===--------------------------------------------------------------------===//
  // Codes and scales
  //===--------------------------------------------------------------------===//

  /// The codes of `piece` in `row` of a matrix, and the byte of their scale;
  /// zeros where there are none.
  std::pair<Value, Value> load(const Quad &quad, Value row,
                               const ColumnPiece &piece) {
    auto type = VectorType::get(kStep, b.i8);
    Value isRow = b.cmp(Predicate::slt, row, weights.rows);
    Value isThere = b.bitAnd(isRow, b.cmp(Predicate::sgt, piece.count, 0));
    auto found =
        scf::IfOp::create(b.builder, b.loc, TypeRange{type, b.i8}, isThere,
                          /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(found.thenBlock());
    Position at{b.i64Constant(0), b.add(b.mul(quad.matrix, weights.rows), row),
                piece.column};
    Value loaded = b.branch(
        b.cmp(Predicate::eq, piece.count, kStep),
        [&] { return codes.load(b, at, kStep, Value()); },
        [&] {
          Value some = codes.load(b, at, kStep, piece.count);
          return b.select(emitLaneMask(b, piece.count, kStep), some,
                          b.constant(type, 0));
        });
    Value scale =
        b.load(b.i8, b.ptrAdd(scales.rowAddress(b, at.line), piece.scale));
    scf::YieldOp::create(b.builder, b.loc, ValueRange{loaded, scale});
    b.builder.setInsertionPointToStart(found.elseBlock());
    scf::YieldOp::create(b.builder, b.loc,
                         ValueRange{b.constant(type, 0), b.constant(b.i8, 0)});
    return {found.getResult(0), found.getResult(1)};
  }

  //===--------------------------------------------------------------------===//
  // Faults
  //===--------------------------------------------------------------------===//

  void report(Value isBad, Value matrix, loops::DataChecks::Finding finding) {
    finding.limit = b.select(b.cmp(Predicate::sgt, weights.matrices, 1), matrix,
                             b.i64Constant(-1));
    weights.checks.report(b, 0, isBad, finding);
  }

  /// A UE4M3 scale with its sign set.
  void checkSign(const Quad &quad, Value row, Value scale) {
    if (!weights.checks)
      return;
    loops::DataChecks::Finding finding;
    finding.row = row;
    report(b.cmp(Predicate::sge, scale, 0x80), quad.matrix, finding);
  }

  /// An infinite element of E5M2 among `magnitudes`, unless one is NaN.
  void checkInfinity(const Quad &quad, Value row, const ColumnPiece &piece,
                     Value scale, Value magnitudes) {
    constexpr int64_t infinity = 0x7C;
    if (!weights.checks || weights.coding.element != ElementKind::E5M2)
      return;
    Value isInfinite = b.cmp(Predicate::eq, largest(magnitudes), infinity);
    Value isBad = b.bitAnd(isInfinite, b.cmp(Predicate::ne, scale, 0xFF));
    b.ifThen(isBad, [&] {
      Value first = b.i64Constant(0);
      for (int64_t i = kStep - 1; i >= 0; --i) {
        Value byte = vector::ExtractOp::create(b.builder, b.loc, magnitudes, i);
        first = b.select(b.cmp(Predicate::eq, byte, infinity), b.i64Constant(i),
                         first);
      }
      loops::DataChecks::Finding finding;
      finding.row = row;
      finding.column = b.add(piece.column, first);
      report(isBad, quad.matrix, finding);
    });
  }

  /// UE8M0 scales from 2^low to 2^high.
  void checkSpread(Value matrix, Value isBad, Value low, Value high) {
    if (!weights.checks)
      return;
    loops::DataChecks::Finding finding;
    finding.row = b.i64Constant(-1);
    finding.seen = b.signExtend(low, b.i64);
    finding.before = b.signExtend(high, b.i64);
    report(isBad, matrix, finding);
  }

  /// The exponents of the matrix are lowered by `shift`.
  RowStep read(const Quad &quad, Value row, const ColumnPiece &piece,
               Value shift) {
    auto [loaded, byte] = load(quad, row, piece);
    Value scale = b.zeroExtend(byte, b.i32);
    Value zeros = b.constant(loaded.getType(), 0);
    RowStep step;
    if (!isUE8M0()) {
      checkSign(quad, row, scale);
      step.stored = packUE4M3(scale);
      step.codes = b.select(b.cmp(Predicate::eq, scale, 0), zeros, loaded);
      return step;
    }
    Value magnitudes = b.bitAnd(loaded, isFP4() ? 7 : 0x7F);
    Value isZero = b.cmp(Predicate::eq, largest(magnitudes), 0);
    Value isNan = b.cmp(Predicate::eq, scale, 0xFF);
    if (!isFP4()) {
      // An infinite element, which the host refuses, becomes NaN as well.
      int64_t last = weights.coding.element == ElementKind::E5M2 ? 0x7B : 0x7E;
      isNan = b.bitOr(isNan, b.cmp(Predicate::sgt, largest(magnitudes), last));
    }
    if (shift)
      checkInfinity(quad, row, piece, scale, magnitudes);
    Value isPower = b.logicalNot(b.bitOr(isNan, isZero));
    step.isPower = isPower;
    step.exponent = b.sub(scale, i32(127));
    step.codes = b.select(isPower, loaded, zeros);
    if (!shift)
      return step;
    FieldRange range = getFieldRange(weights.coding);
    Value field = b.sub(b.add(step.exponent, range.offset), shift);
    Value nan = i32(getPackedNan(weights.coding));
    Value power = b.shl(field, range.shift);
    step.stored = b.select(isPower, power, b.select(isNan, nan, i32(0)));
    return step;
  }

  Value largest(Value bytes) {
    return b.zeroExtend(
        vector::ReductionOp::create(b.builder, b.loc,
                                    vector::CombiningKind::MAXUI, bytes)
            .getResult(),
        b.i32);
  }

  /// packScale of WgmmaWeights.h; a scale with its sign set is NaN.
  Value packUE4M3(Value scale) {
    uint64_t subnormal = 0;
    for (uint64_t mantissa = 0; mantissa < 8; ++mantissa)
      subnormal |= uint64_t(packScale(uint8_t(mantissa))) << (8 * mantissa);
    constexpr int64_t normal = 8;
    int64_t offset = packScale(normal) - normal;
    Value small = b.truncate(
        b.bitAnd(b.shr(b.i64Constant(static_cast<int64_t>(subnormal)),
                       b.zeroExtend(b.shl(b.bitAnd(scale, 7), 3), b.i64)),
                 0xFF),
        b.i32);
    Value isSmall = b.cmp(Predicate::slt, scale, normal);
    Value packed = b.select(isSmall, small, b.add(scale, offset));
    return b.select(b.cmp(Predicate::sge, scale, 0x7F), i32(kPackedNan),
                    packed);
  }

  /// Rows row and row + 8 in the steps of a block.
  void readSteps(const Quad &quad, Value shift, RowStep (&steps)[kSteps][2]) {
    Value pair = b.mul(b.div(quad.number, 8), 16);
    Value inStrip = b.add(pair, b.rem(quad.number, b.i64Constant(8)));
    Value row = b.add(b.mul(quad.strip, kBlockRows), inStrip);
    for (int64_t step = 0; step < kSteps; ++step) {
      Value target = b.add(b.mul(quad.block, kBlockColumns), step * kStep);
      ColumnPiece piece = source.find(target, kStep);
      for (int64_t below = 0; below < 2; ++below)
        steps[step][below] = read(quad, b.add(row, 8 * below), piece, shift);
    }
  }

  //===--------------------------------------------------------------------===//
  // Factors
  //===--------------------------------------------------------------------===//

  void findRanges() {
    auto type = getDenseMemory(
        MemRefType::get({ShapedType::kDynamic, 2}, b.i32), /*isOnDevice=*/true);
    ranges = gpu::AllocOp::create(b.builder, b.loc, type, Type(), ValueRange(),
                                  ValueRange{b.toIndex(weights.matrices)},
                                  ValueRange())
                 .getMemref();
    constexpr int64_t none = 1 << 10;
    b.parallel(b.toIndex(weights.matrices), [&](Value matrix) {
      b.store(i32(none), ranges, {matrix, b.index(0)});
      b.store(i32(-none), ranges, {matrix, b.index(1)});
    });
    forQuads([&](const Quad &quad) {
      RowStep steps[kSteps][2];
      readSteps(quad, Value(), steps);
      Value low = i32(none), high = i32(-none);
      for (auto &step : steps)
        for (RowStep &row : step) {
          low = b.minS(low, b.select(row.isPower, row.exponent, i32(none)));
          high = b.maxS(high, b.select(row.isPower, row.exponent, i32(-none)));
        }
      // The threads of a block of weights are a warp.
      auto share = [&](Value value, bool isLow) {
        for (int32_t distance = kQuads / 2; distance > 0; distance /= 2) {
          Value other =
              gpu::ShuffleOp::create(b.builder, b.loc, value, distance,
                                     int32_t(kQuads), gpu::ShuffleMode::XOR)
                  .getShuffleResult();
          value = isLow ? b.minS(value, other) : b.maxS(value, other);
        }
        return value;
      };
      low = share(low, /*isLow=*/true);
      high = share(high, /*isLow=*/false);
      Value isFirst = b.cmp(Predicate::eq, quad.number, 0);
      b.ifThen(b.bitAnd(isFirst, b.cmp(Predicate::sle, low, high)), [&] {
        auto update = [&](arith::AtomicRMWKind kind, Value value, int64_t at) {
          memref::AtomicRMWOp::create(
              b.builder, b.loc, kind, value, ranges,
              ValueRange{b.toIndex(quad.matrix), b.index(at)});
        };
        update(arith::AtomicRMWKind::mins, low, 0);
        update(arith::AtomicRMWKind::maxs, high, 1);
      });
    });
  }

  Value getRange(Value matrix, int64_t i) {
    return b.load(ranges, {b.toIndex(matrix), b.index(i)});
  }

  /// The number that the exponents of a matrix are lowered by, so that their
  /// fields are in range.
  Value getShift(Value matrix) {
    FieldRange range = getFieldRange(weights.coding);
    Value low = getRange(matrix, 0), high = getRange(matrix, 1);
    Value over = b.add(high, range.offset - range.high);
    Value under = b.add(low, range.offset - range.low);
    Value isOver = b.cmp(Predicate::sgt, over, 0);
    Value isUnder = b.cmp(Predicate::slt, under, 0);
    Value shift = b.select(isOver, over, b.select(isUnder, under, i32(0)));
    return b.select(b.cmp(Predicate::sle, low, high), shift, i32(0));
  }

  void storeFactors() {
    b.parallel(b.toIndex(weights.matrices), [&](Value index) {
      Value matrix = b.toI64(index);
      Value factor = b.constantF32(b.f32, std::ldexp(1.0f, -kResultExponent));
      if (isUE8M0()) {
        FieldRange range = getFieldRange(weights.coding);
        Value exponent = b.add(getShift(matrix), 127 - kResultExponent);
        Value power = b.fromBits(b.shl(exponent, 23));
        Value low = getRange(matrix, 0), high = getRange(matrix, 1);
        Value isApart =
            b.cmp(Predicate::sgt, b.sub(high, low), range.high - range.low);
        checkSpread(matrix, isApart, low, high);
        factor = b.select(
            isApart,
            b.constantF32(b.f32, std::numeric_limits<float>::quiet_NaN()),
            power);
      }
      b.store(factor, weights.factors, {index});
    });
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  void pack(const Quad &quad) {
    Value shift = isUE8M0() ? getShift(quad.matrix) : Value();
    RowStep steps[kSteps][2];
    readSteps(quad, shift, steps);
    const Coding &coding = weights.coding;
    Value block = b.add(b.mul(quad.strip, weights.blocks), quad.block);
    Value matrix = b.ptrAdd(out.address, b.mul(quad.matrix, weights.pitch));
    Value to = b.ptrAdd(matrix, b.mul(block, coding.blockBytes()));
    Value words[kLanesOfQuad][2 * kSteps];
    for (int lane = 0; lane < kLanesOfQuad; ++lane)
      packLane(steps, lane, words[lane]);
    // 16 bytes of each lane, in each of the halves of elements of 8 bits.
    int64_t halves = coding.codeBytes() / kCodeBytes;
    for (int64_t half = 0; half < halves; ++half) {
      SmallVector<Value> all;
      for (auto &lane : words)
        all.append(lane + half * kSteps, lane + (half + 1) * kSteps);
      store(all, b.ptrAdd(to, b.mul(quad.number, 16 * kLanesOfQuad)),
            half * kCodeBytes);
    }
    SmallVector<Value> scaleWords;
    for (int pair = 0; pair < 2; ++pair)
      scaleWords.push_back(packScaleWord(steps[2 * pair], steps[2 * pair + 1]));
    store(scaleWords, b.ptrAdd(to, b.mul(quad.number, 8)), coding.codeBytes());
  }

  void store(ArrayRef<Value> words, Value to, int64_t offset) {
    auto size = static_cast<int64_t>(words.size());
    Value vector = vector::FromElementsOp::create(
        b.builder, b.loc, VectorType::get(size, b.i32), words);
    // Blocks are multiples of 16 bytes.
    b.store(vector, to, offset, std::min<int64_t>(4 * size, 16));
  }

  /// The code of register `i` of a decoder's thread, `half` 0 or 1.
  Value codeOf(RowStep (&step)[2], int lane, int i, int half) {
    int64_t column = columnOf(lane, 0, i) + half;
    return b.zeroExtend(
        vector::ExtractOp::create(b.builder, b.loc, step[i & 1].codes, column)
            .getResult(),
        b.i32);
  }

  Value rotateRight(Value x, int64_t bits) {
    if (bits == 0)
      return x;
    Value low = b.shr(x, bits);
    return b.bitOr(low, b.shl(x, 32 - bits));
  }

  void packLane(RowStep (&steps)[kSteps][2], int lane, Value *words) {
    if (!isFP4())
      return packBytes(steps, lane, words);
    if (weights.coding.type == Multiplicand::F16) {
      for (int step = 0; step < kSteps; ++step)
        words[step] = packForF16(steps[step], lane);
      return;
    }
    for (int pair = 0; pair < 2; ++pair)
      packForBF16(steps[2 * pair], steps[2 * pair + 1], lane, words + 2 * pair);
  }

  void packBytes(RowStep (&steps)[kSteps][2], int lane, Value *words) {
    for (int step = 0; step < kSteps; ++step)
      for (int i = 0; i < 2; ++i) {
        auto at = [&](int below, int half, int64_t shift) {
          return b.shl(codeOf(steps[step], lane, 2 * i + below, half), shift);
        };
        Value first = at(0, 0, 8), above = b.bitOr(first, at(0, 1, 24));
        Value second = at(1, 0, 0), below = b.bitOr(second, at(1, 1, 16));
        words[2 * step + i] = b.bitOr(above, below);
      }
  }

  Value packForF16(RowStep (&step)[2], int lane) {
    Value word = i32(0);
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half) {
        Value code = codeOf(step, lane, i, half);
        Value sign = b.shr(b.shl(b.bitAnd(code, 8), 12), kF16Shifts[i][0]);
        Value rest = b.shr(b.shl(b.bitAnd(code, 7), 9), kF16Shifts[i][1]);
        word = b.bitOr(word, b.shl(b.bitOr(sign, rest), 16 * half));
      }
    return word;
  }

  /// Two codes at their places in a register of the decoder.
  Value place(RowStep (&step)[2], int lane, int i) {
    Value low = codeOf(step, lane, i, 0), high = codeOf(step, lane, i, 1);
    auto at = [&](Value code, int64_t sign, int64_t rest) {
      Value top = b.shl(b.bitAnd(code, 8), sign);
      return b.bitOr(top, b.shl(b.bitAnd(code, 7), rest));
    };
    Value right = at(low, 12, 6);
    return b.bitOr(right, at(high, 28, 22));
  }

  void packForBF16(RowStep (&first)[2], RowStep (&second)[2], int lane,
                   Value *words) {
    Value ofFirst = rotateRight(place(first, lane, 3), kPoolRotations[0]);
    Value ofSecond = rotateRight(place(second, lane, 3), kPoolRotations[1]);
    Value pool = b.bitOr(ofFirst, ofSecond);
    Value x = b.bitAnd(pool, kPoolMask);
    Value y = rotateRight(b.bitAnd(pool, static_cast<uint32_t>(~kPoolMask)),
                          kPoolShift);
    for (int i = 0; i < 3; ++i) {
      x = b.bitOr(x, rotateRight(place(first, lane, i), kRotations[i]));
      y = b.bitOr(y, rotateRight(place(second, lane, i), kRotations[i]));
    }
    words[0] = x;
    words[1] = y;
  }

  /// packScales of WgmmaBlock.h.
  Value packScaleWord(RowStep (&first)[2], RowStep (&second)[2]) {
    Value low = b.bitOr(first[0].stored, b.shl(second[1].stored, 8));
    Value third = b.shl(first[1].stored, 16);
    Value high = b.bitOr(third, b.shl(second[0].stored, 24));
    return rotateRight(b.bitOr(low, high), 28);
  }
};
} // namespace

void PackedWeights::addChecks(LoopBuilder &b, Operation *op) {
  FieldRange range{};
  if (coding.scale == ScaleKind::E8M0)
    range = getFieldRange(coding);
  checks = loops::DataChecks(
      b.builder, op,
      loops::DataChecks::getWeights(op->getContext(), range.high - range.low));
}

void togpu::packWeights(LoopBuilder &b, const PackedWeights &weights,
                        StagedColumns &columns) {
  CodeLines codes{MemRefParts::get(b, weights.codes), weights.coding.element};
  codes.anyPhase = columns.isGrouped();
  WeightPacker packer{b,
                      weights,
                      columns,
                      codes,
                      MemRefParts::get(b, weights.scales),
                      MemRefParts::get(b, weights.out),
                      b.div(b.add(weights.rows, kBlockRows - 1), kBlockRows)};
  packer.run();
}
