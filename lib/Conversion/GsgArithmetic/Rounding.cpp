//===- Rounding.cpp - casts between f32 and small floats --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding to few mantissa bits: normal results by adding half an ulp (less one
// unless the last kept bit is odd) to the f32 bits; subnormal results by adding
// a power of two whose ulp is the smallest subnormal, which lets the adder
// round.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using IntPredicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

static constexpr int64_t kAbsMask = 0x7FFFFFFF;
static constexpr int64_t kInfinity = 0x7F800000;
static constexpr int64_t kQuietNaN = 0x7FC00000;

/// The code, without limit above, of magnitudes given as f32 bits (i32); see
/// format::roundMagnitude.
static Value roundMagnitude(MathBuilder &mb, Value bits, int mantissaBits,
                            int minExponent) {
  int shift = 23 - mantissaBits;
  Value odd = mb.bitAnd(mb.shr(bits, shift), 1);
  Value rounded =
      mb.shr(mb.add(mb.add(bits, (int64_t(1) << (shift - 1)) - 1), odd), shift);
  int64_t rebias = int64_t(127 + minExponent - 1) << mantissaBits;
  Value normal = mb.sub(rounded, mb.constant(bits.getType(), rebias));
  Value magnitude = mb.fromBits(bits);
  Value magic =
      mb.real(magnitude, std::ldexp(1.0, minExponent - mantissaBits + 23));
  Value subnormal =
      mb.sub(mb.toBits(mb.addF(magnitude, magic)), mb.toBits(magic));
  Value isSmall =
      mb.cmp(IntPredicate::ult, bits, int64_t(127 + minExponent) << 23);
  return mb.select(isSmall, subnormal, normal);
}

/// The sign bit of f32 bits, moved to bit `position`.
static Value signAt(MathBuilder &mb, Value bits, int position) {
  return mb.shl(mb.shr(bits, 31), position);
}

Value nvfp4::gsg::arithmetic::emitF32ToBF16(OpBuilder &builder, Location loc,
                                            Value x) {
  MathBuilder mb(builder, loc);
  Value bits = mb.toBits(x);
  Value high = mb.shr(bits, 16);
  Value rounded = mb.shr(mb.add(mb.add(bits, 0x7FFF), mb.bitAnd(high, 1)), 16);
  Value quiet = mb.bitOr(high, mb.constant(high.getType(), 0x40));
  return mb.truncate(mb.select(mb.isNaN(x), quiet, rounded), mb.i16);
}

Value nvfp4::gsg::arithmetic::emitF32ToF16(OpBuilder &builder, Location loc,
                                           Value x) {
  MathBuilder mb(builder, loc);
  Value bits = mb.toBits(x);
  Value magnitude = mb.bitAnd(bits, kAbsMask);
  Value code = roundMagnitude(mb, magnitude, 10, -14);
  code = mb.select(mb.cmp(IntPredicate::sgt, code, 0x7C00),
                   mb.constant(code.getType(), 0x7C00), code);
  Value nan = mb.bitOr(mb.bitAnd(mb.shr(magnitude, 13), 0x3FF),
                       mb.constant(code.getType(), 0x7E00));
  code = mb.select(mb.isNaN(x), nan, code);
  return mb.truncate(mb.bitOr(code, signAt(mb, bits, 15)), mb.i16);
}

Value nvfp4::gsg::arithmetic::emitBF16ToF32(OpBuilder &builder, Location loc,
                                            Value bits) {
  MathBuilder mb(builder, loc);
  return mb.fromBits(mb.shl(mb.zeroExtend(bits, mb.i32), 16));
}

Value nvfp4::gsg::arithmetic::emitF16ToF32(OpBuilder &builder, Location loc,
                                           Value bits) {
  MathBuilder mb(builder, loc);
  Value wide = mb.zeroExtend(bits, mb.i32);
  Value code = mb.bitAnd(wide, 0x7FFF);
  Value finite = mb.toBits(mb.widenFloat(code, 10, 15));
  Value special =
      mb.bitOr(mb.shl(code, 13), mb.constant(code.getType(), kInfinity));
  Value magnitude =
      mb.select(mb.cmp(IntPredicate::uge, code, 0x7C00), special, finite);
  Value sign = mb.shl(mb.shr(wide, 15), 31);
  return mb.fromBits(mb.bitOr(magnitude, sign));
}

