//===- Quantize.cpp - one block through a named quantiser -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of the scale of each quantiser, in the order of operations that
// nvfp4/Format/Quantizer.h states; then the elements under it.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"

#include "Philox.h"
#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using IntPredicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

namespace {
constexpr float kMaxF32 = std::numeric_limits<float>::max();
constexpr float kRcp6 = 1.0f / 6.0f;

/// A scale byte and what the elements under it are multiplied with (or divided
/// by); scalars.
struct ScaleChoice {
  Value byte, factor;
  bool divide = false;
};

class ScaleChooser {
public:
  ScaleChooser(MathBuilder &mb, const BlockQuantizer &quantizer, Value global)
      : mb(mb), format(quantizer.format), global(global),
        kind(format::scaleKind(format)) {}

  ScaleChoice choose(format::Quantizer quantizer, Value amax);
  /// E4M3 scale of `scaled`, factor rcp(sf * rcp(S)), zero under a zero scale.
  ScaleChoice twoLevel(Value scaled);
  Value rcp(Value x) { return mb.divF(mb.real(x, 1.0), x); }

private:
  Value byteConstant(int64_t value) { return mb.constant(mb.i8, value); }
  Value f32Constant(double value) { return mb.real(global, value); }
  Value decode(Value byte) {
    return emitDecodeScale(mb.builder, mb.loc, kind, byte);
  }
  Value encodeUE4M3(Value x) { return emitEncodeUE4M3(mb.builder, mb.loc, x); }
  Value zeroUnless(Value condition, Value x) {
    return mb.select(condition, x, f32Constant(0.0));
  }
  /// min that keeps NaN of x; and one that turns it into the limit.
  Value clampFactor(Value x) {
    Value limit = f32Constant(kMaxF32);
    return mb.select(mb.cmpF(FloatPredicate::OGT, x, limit), limit, x);
  }
  Value fminFactor(Value x) {
    Value limit = f32Constant(kMaxF32);
    return mb.select(mb.cmpF(FloatPredicate::OLT, x, limit), x, limit);
  }
  Value exponentField(Value x) {
    return mb.shr(mb.bitAnd(mb.toBits(x), 0x7FFFFFFF), 23);
  }
  Value isZero(Value x) { return mb.cmpF(FloatPredicate::OEQ, x, 0.0); }

  ScaleChoice cutlass(Value amax);
  ScaleChoice trtllm(Value amax);
  ScaleChoice te(Value amax);
  ScaleChoice modelOpt(Value amax);
  ScaleChoice mega16(Value amax);
  ScaleChoice ue8m0Up(Value amax);
  ScaleChoice ocp(Value amax);
  /// The factor 1 / sf of a power-of-two scale; zero blocks have factor zero.
  ScaleChoice powerOfTwo(Value byte, Value amax) {
    return {byte, mb.select(isZero(amax), f32Constant(0.0), rcp(decode(byte)))};
  }

  MathBuilder &mb;
  format::BlockFormat format;
  Value global;
  format::ScaleKind kind;
};
} // namespace

ScaleChoice ScaleChooser::cutlass(Value amax) {
  Value scaled = mb.mulF(amax, double(1.0f / format::maxElement(format)));
  scaled = mb.mulF(scaled, global);
  Value byte = kind == format::ScaleKind::E8M0
                   ? emitEncodeE8M0Up(mb.builder, mb.loc, scaled)
                   : encodeUE4M3(scaled);
  return {byte, clampFactor(mb.mulF(global, rcp(decode(byte))))};
}

ScaleChoice ScaleChooser::trtllm(Value amax) {
  Value sixth = mb.mulF(amax, double(1.0f / format::maxElement(format)));
  Value scaled = mb.mulF(global, sixth);
  if (kind == format::ScaleKind::UE4M3)
    return twoLevel(scaled);
  // The exponent field as it stands, and as the bits of the divisor; a field of
  // zero counts as scale zero, one of 255 as infinity.
  Value field = exponentField(scaled);
  Value byte = mb.truncate(field, mb.i8);
  Value nonZero = mb.cmp(IntPredicate::ne, byte, 0);
  Value denominator = mb.mulF(mb.fromBits(mb.shl(field, 23)), rcp(global));
  return {byte, zeroUnless(nonZero, rcp(denominator))};
}

