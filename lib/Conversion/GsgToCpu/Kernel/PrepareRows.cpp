//===- PrepareRows.cpp - activations in dot-product order -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unpacks rows of A. Rows are interleaved in tiles of getTileRows(), the last
// tile as high as its row variant m, and inside a tile block after block:
//   integers: i8 [m][block] of 2 * e2m1, i32 [m] of -12 * their sum, with
//             UE4M3 scales plus the bits of kSumOffset, f32 [m] scale; eight K
//             values k0..k7 of a packed dword are kept as
//             k0 k2 k4 k6 k1 k3 k5 k7, the order in which nibbles decode
//   pairs:    bf16 [m][block] values, i32 [m] which is not 0 if the row has,
//             in this block or before, an element that is too small for pairs
//   f32:      f32 [block][m] values, f32 [m] scale
//   tiles:    bf16 [m][block] values times scales; with UE4M3 they also carry
//             2^kTileBias, and a packed dword is kept as
//             k0 k4 k2 k6 k1 k5 k3 k7, the order in which weights decode
// Rows and blocks that do not exist get value +0 and scale -0, which leave
// every accumulator as it is, even -0; in tiles, whose sums are never -0, they
// are +0. Rows without scales have the scale 1, or
// none in pairs, where no accumulator of such a block is -0.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

/// 2 * e2m1 of bytes that hold one code each: magnitudes 0..4 are themselves,
/// 5, 6, 7 stand for 6, 8, 12.
static Value decodeDoubled(KernelBuilder &kb, Value codes) {
  Type type = codes.getType();
  Value magnitude = kb.bitAnd(codes, 7);
  Value extra = kb.maxS(kb.sub(magnitude, kb.constant(type, 4)), 0);
  Value seven = kb.select(kb.cmp(Predicate::eq, magnitude, 7),
                          kb.constant(type, 2), kb.constant(type, 0));
  Value value = kb.add(kb.add(magnitude, extra), seven);
  return kb.select(kb.cmp(Predicate::uge, codes, 8),
                   kb.sub(kb.constant(type, 0), value), value);
}

/// The 32 doubled values of a step in prepared order, as 8 dwords.
static Value unpackStep(KernelBuilder &kb, Value source) {
  Value packed = kb.load(VectorType::get(16, kb.i8), source);
  Value low = decodeDoubled(kb, kb.bitAnd(packed, 15));
  Value high = decodeDoubled(kb, kb.shr(packed, 4));
  return kb.shuffle(kb.bitcast(low, kb.i32), kb.bitcast(high, kb.i32),
                    {0, 4, 1, 5, 2, 6, 3, 7});
}

/// A step of E2M1 times `scales` of 16 bytes, as 16 pairs of bf16.
static Value unpackScaled(KernelBuilder &kb, Value source, Value scales,
                          bool isNatural) {
  Value codes =
      kb.zeroExtend(kb.load(VectorType::get(16, kb.i8), source), kb.i32);
  auto decode = [&](Value shifted) {
    return kb.bitcast(kb.mulF(lookUpE2M1(kb, shifted), scales), kb.i32);
  };
  Value even = decode(codes), odd = decode(kb.shr(codes, 4));
  Value lower = even, upper = odd;
  if (!isNatural) {
    SmallVector<int64_t> lowerMask, upperMask;
    for (int64_t dword = 0; dword < 16; dword += 4)
      for (int64_t lane : {dword, dword + 1, dword + 16, dword + 17}) {
        lowerMask.push_back(lane);
        upperMask.push_back(lane + 2);
      }
    lower = kb.shuffle(even, odd, lowerMask);
    upper = kb.shuffle(even, odd, upperMask);
  }
  return kb.bitOr(kb.shr(lower, 16), kb.bitAnd(upper, 0xFFFF0000));
}

/// A scale of E8M0, or NaN where it is too far from 1 for tiles. A block of
/// zeros, packed at `elements`, may have any scale, and is given 1 then.
static Value limitScale(KernelBuilder &kb, Value code, Value scale,
                        Value elements, int64_t blockSize) {
  auto constant = [&](float value) {
    return kb.constantF32(scale.getType(), value);
  };
  Value isFar = kb.cmp(Predicate::ugt, kb.add(code, kTileExponent - 127),
                       kb.constant(code.getType(), 2 * kTileExponent));
  Value bits = kb.load(kb.i64, elements);
  if (blockSize == 32)
    bits = kb.bitOr(bits, kb.load(kb.i64, elements, 8));
  Value isZeros = kb.cmp(Predicate::eq, kb.bitAnd(bits, 0x7777777777777777), 0);
  Value canBeOne = arith::AndIOp::create(kb.builder, kb.loc, isZeros,
                                         kb.cmp(Predicate::ne, code, 0xFF));
  Value far = kb.select(canBeOne, constant(1.0f),
                        constant(std::numeric_limits<float>::quiet_NaN()));
  return kb.select(isFar, far, scale);
}

