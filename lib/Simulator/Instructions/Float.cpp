//===- Float.cpp - arithmetic on f32, f64, f16, bf16 and packed pairs -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add, sub, mul, fma, mad, div, rcp.rn, sqrt.rn, min, max, abs, neg, copysign,
// testp. IEEE results are bit-exact; f32 NaN results are the canonical
// 0x7fffffff. 16-bit operations are done in f64 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatMode.h"
#include "Lanewise.h"

#include <cmath>
#include <limits>

namespace nvfp4::sim {
namespace {

float canonical(float x) {
  return x != x ? std::bit_cast<float>(0x7fffffffu) : x;
}
double canonical(double x) { return x; }

// How each type computes: convert to the working type, compute, convert back.
template <typename T> struct Arithmetic {
  using Work = T;
  static T in(T x) { return x; }
  static T out(T x) { return canonical(x); }
};
template <> struct Arithmetic<Half> {
  using Work = double;
  static double in(Half x) { return halfToFloat(x.bits); }
  static Half out(double x) {
    return {static_cast<uint16_t>(
        encodeFloat(x, formatF16, Rounding::NearestEven, false))};
  }
};
template <> struct Arithmetic<BFloat> {
  using Work = double;
  static double in(BFloat x) { return bfloatToFloat(x.bits); }
  static BFloat out(double x) {
    return {static_cast<uint16_t>(
        encodeFloat(x, formatBF16, Rounding::NearestEven, false))};
  }
};

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

template <typename W> W fusedMultiplyAdd(W a, W b, W c) {
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
/// min and max: a NaN gives the other operand, or NaN with `.NaN`; -0 < +0.
template <typename T, bool Max, bool Nan> T select(T a, T b) {
  using A = Arithmetic<T>;
  auto x = A::in(a);
  auto y = A::in(b);
  if (x != x || y != y) {
    if (Nan || (x != x && y != y))
      return A::out(std::numeric_limits<typename A::Work>::quiet_NaN());
    return x != x ? A::out(y) : A::out(x);
  }
  if (x == y)
    return std::signbit(x) == Max ? b : a;
  return ((x < y) != Max) ? A::out(x) : A::out(y);
}
template <typename T, bool Max, bool Nan> T selectXorSignAbs(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
  Bits sign = (std::bit_cast<Bits>(a) ^ std::bit_cast<Bits>(b)) &
              (Bits{1} << (sizeof(T) * 8 - 1));
  auto magnitude = static_cast<Bits>(~(Bits{1} << (sizeof(T) * 8 - 1)));
  T x = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) & magnitude));
  T y = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(b) & magnitude));
  T value = select<T, Max, Nan>(x, y);
  return std::bit_cast<T>(
      static_cast<Bits>((std::bit_cast<Bits>(value) & magnitude) | sign));
}
template <typename B> B negateBits(B a) {
  return a ^ (B{1} << (sizeof(B) * 8 - 1));
}
template <typename B> B absoluteBits(B a) {
  return a & static_cast<B>(~(B{1} << (sizeof(B) * 8 - 1)));
}
/// The multiplication flushes when the float mode says so.
float flushNegate(float a) { return -a * 1.0f; }
float flushAbsolute(float a) { return std::fabs(a) * 1.0f; }
uint32_t negatePair(uint32_t a) { return a ^ 0x80008000u; }
uint32_t absolutePair(uint32_t a) { return a & 0x7fff7fffu; }
float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
Half saturateHalf(Half x) {
  return Arithmetic<Half>::out(saturate(halfToFloat(x.bits)));
}
template <typename T> T copySign(T a, T b) {
  using B = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  B sign = B{1} << (sizeof(T) * 8 - 1);
  return std::bit_cast<T>((std::bit_cast<B>(b) & ~sign) |
                          (std::bit_cast<B>(a) & sign));
}