Value nvfp4::gsg::arithmetic::emitToReal(OpBuilder &builder, Location loc,
                                         Value x, Type element) {
  MathBuilder mb(builder, loc);
  if (element.isBF16())
    return mb.bitcastLike(emitF32ToBF16(builder, loc, x), element);
  if (element.isF16())
    return mb.bitcastLike(emitF32ToF16(builder, loc, x), element);
  return x;
}

Value nvfp4::gsg::arithmetic::emitFromReal(OpBuilder &builder, Location loc,
                                           Value x) {
  MathBuilder mb(builder, loc);
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isBF16())
    return emitBF16ToF32(builder, loc, mb.bitcastLike(x, mb.i16));
  if (element.isF16())
    return emitF16ToF32(builder, loc, mb.bitcastLike(x, mb.i16));
  return x;
}

Value nvfp4::gsg::arithmetic::emitRoundToBF16(OpBuilder &builder, Location loc,
                                              Value x) {
  return emitBF16ToF32(builder, loc, emitF32ToBF16(builder, loc, x));
}

/// Puts the sign of `x` on E2M1 magnitude codes (i32).
static Value signE2M1(MathBuilder &mb, Value x, Value code,
                      format::NegativeZero negativeZero) {
  Value bits = mb.toBits(x);
  Value sign = signAt(mb, bits, 3);
  Value zero = mb.constant(sign.getType(), 0);
  if (negativeZero == format::NegativeZero::Flush)
    sign = mb.select(mb.cmp(IntPredicate::eq, code, 0), zero, sign);
  if (negativeZero == format::NegativeZero::KeepRounded)
    sign = mb.select(mb.cmpF(FloatPredicate::OEQ, x, 0.0), zero, sign);
  Value isNaN = mb.isNaN(x);
  code = mb.select(isNaN, mb.constant(code.getType(), 7), code);
  sign = mb.select(isNaN, zero, sign);
  return mb.truncate(mb.bitOr(code, sign), mb.i8);
}

Value nvfp4::gsg::arithmetic::emitEncodeElement(
    OpBuilder &builder, Location loc, format::ElementKind kind, Value x,
    format::NegativeZero negativeZero) {
  MathBuilder mb(builder, loc);
  Value bits = mb.toBits(x);
  Value magnitude = mb.bitAnd(bits, kAbsMask);
  if (kind == format::ElementKind::E2M1) {
    // From 8 on every magnitude saturates; the limit keeps the code in range.
    Value limited = mb.minS(magnitude, 0x41000000);
    Value code = mb.minS(roundMagnitude(mb, limited, 1, 0), 7);
    return signE2M1(mb, x, code, negativeZero);
  }
  bool e4m3 = kind == format::ElementKind::E4M3;
  Value code = e4m3 ? roundMagnitude(mb, magnitude, 3, -6)
                    : roundMagnitude(mb, magnitude, 2, -14);
  code = mb.minS(code, e4m3 ? 0x7E : 0x7B);
  uint8_t nan = e4m3 ? format::kE4M3NaN : format::kE5M2NaN;
  code = mb.select(mb.isNaN(x), mb.constant(code.getType(), nan), code);
  return mb.truncate(mb.bitOr(code, signAt(mb, bits, 7)), mb.i8);
}

Value nvfp4::gsg::arithmetic::emitEncodeE2M1Stochastic(
    OpBuilder &builder, Location loc, Value x, Value u,
    format::NegativeZero negativeZero) {
  MathBuilder mb(builder, loc);
  Value magnitude = mb.absF(x);
  // Above 6 the code is 7 anyway, so the limit only keeps the cast defined; a
  // NaN becomes the limit, too.
  Value inRange = mb.cmpF(FloatPredicate::OLT, magnitude, 6.0);
  magnitude = mb.select(inRange, magnitude, mb.real(magnitude, 6.0));
  auto choose = [&](Value below2, Value below4, Value above) {
    Value upper =
        mb.select(mb.cmpF(FloatPredicate::OLT, magnitude, 4.0), below4, above);
    return mb.select(mb.cmpF(FloatPredicate::OLT, magnitude, 2.0), below2,
                     upper);
  };
  auto real = [&](double value) { return mb.real(magnitude, value); };
  Value steps = mb.mulF(magnitude, choose(real(2.0), real(1.0), real(0.5)));
  Type integer = mb.like(magnitude, mb.i32);
  auto number = [&](int64_t value) { return mb.constant(integer, value); };
  Value whole = arith::FPToUIOp::create(builder, loc, integer, steps);
  // Everything is exact: the part below one step, and 1 - u of 24 bits.
  Value part = mb.subF(steps, mb.intToFloat(whole));
  Value isUp = mb.cmpF(FloatPredicate::OGE, part, mb.subF(mb.real(u, 1.0), u));
  Value code = mb.add(choose(number(0), number(2), number(4)), whole);
  code = mb.add(code, mb.zeroExtend(isUp, mb.i32));
  code = mb.select(inRange, mb.minS(code, 7), mb.constant(code.getType(), 7));
  return signE2M1(mb, x, code, negativeZero);
}