ScaleChoice ScaleChooser::te(Value amax) {
  if (kind == format::ScaleKind::E8M0) {
    Value sixth = mb.mulF(amax, double(1.0f / format::maxElement(format)));
    return powerOfTwo(emitEncodeE8M0Up(mb.builder, mb.loc, sixth), amax);
  }
  Value scaled = mb.mulF(amax, mb.mulF(global, double(kRcp6)));
  Value limit = f32Constant(format::kE4M3Max);
  scaled =
      mb.select(mb.cmpF(FloatPredicate::OLT, limit, scaled), limit, scaled);
  Value byte = encodeUE4M3(scaled);
  return {byte, fminFactor(rcp(mb.mulF(decode(byte), rcp(global))))};
}

ScaleChoice ScaleChooser::modelOpt(Value amax) {
  Value unit = mb.mulF(f32Constant(format::maxElement(format)), global);
  Value scaled = mb.divF(amax, unit);
  Value low = f32Constant(format::kE4M3MinSubnormal);
  Value high = f32Constant(format::kE4M3Max);
  // Comparisons that leave NaN as it is.
  Value limited =
      mb.select(mb.cmpF(FloatPredicate::OGT, scaled, high), high, scaled);
  limited = mb.select(mb.cmpF(FloatPredicate::OLT, scaled, low), low, limited);
  limited = mb.select(isZero(amax), f32Constant(1.0), limited);
  Value byte = encodeUE4M3(limited);
  return {byte, mb.mulF(decode(byte), global), /*divide=*/true};
}

ScaleChoice ScaleChooser::mega16(Value amax) {
  Value byte = encodeUE4M3(mb.mulF(amax, double(kRcp6)));
  Value scale = decode(byte);
  return {byte,
          mb.select(isZero(scale), f32Constant(0.0), fminFactor(rcp(scale)))};
}

ScaleChoice ScaleChooser::ue8m0Up(Value amax) {
  Value scaled = mb.divF(amax, f32Constant(format::maxElement(format)));
  // 2^ceil(log2) by a carry; a subnormal counts as 2^-126, infinity and NaN
  // give the NaN scale.
  Value bits = mb.bitAnd(mb.toBits(scaled), 0x7FFFFFFF);
  Value code = mb.minS(mb.shr(mb.add(bits, 0x7FFFFF), 23), 254);
  code = mb.select(mb.cmp(IntPredicate::uge, bits, 0x7F800000),
                   mb.constant(mb.i32, format::kE8M0NaN), code);
  return powerOfTwo(mb.truncate(code, mb.i8), amax);
}

ScaleChoice ScaleChooser::ocp(Value amax) {
  Value field = exponentField(amax);
  Value code = mb.maxS(mb.add(field, -format::traits(format).maxExponent), 0);
  code = mb.select(mb.cmp(IntPredicate::eq, field, 255),
                   mb.constant(mb.i32, format::kE8M0NaN), code);
  return powerOfTwo(mb.truncate(code, mb.i8), amax);
}

ScaleChoice ScaleChooser::twoLevel(Value scaled) {
  Value byte = encodeUE4M3(scaled);
  Value scale = decode(byte);
  Value factor = rcp(mb.mulF(scale, rcp(global)));
  return {byte, mb.select(isZero(scale), f32Constant(0.0), factor)};
}

