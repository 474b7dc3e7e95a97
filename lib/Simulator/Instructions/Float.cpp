//===- Float.cpp - arithmetic on f32, f64, f16, bf16 and packed pairs -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add, sub, mul, fma, mad, div, rcp.rn, sqrt.rn, copysign, testp. IEEE results
// are bit-exact; f32 NaN results are the canonical 0x7fffffff. 16-bit
// operations are done in f64 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatArithmetic.h"
#include "FloatMode.h"

#include <cmath>
#include <limits>

namespace nvfp4::sim {
namespace {

/// a * b + c rounded to odd in f64, so that a second rounding to 16 bits is
/// the only one that counts.
double fmaRoundToOdd(double a, double b, double c) {
  double product = a * b; // exact: at most 22 significant bits
  double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  if (error != 0 && !(std::bit_cast<uint64_t>(sum) & 1))
    sum = std::nextafter(sum, error > 0
                                  ? std::numeric_limits<double>::infinity()
                                  : -std::numeric_limits<double>::infinity());
  return sum;
}

inline float fusedMultiplyAdd(float a, float b, float c) {
  return std::fma(a, b, c);
}
/// With several NaNs an H200 keeps the addend's, then the first factor's.
double fusedMultiplyAdd(double a, double b, double c) {
  for (double x : {c, a, b})
    if (x != x)
      return std::bit_cast<double>(std::bit_cast<uint64_t>(x) | uint64_t{1}
                                                                    << 51);
  return std::fma(a, b, c);
}

template <typename T> T add(T a, T b) {
  using A = Arithmetic<T>;
  return A::out(A::in(a) + A::in(b));
}
template <typename T> T sub(T a, T b) {
  using A = Arithmetic<T>;
  return A::out(A::in(a)-A::in(b));
}
template <typename T> T mul(T a, T b) {
  using A = Arithmetic<T>;
  return A::out(A::in(a)*A::in(b));
}
template <typename T> T fma(T a, T b, T c) {
  using A = Arithmetic<T>;
  if constexpr (sizeof(T) == 2)
    return A::out(fmaRoundToOdd(A::in(a), A::in(b), A::in(c)));
  else
    return A::out(fusedMultiplyAdd(a, b, c));
}
template <typename T> T divide(T a, T b) { return Arithmetic<T>::out(a / b); }
template <typename T> T reciprocal(T a) { return Arithmetic<T>::out(T{1} / a); }
template <typename T> T squareRoot(T a) {
  return Arithmetic<T>::out(std::sqrt(a));
}
float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
template <typename T> T saturateHalf(T x) {
  return {Arithmetic<Half>::out(saturate(halfToFloat(x.bits))).bits};
}
template <typename T> T copySign(T a, T b) {
  using B = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  B sign = B{1} << (sizeof(T) * 8 - 1);
  return std::bit_cast<T>((std::bit_cast<B>(b) & ~sign) |
                          (std::bit_cast<B>(a) & sign));
}

uint64_t fmaFloats2(uint64_t a, uint64_t b, uint64_t c) {
  auto half = [&](unsigned s) -> uint64_t {
    auto f = [&](uint64_t x) {
      return std::bit_cast<float>(static_cast<uint32_t>(x >> s));
    };
    return std::bit_cast<uint32_t>(fma(f(a), f(b), f(c)));
  };
  return half(32) << 32 | half(0);
}
float addSat(float a, float b) { return saturate(a + b); }
float subSat(float a, float b) { return saturate(a - b); }
float mulSat(float a, float b) { return saturate(a * b); }
float fmaSat(float a, float b, float c) { return saturate(std::fma(a, b, c)); }
template <template <typename> class Op> struct SaturatedOp {
  template <typename T> static T saturated(T a, T b) {
    return saturateHalf(Op<T>::apply(a, b));
  }
};
template <typename T> T fmaSaturated(T a, T b, T c) {
  return saturateHalf(fma(a, b, c));
}
template <typename T> T fmaRelu(T a, T b, T c) {
  T r = fma(a, b, c);
  auto x = Arithmetic<T>::in(r);
  return x != x ? r : x > 0 ? r : T{0};
}

/// Mixed precision: f32 arithmetic with f16 or bf16 operands, which are exact
/// in f32, as are products of two.
template <typename T> float widened(T a) {
  return static_cast<float>(Arithmetic<T>::in(a));
}
template <typename T> float addMixed(T a, float c) {
  return add(widened(a), c);
}
template <typename T> float subMixed(T a, float c) {
  return sub(widened(a), c);
}
template <typename T> float fmaMixed(T a, T b, float c) {
  return fma(widened(a), widened(b), c);
}
template <auto F, typename... A> float saturated(A... a) {
  return saturate(F(a...));
}
template <typename T>
Handler mixedHandler(const std::string &opcode, bool sat) {
  if (opcode == "fma")
    return sat ? lanewise<&saturated<&fmaMixed<T>, T, T, float>>
               : lanewise<&fmaMixed<T>>;
  if (opcode == "sub")
    return sat ? lanewise<&saturated<&subMixed<T>, T, float>>
               : lanewise<&subMixed<T>>;
  return sat ? lanewise<&saturated<&addMixed<T>, T, float>>
             : lanewise<&addMixed<T>>;
}

/// Decodes the form `.f32.f16` or `.f32.bf16` when `type` and the modifiers
/// left name it.
bool decodeMixed(DecodeContext &context, Rounding rounding, bool flush,
                 bool sat, Type type, unsigned sources) {
  std::string_view next = context.firstModifier();
  if (type != Type::F32 || (next != "f16" && next != "bf16"))
    return false;
  const std::string &opcode = context.parsed.opcode;
  if (opcode == "mul" || opcode == "mad" || flush) {
    context.unsupported();
    return true;
  }
  requireBlackwell(context);
  Type narrow = context.expectType({Type::F16, Type::BF16});
  if (!context.expectOperands(sources + 1))
    return true;
  Inst &inst = context.inst;
  inst.op[0] = context.dest(0, Type::F32);
  for (unsigned i = 1; i <= sources; ++i)
    inst.op[i] = context.source(i, i == sources ? Type::F32 : narrow);
  inst.handler = narrow == Type::F16 ? mixedHandler<Half>(opcode, sat)
                                     : mixedHandler<BFloat>(opcode, sat);
  applyFloatMode(context, rounding, /*flush=*/false);
  return true;
}

template <typename T> struct AddOp {
  static constexpr auto apply = &add<T>;
};
template <typename T> struct SubOp {
  static constexpr auto apply = &sub<T>;
};
template <typename T> struct MulOp {
  static constexpr auto apply = &mul<T>;
};
void decodeBinary(DecodeContext &context, char kind) {
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  bool sat = context.take("sat");
  Type type = context.expectType(floatTypes);
  if (decodeMixed(context, rounding, flush, sat, type, 2))
    return;
  decodeOperands(context, type, 2);
  Inst &inst = context.inst;
  auto pick = [&]<template <typename> class Op>() -> Handler {
    using Saturated = SaturatedOp<Op>;
    if (!sat)
      return forFloat<Op>(type, flush);
    if (type == Type::F16)
      return flush ? lanewise<Saturated::template saturated<FlushedHalf>>
                   : lanewise<Saturated::template saturated<Half>>;
    if (type == Type::F16x2)
      return flush ? lanewise<pair2<FlushedHalf,
                                    Saturated::template saturated<FlushedHalf>>>
                   : lanewise<pair2<Half, Saturated::template saturated<Half>>>;
    return nullptr;
  };
  inst.handler = kind == 'a'   ? pick.operator()<AddOp>()
                 : kind == 's' ? pick.operator()<SubOp>()
                               : pick.operator()<MulOp>();
  if (sat && type == Type::F32)
    inst.handler = kind == 'a'   ? lanewise<addSat>
                   : kind == 's' ? lanewise<subSat>
                                 : lanewise<mulSat>;
  else if (sat && !inst.handler)
    context.error("'.sat' is not supported for this type");
  applyFloatMode(context, rounding, flush && bitWidth(type) >= 32);
}

void decodeFma(DecodeContext &context) {
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  bool sat = context.take("sat");
  bool relu = context.take("relu");
  Type type = context.expectType(floatTypes);
  if (decodeMixed(context, rounding, flush, sat, type, 3))
    return;
  decodeOperands(context, type, 3);
  Inst &inst = context.inst;
  auto pickHalf = [&]<typename T>() {
    return sat    ? lanewise<fmaSaturated<T>>
           : relu ? lanewise<fmaRelu<T>>
                  : lanewise<fma<T>>;
  };
  auto pickPair = [&]<typename T>() {
    return sat    ? lanewise<pair3<T, fmaSaturated<T>>>
           : relu ? lanewise<pair3<T, fmaRelu<T>>>
                  : lanewise<pair3<T, fma<T>>>;
  };
  switch (type) {
  case Type::F32:
    inst.handler = sat ? lanewiseFused<fmaSat>() : lanewiseFused<fma<float>>();
    break;
  case Type::F64:
    inst.handler = lanewise<fma<double>>;
    break;
  case Type::F16:
    inst.handler = flush ? pickHalf.operator()<FlushedHalf>()
                         : pickHalf.operator()<Half>();
    break;
  case Type::BF16:
    inst.handler = relu ? lanewise<fmaRelu<BFloat>> : lanewise<fma<BFloat>>;
    break;
  case Type::F16x2:
    inst.handler = flush ? pickPair.operator()<FlushedHalf>()
                         : pickPair.operator()<Half>();
    break;
  case Type::BF16x2:
    inst.handler = relu ? lanewise<pair3<BFloat, fmaRelu<BFloat>>>
                        : lanewise<pair3<BFloat, fma<BFloat>>>;
    break;
  default:
    inst.handler = lanewise<fmaFloats2>;
    break;
  }
  applyFloatMode(context, rounding, flush && bitWidth(type) >= 32);
}

void decodeDivide(DecodeContext &context) {
  bool approximate = context.takeAny({"approx", "full"}) >= 0;
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  Type type = context.expectType({Type::F32, Type::F64});
  decodeOperands(context, type, 2);
  (void)approximate;
  context.inst.handler =
      type == Type::F32 ? lanewise<divide<float>> : lanewise<divide<double>>;
  applyFloatMode(context, rounding, flush);
}

void decodeRoot(DecodeContext &context) {
  bool isSqrt = context.parsed.opcode == "sqrt";
  context.take("approx");
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  Type type = context.expectType({Type::F32, Type::F64});
  decodeOperands(context, type, 1);
  context.inst.handler =
      type == Type::F32
          ? (isSqrt ? lanewise<squareRoot<float>> : lanewise<reciprocal<float>>)
          : (isSqrt ? lanewise<squareRoot<double>>
                    : lanewise<reciprocal<double>>);
  applyFloatMode(context, rounding, flush);
}

void decodeCopysign(DecodeContext &context) {
  Type type = context.expectType({Type::F32, Type::F64});
  decodeOperands(context, type, 2);
  context.inst.handler = type == Type::F32 ? lanewise<copySign<float>>
                                           : lanewise<copySign<double>>;
}

template <int Kind, typename T> bool testProperty(T a) {
  // Zeros count as normal numbers.
  bool normal = std::isnormal(a) || a == 0;
  switch (Kind) {
  case 0:
    return std::isfinite(a);
  case 1:
    return std::isinf(a);
  case 2:
    return a == a;
  case 3:
    return a != a;
  case 4:
    return normal;
  default:
    return std::isfinite(a) && !normal;
  }
}

template <typename T> Handler testHandler(int kind) {
  switch (kind) {
  case 0:
    return lanewise<testProperty<0, T>>;
  case 1:
    return lanewise<testProperty<1, T>>;
  case 2:
    return lanewise<testProperty<2, T>>;
  case 3:
    return lanewise<testProperty<3, T>>;
  case 4:
    return lanewise<testProperty<4, T>>;
  default:
    return lanewise<testProperty<5, T>>;
  }
}

void decodeTestp(DecodeContext &context) {
  int kind = context.expectAny(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = context.expectType({Type::F32, Type::F64});
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::Pred);
  context.inst.op[1] = context.source(1, type);
  context.inst.handler =
      type == Type::F32 ? testHandler<float>(kind) : testHandler<double>(kind);
}

} // namespace

void decodeFloatArithmetic(DecodeContext &context) {
  const std::string &opcode = context.parsed.opcode;
  if (opcode == "add" || opcode == "sub" || opcode == "mul")
    return decodeBinary(context, opcode[0]);
  if (opcode == "mad")
    return decodeFma(context);
  if (opcode == "min" || opcode == "max")
    return decodeMinMax(context, opcode == "max");
  if (opcode == "abs" || opcode == "neg")
    return decodeSign(context, opcode == "abs");
  if (opcode == "div")
    return decodeDivide(context);
  context.unsupported();
}

void addFloatInstructions(InstructionTable &table) {
  table.add("fma", decodeFma);
  table.add("rcp", decodeRoot);
  table.add("sqrt", decodeRoot);
  table.add("copysign", decodeCopysign);
  table.add("testp", decodeTestp);
}

} // namespace nvfp4::sim