Value nvfp4::gsg::arithmetic::emitEncodeUE4M3(OpBuilder &builder, Location loc,
                                              Value x) {
  MathBuilder mb(builder, loc);
  Value code = emitEncodeElement(builder, loc, format::ElementKind::E4M3, x);
  // No scale stands for a negative number; the sign of zero is dropped.
  Value nan = mb.constant(code.getType(), format::kE4M3NaN);
  Value zero = mb.constant(code.getType(), 0);
  Value unsignedCode =
      mb.select(mb.cmpF(FloatPredicate::OEQ, x, 0.0), zero, nan);
  return mb.select(mb.cmp(IntPredicate::slt, code, zero), unsignedCode, code);
}

Value nvfp4::gsg::arithmetic::emitEncodeE8M0Up(OpBuilder &builder, Location loc,
                                               Value x) {
  MathBuilder mb(builder, loc);
  Value bits = mb.toBits(x);
  Value magnitude = mb.bitAnd(bits, kAbsMask);
  // The next power of two by carry; below 2^-126 the halves of the binade of
  // subnormals belong to 2^-127 and 2^-126.
  Value code = mb.minS(mb.shr(mb.add(magnitude, 0x7FFFFF), 23), 254);
  code = mb.select(mb.cmp(IntPredicate::ule, magnitude, 0x400000),
                   mb.constant(code.getType(), 0), code);
  Value invalid = mb.bitOr(mb.isNaN(x), mb.cmpF(FloatPredicate::OLT, x, 0.0));
  code =
      mb.select(invalid, mb.constant(code.getType(), format::kE8M0NaN), code);
  return mb.truncate(code, mb.i8);
}

Value nvfp4::gsg::arithmetic::emitDecodeScale(OpBuilder &builder, Location loc,
                                              format::ScaleKind kind,
                                              Value code) {
  MathBuilder mb(builder, loc);
  Value wide = mb.zeroExtend(code, mb.i32);
  Value nan = mb.constant(wide.getType(), kQuietNaN);
  if (kind == format::ScaleKind::UE4M3) {
    Value value = mb.widenFloat(wide, 3, 7);
    return mb.fromBits(mb.select(mb.cmp(IntPredicate::uge, wide, 0x7F), nan,
                                 mb.toBits(value)));
  }
  Value bits =
      mb.select(mb.cmp(IntPredicate::eq, wide, 0),
                mb.constant(wide.getType(), 0x400000), mb.shl(wide, 23));
  return mb.fromBits(
      mb.select(mb.cmp(IntPredicate::eq, wide, 0xFF), nan, bits));
}

Value nvfp4::gsg::arithmetic::emitDecodeElement(OpBuilder &builder,
                                                Location loc,
                                                format::ElementKind kind,
                                                Value code) {
  MathBuilder mb(builder, loc);
  Value wide = mb.zeroExtend(code, mb.i32);
  if (kind == format::ElementKind::E2M1) {
    Value magnitude = mb.widenFloat(mb.bitAnd(wide, 7), 1, 1);
    Value sign = mb.shl(mb.bitAnd(wide, 8), 28);
    return mb.fromBits(mb.bitOr(mb.toBits(magnitude), sign));
  }
  bool e4m3 = kind == format::ElementKind::E4M3;
  Value magnitude = mb.bitAnd(wide, 0x7F);
  Value bits = mb.toBits(e4m3 ? mb.widenFloat(magnitude, 3, 7)
                              : mb.widenFloat(magnitude, 2, 15));
  if (e4m3)
    bits = mb.select(mb.cmp(IntPredicate::eq, magnitude, 0x7F),
                     mb.constant(bits.getType(), kQuietNaN), bits);
  else
    bits = mb.select(
        mb.cmp(IntPredicate::uge, magnitude, 0x7C),
        mb.bitOr(mb.shl(magnitude, 21), mb.constant(bits.getType(), kInfinity)),
        bits);
  return mb.fromBits(mb.bitOr(bits, mb.shl(mb.bitAnd(wide, 0x80), 24)));
}