ScaleChoice ScaleChooser::choose(format::Quantizer quantizer, Value amax) {
  switch (quantizer) {
  case format::Quantizer::Cutlass:
    return cutlass(amax);
  case format::Quantizer::Trtllm:
    return trtllm(amax);
  case format::Quantizer::TE:
    return te(amax);
  case format::Quantizer::ModelOpt:
    return modelOpt(amax);
  case format::Quantizer::Mega16:
    return mega16(amax);
  case format::Quantizer::UE8M0Up:
    return ue8m0Up(amax);
  case format::Quantizer::OCP:
    return ocp(amax);
  case format::Quantizer::TritonNearest:
  case format::Quantizer::FourOverSix:
    break;
  }
  Value sixth = mb.divF(amax, f32Constant(format::kE2M1Max));
  return twoLevel(mb.mulF(sixth, global));
}

static Value scaleElements(MathBuilder &mb, const ScaleChoice &choice,
                           Value x) {
  Value factor = mb.spread(choice.factor, x);
  return choice.divide ? mb.divF(x, factor) : mb.mulF(x, factor);
}

static Value encodeElements(MathBuilder &mb, const BlockQuantizer &quantizer,
                            const QuantizeInputs &inputs,
                            const ScaleChoice &choice, Value x) {
  Value scaled = scaleElements(mb, choice, x);
  format::ElementKind kind = format::elementKind(quantizer.format);
  if (!quantizer.stochastic) {
    Value codes = emitEncodeElement(mb.builder, mb.loc, kind, scaled,
                                    quantizer.negativeZero);
    if (kind == format::ElementKind::E2M1)
      return codes;
    // The sign of a computed NaN is the processor's choice: it is dropped.
    uint8_t nan =
        kind == format::ElementKind::E4M3 ? format::kE4M3NaN : format::kE5M2NaN;
    return mb.select(mb.isNaN(scaled), mb.constant(codes.getType(), nan),
                     codes);
  }
  Value u = emitPhiloxUniform(mb, inputs.seed, inputs.elementIndex,
                              quantizer.getBlockSize());
  return emitEncodeE2M1Stochastic(mb.builder, mb.loc, scaled, u,
                                  quantizer.negativeZero);
}

/// Sum of error^2 of a candidate, f32, elements in order.
static Value candidateError(MathBuilder &mb, ScaleChooser &chooser,
                            Value global, const ScaleChoice &choice,
                            Value codes, Value x) {
  Value unit = mb.mulF(emitDecodeScale(mb.builder, mb.loc,
                                       format::ScaleKind::UE4M3, choice.byte),
                       chooser.rcp(global));
  Value value = mb.mulF(
      emitDecodeElement(mb.builder, mb.loc, format::ElementKind::E2M1, codes),
      mb.spread(unit, x));
  Value error = mb.subF(value, x);
  Value square = mb.mulF(error, error);
  Value total = mb.constantF32(mb.f32, 0.0f);
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  for (int64_t lane = 0; lane < lanes; ++lane)
    total = mb.addF(
        total, vector::ExtractOp::create(mb.builder, mb.loc, square, lane));
  return total;
}

BlockQuantizer BlockQuantizer::get(QuantizerAttr attr, BlockFormat format) {
  BlockQuantizer quantizer;
  quantizer.kind = toFormat(attr.getKind());
  quantizer.format = toFormat(format);
  quantizer.negativeZero = attr.getNegZero() == NegativeZero::Flush
                               ? format::NegativeZero::Flush
                               : format::traits(quantizer.kind).negativeZero;
  quantizer.stochastic = attr.getRounding() == Rounding::Stochastic;
  return quantizer;
}

Value arithmetic::emitBlockAmax(OpBuilder &builder, Location loc,
                                const BlockQuantizer &quantizer, Value x) {
  MathBuilder mb(builder, loc);
  Value magnitude = mb.absF(x);
  if (format::traits(quantizer.kind).amaxIgnoresNaN)
    magnitude = mb.select(mb.isNaN(x), mb.real(x, 0.0), magnitude);
  // Magnitudes order like their bits, and NaN is above all of them.
  Value bits = vector::ReductionOp::create(
      builder, loc, vector::CombiningKind::MAXUI, mb.toBits(magnitude));
  return mb.fromBits(bits);
}