/// Copies `bytes` of a row to a step that is zero behind them.
static void stagePlain(KernelBuilder &kb, Value from, Value bytes,
                       Value stage) {
  kb.store(kb.constant(VectorType::get(2 * kStep, kb.i8), 0), stage);
  kb.forLoop(kb.i64Constant(0), bytes, 1, [&](Value byte) {
    kb.store(kb.load(kb.i8, kb.ptrAdd(from, byte)), kb.ptrAdd(stage, byte));
  });
}

/// One bit for each element that is not zero and less than kLeastPaired.
static Value findTooSmall(KernelBuilder &kb, Value elements) {
  Value magnitudes = kb.bitAnd(elements, 0x7FFF);
  Value isSmall =
      kb.cmp(Predicate::ult, kb.add(magnitudes, -1), kLeastPaired - 1);
  return vector::ExtractOp::create(kb.builder, kb.loc,
                                   kb.bitcast(isSmall, kb.i32), 0);
}

/// Element `index` of a step of rows without scales, as f32.
static Value loadPlain(KernelBuilder &kb, PlainRows rows, Value step,
                       Value index) {
  Value bits = kb.load(kb.i16, kb.ptrAdd(step, kb.shl(index, 1)));
  return rows == PlainRows::BF16 ? emitBF16ToF32(kb.builder, kb.loc, bits)
                                 : emitF16ToF32(kb.builder, kb.loc, bits);
}