/// Packed pairs of T, one operation each half.
template <typename T, T (*F)(T, T)> uint32_t pair2(uint32_t a, uint32_t b) {
  auto half = [&](unsigned s) {
    return static_cast<uint32_t>(
        F(T{static_cast<uint16_t>(a >> s)}, T{static_cast<uint16_t>(b >> s)})
            .bits);
  };
  return half(16) << 16 | half(0);
}
template <typename T, T (*F)(T, T, T)>
uint32_t pair3(uint32_t a, uint32_t b, uint32_t c) {
  auto half = [&](unsigned s) {
    return static_cast<uint32_t>(F(T{static_cast<uint16_t>(a >> s)},
                                   T{static_cast<uint16_t>(b >> s)},
                                   T{static_cast<uint16_t>(c >> s)})
                                     .bits);
  };
  return half(16) << 16 | half(0);
}
template <float (*F)(float, float)> uint64_t floats2(uint64_t a, uint64_t b) {
  auto half = [&](unsigned s) -> uint64_t {
    return std::bit_cast<uint32_t>(
        F(std::bit_cast<float>(static_cast<uint32_t>(a >> s)),
          std::bit_cast<float>(static_cast<uint32_t>(b >> s))));
  };
  return half(32) << 32 | half(0);
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
template <Half (*F)(Half, Half)> Half halfSat(Half a, Half b) {
  return saturateHalf(F(a, b));
}
Half fmaHalfSat(Half a, Half b, Half c) { return saturateHalf(fma(a, b, c)); }
template <typename T> T fmaRelu(T a, T b, T c) {
  T r = fma(a, b, c);
  auto x = Arithmetic<T>::in(r);
  return x != x ? r : x > 0 ? r : T{0};
}

/// Picks the handler of a two-operand operation for any float type.
template <template <typename> class Op> Handler forFloat(Type type) {
  switch (type) {
  case Type::F32:
    return lanewise<Op<float>::apply>;
  case Type::F64:
    return lanewise<Op<double>::apply>;
  case Type::F16:
    return lanewise<Op<Half>::apply>;
  case Type::BF16:
    return lanewise<Op<BFloat>::apply>;
  case Type::F16x2:
    return lanewise<pair2<Half, Op<Half>::apply>>;
  case Type::BF16x2:
    return lanewise<pair2<BFloat, Op<BFloat>::apply>>;
  case Type::F32x2:
    return lanewise<floats2<Op<float>::apply>>;
  default:
    return nullptr;
  }
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
template <bool Max, bool Nan> struct SelectOp {
  template <typename T> struct Op {
    static constexpr auto apply = &select<T, Max, Nan>;
  };
  template <typename T> struct XorOp {
    static constexpr auto apply = &selectXorSignAbs<T, Max, Nan>;
  };
};

constexpr std::initializer_list<Type> floatTypes = {
    Type::F32,   Type::F64,    Type::F16,  Type::BF16,
    Type::F16x2, Type::BF16x2, Type::F32x2};

void decodeBinary(DecodeContext &context, char kind) {
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  bool sat = context.take("sat");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 2);
  Inst &inst = context.inst;
  inst.handler = kind == 'a'   ? forFloat<AddOp>(type)
                 : kind == 's' ? forFloat<SubOp>(type)
                               : forFloat<MulOp>(type);
  if (sat && type == Type::F32)
    inst.handler = kind == 'a'   ? lanewise<addSat>
                   : kind == 's' ? lanewise<subSat>
                                 : lanewise<mulSat>;
  else if (sat && type == Type::F16)
    inst.handler = kind == 'a'   ? lanewise<halfSat<add<Half>>>
                   : kind == 's' ? lanewise<halfSat<sub<Half>>>
                                 : lanewise<halfSat<mul<Half>>>;
  else if (sat && type == Type::F16x2)
    inst.handler = kind == 'a'   ? lanewise<pair2<Half, halfSat<add<Half>>>>
                   : kind == 's' ? lanewise<pair2<Half, halfSat<sub<Half>>>>
                                 : lanewise<pair2<Half, halfSat<mul<Half>>>>;
  else if (sat)
    context.error("'.sat' is not supported for this type");
  applyFloatMode(context, rounding, flush && bitWidth(type) >= 32);
}

void decodeFma(DecodeContext &context) {
  Rounding rounding = takeRounding(context);
  bool flush = context.take("ftz");
  bool sat = context.take("sat");
  bool relu = context.take("relu");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 3);
  Inst &inst = context.inst;
  switch (type) {
  case Type::F32:
    inst.handler = sat ? lanewise<fmaSat> : lanewise<fma<float>>;
    break;
  case Type::F64:
    inst.handler = lanewise<fma<double>>;
    break;
  case Type::F16:
    inst.handler = sat    ? lanewise<fmaHalfSat>
                   : relu ? lanewise<fmaRelu<Half>>
                          : lanewise<fma<Half>>;
    break;
  case Type::BF16:
    inst.handler = relu ? lanewise<fmaRelu<BFloat>> : lanewise<fma<BFloat>>;
    break;
  case Type::F16x2:
    inst.handler = sat    ? lanewise<pair3<Half, fmaHalfSat>>
                   : relu ? lanewise<pair3<Half, fmaRelu<Half>>>
                          : lanewise<pair3<Half, fma<Half>>>;
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

void decodeMinMax(DecodeContext &context, bool max) {
  bool flush = context.take("ftz");
  bool nan = context.take("NaN");
  bool xorSign = context.take("xorsign");
  if (xorSign)
    context.take("abs");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 2);
  if (xorSign) {
    auto pick = [&]<bool Max, bool Nan>() -> Handler {
      using S = SelectOp<Max, Nan>;
      switch (type) {
      case Type::F32:
        return lanewise<S::template XorOp<float>::apply>;
      case Type::F16:
        return lanewise<S::template XorOp<Half>::apply>;
      case Type::BF16:
        return lanewise<S::template XorOp<BFloat>::apply>;
      case Type::F16x2:
        return lanewise<pair2<Half, S::template XorOp<Half>::apply>>;
      case Type::BF16x2:
        return lanewise<pair2<BFloat, S::template XorOp<BFloat>::apply>>;
      default:
        return nullptr;
      }
    };
    context.inst.handler = max ? (nan ? pick.operator()<true, true>()
                                      : pick.operator()<true, false>())
                               : (nan ? pick.operator()<false, true>()
                                      : pick.operator()<false, false>());
  } else {
    context.inst.handler =
        max ? (nan ? forFloat<SelectOp<true, true>::Op>(type)
                   : forFloat<SelectOp<true, false>::Op>(type))
            : (nan ? forFloat<SelectOp<false, true>::Op>(type)
                   : forFloat<SelectOp<false, false>::Op>(type));
  }
  applyFloatMode(context, Rounding::NearestEven, flush && bitWidth(type) >= 32);
}

void decodeSign(DecodeContext &context, bool absolute) {
  bool flush = context.take("ftz");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 1);
  switch (type) {
  case Type::F32:
    context.inst.handler =
        flush ? (absolute ? lanewise<flushAbsolute> : lanewise<flushNegate>)
        : absolute ? lanewise<absoluteBits<uint32_t>>
                   : lanewise<negateBits<uint32_t>>;
    applyFloatMode(context, Rounding::NearestEven, flush);
    break;
  case Type::F64:
    context.inst.handler = absolute ? lanewise<absoluteBits<uint64_t>>
                                    : lanewise<negateBits<uint64_t>>;
    break;
  case Type::F16:
  case Type::BF16:
    context.inst.handler = absolute ? lanewise<absoluteBits<uint16_t>>
                                    : lanewise<negateBits<uint16_t>>;
    break;
  case Type::F16x2:
  case Type::BF16x2:
    context.inst.handler =
        absolute ? lanewise<absolutePair> : lanewise<negatePair>;
    break;
  default:
    break;
  }
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
  bool normal = std::isnormal(a);
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
    return std::isfinite(a) && a != 0 && !normal;
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