QuantizedBlock arithmetic::emitQuantizeBlockWithAmax(
    OpBuilder &builder, Location loc, const BlockQuantizer &quantizer,
    const QuantizeInputs &inputs, Value amax, Value x) {
  MathBuilder mb(builder, loc);
  Value global =
      inputs.globalScale ? inputs.globalScale : mb.constantF32(mb.f32, 1.0f);
  ScaleChooser chooser(mb, quantizer, global);
  ScaleChoice choice = chooser.choose(quantizer.kind, amax);
  return {encodeElements(mb, quantizer, inputs, choice, x), choice.byte};
}

ScaledBlock arithmetic::emitScaleBlock(OpBuilder &builder, Location loc,
                                       const BlockQuantizer &quantizer,
                                       const QuantizeInputs &inputs, Value x) {
  MathBuilder mb(builder, loc);
  Value global =
      inputs.globalScale ? inputs.globalScale : mb.constantF32(mb.f32, 1.0f);
  ScaleChooser chooser(mb, quantizer, global);
  ScaleChoice choice =
      chooser.choose(quantizer.kind, emitBlockAmax(builder, loc, quantizer, x));
  return {scaleElements(mb, choice, x), choice.byte};
}

QuantizedBlock arithmetic::emitQuantizeBlock(OpBuilder &builder, Location loc,
                                             const BlockQuantizer &quantizer,
                                             const QuantizeInputs &inputs,
                                             Value x) {
  Value amax = emitBlockAmax(builder, loc, quantizer, x);
  if (quantizer.kind != format::Quantizer::FourOverSix)
    return emitQuantizeBlockWithAmax(builder, loc, quantizer, inputs, amax, x);
  MathBuilder mb(builder, loc);
  Value global =
      inputs.globalScale ? inputs.globalScale : mb.constantF32(mb.f32, 1.0f);
  ScaleChooser chooser(mb, quantizer, global);
  Value largest = mb.real(amax, format::kE2M1Max);
  ScaleChoice six = chooser.twoLevel(mb.mulF(mb.divF(amax, largest), global));
  Value larger = mb.divF(mb.mulF(amax, 1.5), largest);
  ScaleChoice four = chooser.twoLevel(mb.mulF(larger, global));
  Value sixCodes = encodeElements(mb, quantizer, inputs, six, x);
  Value fourCodes = encodeElements(mb, quantizer, inputs, four, x);
  // A tie, and an error that is NaN, keeps six.
  Value better =
      mb.cmpF(FloatPredicate::OLT,
              candidateError(mb, chooser, global, four, fourCodes, x),
              candidateError(mb, chooser, global, six, sixCodes, x));
  return {mb.select(better, fourCodes, sixCodes),
          mb.select(better, four.byte, six.byte)};
}

Value arithmetic::emitDequantizeExactly(MathBuilder &mb,
                                        format::BlockFormat format, Value codes,
                                        Value scaleByte) {
  format::ScaleKind kind = format::scaleKind(format);
  Value element =
      emitDecodeElement(mb.builder, mb.loc, format::elementKind(format), codes);
  Value scale = emitDecodeScale(mb.builder, mb.loc, kind, scaleByte);
  if (kind != format::ScaleKind::UE4M3) {
    element = mb.widen(element);
    scale = mb.widen(scale);
  }
  return mb.mulF(element, mb.spread(scale, element));
}

Value arithmetic::emitPackCodes(OpBuilder &builder, Location loc,
                                format::ElementKind kind, Value codes) {
  if (kind != format::ElementKind::E2M1)
    return codes;
  MathBuilder mb(builder, loc);
  Value pairs = mb.bitcast(codes, mb.i16);
  Value packed = mb.bitOr(pairs, mb.shr(pairs, 4));
  return mb.truncate(packed, mb.i8);
}