// prepare(data, scales, rowData, rowScales, rows, k, wordStride, phase, out)
LLVM::LLVMFuncOp KernelEmitter::emitPrepareRows() {
  auto func = beginFunction("_prepare_rows", prepareRowsTypes());
  auto args = func.getArguments();
  Value data = args[0], scales = args[1], rowData = args[2],
        rowScales = args[3], rows = args[4], k = args[5], wordStride = args[6],
        phase = args[7], out = args[8];
  int64_t blockSize = spec.blockSize, tileRows = plan.getTileRows();
  int64_t stepBytes = plan.getRowStepBytes();
  bool isPlain = spec.rows != PlainRows::None;
  bool nibbles = spec.activation == format::ElementKind::E2M1;
  Value zero = kb.i64Constant(0), one = kb.i64Constant(1);
  Value stage = LLVM::AllocaOp::create(builder, kb.loc, kb.ptr, kb.i8,
                                       kb.i64Constant(2 * kStep), 64);
  Value scaleSlots;
  if (plan.usesTiles())
    scaleSlots = LLVM::AllocaOp::create(builder, kb.loc, kb.ptr, kb.f32,
                                        kb.i64Constant(2), 8);
  Value padded = buildPaddedRows(builder, kb.loc, plan, rows);
  Value steps = kb.ceilShift(k, 5);
  Value lastTile = kb.sub(rows, kb.bitAnd(rows, tileRows - 1));

  kb.forLoop(zero, padded, 1, [&](Value row) {
    Value exists = kb.cmp(Predicate::slt, row, rows);
    // A row that does not exist borrows an address and reads nothing.
    Value readable = kb.select(exists, row, zero);
    Value rowK = kb.select(exists, k, zero);
    Value dataPtr = kb.ptrAdd(data, kb.loadOffset(rowData, readable));
    Value scalePtr = kb.ptrAdd(scales, kb.loadOffset(rowScales, readable));
    Value lane = kb.bitAnd(row, tileRows - 1);
    Value tile = kb.sub(row, lane);
    Value height = kb.select(kb.cmp(Predicate::slt, tile, lastTile),
                             kb.i64Constant(tileRows), kb.sub(padded, tile));
    Value blockBytes = kb.mul(height, plan.getRowBlockBytes());
    Value tilePtr =
        kb.ptrAdd(out, buildPreparedOffset(builder, kb.loc, plan, tile, k));

    SmallVector<Value> init;
    if (plan.usesPairs())
      init.push_back(kb.constant(kb.i32, 0));
    kb.forLoop(zero, steps, 1, init, [&](Value step, ValueRange carried) {
      SmallVector<Value> result(carried);
      Value first = kb.mul(step, kStep);
      Value valid = kb.maxS(kb.minS(kb.sub(rowK, first), kStep), 0);
      Value whole = kb.cmp(Predicate::eq, valid, kStep);
      if (nibbles)
        whole = arith::AndIOp::create(builder, kb.loc, whole,
                                      kb.cmp(Predicate::eq, phase, 0));
      kb.ifThenElse(
          whole, [] {},
          [&] {
            if (isPlain)
              return stagePlain(kb, kb.ptrAdd(dataPtr, kb.shl(first, 1)),
                                kb.shl(valid, 1), stage);
            Value noOffset = kb.ptrAdd(stage, kStep);
            kb.store(zero, noOffset);
            kb.call(stageActivations,
                    {dataPtr, noOffset, one, first, valid, phase, stage});
          });
      Value source =
          kb.select(whole, kb.ptrAdd(dataPtr, kb.mul(step, stepBytes)), stage);
      Value unpacked;
      if (plan.usesIntegers())
        unpacked = unpackStep(kb, source);
      if (plan.usesPairs()) {
        unpacked = kb.load(VectorType::get(kStep, kb.i16), source);
        result[0] = kb.bitOr(result[0], findTooSmall(kb, unpacked));
      }
      auto storeScale = [&](Value block, Value scaleAt, float missing,
                            Value elements = {}) {
        Value inside = kb.cmp(Predicate::slt, kb.mul(block, blockSize), rowK);
        kb.ifThenElse(
            inside,
            [&] {
              if (isPlain)
                return kb.store(kb.constantF32(kb.f32, 1.0f), scaleAt);
              Value at = kb.add(kb.mul(kb.shr(block, 2), wordStride),
                                kb.bitAnd(block, 3));
              Value byte = kb.load(kb.i8, kb.ptrAdd(scalePtr, at));
              Value code = kb.zeroExtend(byte, kb.i32);
              Value scale = decodeScale(code, 0, scaleExponent());
              if (plan.usesTiles() && scaleExponent() == 0)
                scale = limitScale(kb, code, scale, elements, blockSize);
              kb.store(scale, scaleAt);
            },
            [&] { kb.store(kb.constantF32(kb.f32, missing), scaleAt); });
      };
      if (plan.usesTiles()) {
        SmallVector<Value> scalesOf;
        for (int64_t b = 0; b < plan.getBlocksPerStep(); ++b) {
          Value slot = kb.ptrAdd(scaleSlots, 4 * b);
          storeScale(kb.add(kb.mul(step, plan.getBlocksPerStep()), b), slot,
                     0.0f, kb.ptrAdd(source, b * blockSize / 2));
          scalesOf.push_back(kb.splat(kb.load(kb.f32, slot), 16));
        }
        // The first half of the one and the second half of the other.
        auto halves = llvm::to_vector(llvm::seq<int64_t>(0, 8));
        llvm::append_range(halves, llvm::seq<int64_t>(24, 32));
        Value laneScales =
            kb.shuffle(scalesOf.front(), scalesOf.back(), halves);
        unpacked = unpackScaled(kb, source, laneScales, scaleExponent() == 0);
      }
      for (int64_t b = 0; b < plan.getBlocksPerStep(); ++b) {
        Value block = kb.add(kb.mul(step, plan.getBlocksPerStep()), b);
        Value target = kb.ptrAdd(tilePtr, kb.mul(block, blockBytes));
        if (plan.usesTiles()) {
          auto pairs = llvm::to_vector(
              llvm::seq(b * blockSize / 2, (b + 1) * blockSize / 2));
          kb.store(kb.shuffle(unpacked, unpacked, pairs),
                   kb.ptrAdd(target, kb.mul(lane, 2 * blockSize)));
          continue;
        }
        if (plan.usesPairs()) {
          auto elements =
              llvm::to_vector(llvm::seq(b * blockSize, (b + 1) * blockSize));
          kb.store(kb.shuffle(unpacked, unpacked, elements),
                   kb.ptrAdd(target, kb.mul(lane, 2 * blockSize)));
          kb.store(result[0],
                   kb.ptrAdd(target, kb.add(kb.mul(height, 2 * blockSize),
                                            kb.shl(lane, 2))));
          continue;
        }
        Value scaleAt;
        if (plan.usesIntegers()) {
          Value values = unpacked;
          if (blockSize == 16)
            values = kb.shuffle(unpacked, unpacked,
                                b == 0 ? ArrayRef<int64_t>{0, 1, 2, 3}
                                       : ArrayRef<int64_t>{4, 5, 6, 7});
          kb.store(values, kb.ptrAdd(target, kb.mul(lane, blockSize)));
          Value sum = vector::ReductionOp::create(
              builder, kb.loc, vector::CombiningKind::ADD,
              kb.signExtend(kb.bitcast(values, kb.i8), kb.i32));
          Value biasAt = kb.ptrAdd(
              target, kb.add(kb.mul(height, blockSize), kb.shl(lane, 2)));
          Value bias = kb.mul(sum, -12);
          if (plan.hasFloatSums())
            bias = kb.add(bias, llvm::bit_cast<int32_t>(kSumOffset));
          kb.store(bias, biasAt);
          scaleAt = kb.ptrAdd(biasAt, kb.shl(height, 2));
        } else {
          kb.forLoop(zero, kb.i64Constant(blockSize), 1, [&](Value element) {
            Value index = kb.add(element, b * blockSize);
            Value to = kb.ptrAdd(
                target, kb.shl(kb.add(kb.mul(element, height), lane), 2));
            if (isPlain)
              return kb.store(loadPlain(kb, spec.rows, source, index), to);
            Value byte = kb.load(
                kb.i8, kb.ptrAdd(source, nibbles ? kb.shr(index, 1) : index));
            Value code = kb.zeroExtend(byte, kb.i32);
            if (nibbles) {
              Value odd = arith::TruncIOp::create(builder, kb.loc, kb.i32,
                                                  kb.bitAnd(index, 1));
              code = kb.shr(code, kb.shl(odd, 2));
            }
            kb.store(decodeElement(spec.activation, code, 0), to);
          });
          scaleAt = kb.ptrAdd(
              target, kb.shl(kb.add(kb.mul(height, blockSize), lane), 2));
        }
        storeScale(block, scaleAt, -0.0f);
      }
      return result;
    });
  });
  endFunction();
  return func;
}
