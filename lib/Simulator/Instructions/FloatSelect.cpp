//===- FloatSelect.cpp - min, max, abs and neg of floats --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NaN is handled as by an H200: the text of abs and neg leaves it open.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatArithmetic.h"

#include <limits>

namespace nvfp4::sim {
namespace {

/// -0 is less than +0. A NaN gives the other operand, or NaN with `.NaN`.
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
    return std::signbit(x) == Max ? A::out(y) : A::out(x);
  return ((x < y) != Max) ? A::out(x) : A::out(y);
}
/// Of the magnitudes, with the product of the signs, which a NaN does not get.
template <typename T, bool Max, bool Nan> T selectXorSignAbs(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
  constexpr auto top = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  constexpr auto magnitude = static_cast<Bits>(~top);
  auto bits = [](T x) { return std::bit_cast<Bits>(x); };
  T value = select<T, Max, Nan>(
      std::bit_cast<T>(static_cast<Bits>(bits(a) & magnitude)),
      std::bit_cast<T>(static_cast<Bits>(bits(b) & magnitude)));
  auto work = Arithmetic<T>::in(value);
  if (work != work)
    return value;
  return std::bit_cast<T>(static_cast<Bits>((bits(value) & magnitude) |
                                            ((bits(a) ^ bits(b)) & top)));
}

template <bool Max, bool Nan> struct SelectOp {
  template <typename T> struct Op {
    static constexpr auto apply = &select<T, Max, Nan>;
  };
  template <typename T> struct XorOp {
    static constexpr auto apply = &selectXorSignAbs<T, Max, Nan>;
  };
};

template <typename S> Handler pickSelect(Type type, bool flush) {
  if (flush && type == Type::F32)
    return lanewise<S::template Op<FlushedFloat>::apply>;
  return forFloat<S::template Op>(type, flush);
}
template <typename S> Handler pickXorSign(Type type, bool flush) {
  switch (type) {
  case Type::F32:
    return flush ? lanewise<S::template XorOp<FlushedFloat>::apply>
                 : lanewise<S::template XorOp<float>::apply>;
  case Type::F16:
    return flush ? lanewise<S::template XorOp<FlushedHalf>::apply>
                 : lanewise<S::template XorOp<Half>::apply>;
  case Type::BF16:
    return lanewise<S::template XorOp<BFloat>::apply>;
  case Type::F16x2:
    return flush
               ? lanewise<
                     pair2<FlushedHalf, S::template XorOp<FlushedHalf>::apply>>
               : lanewise<pair2<Half, S::template XorOp<Half>::apply>>;
  case Type::BF16x2:
    return lanewise<pair2<BFloat, S::template XorOp<BFloat>::apply>>;
  default:
    return nullptr;
  }
}

template <bool Absolute, typename T> T changeSign(T a) {
  using A = Arithmetic<T>;
  auto x = A::in(a);
  return A::out(Absolute ? std::fabs(x) : -x);
}
/// f64 keeps sign and payload of a NaN, and makes it quiet.
template <bool Absolute> double changeSignDouble(double a) {
  constexpr uint64_t quiet = uint64_t{1} << 51, top = uint64_t{1} << 63;
  auto bits = std::bit_cast<uint64_t>(a);
  if (a != a)
    return std::bit_cast<double>(bits | quiet);
  return std::bit_cast<double>(Absolute ? bits & ~top : bits ^ top);
}
/// Without `.ftz` pairs are changed by their bits.
uint32_t negatePair(uint32_t a) { return a ^ 0x80008000u; }
uint32_t absolutePair(uint32_t a) { return a & 0x7fff7fffu; }
template <typename T, T (*F)(T)> uint32_t pair1(uint32_t a) {
  auto half = [&](unsigned s) {
    return static_cast<uint32_t>(F(T{static_cast<uint16_t>(a >> s)}).bits);
  };
  return half(16) << 16 | half(0);
}

template <bool Absolute> Handler pickSign(Type type, bool flush) {
  switch (type) {
  case Type::F32:
    return flush ? lanewise<changeSign<Absolute, FlushedFloat>>
                 : lanewise<changeSign<Absolute, float>>;
  case Type::F64:
    return lanewise<changeSignDouble<Absolute>>;
  case Type::F16:
    return flush ? lanewise<changeSign<Absolute, FlushedHalf>>
                 : lanewise<changeSign<Absolute, Half>>;
  case Type::BF16:
    return lanewise<changeSign<Absolute, BFloat>>;
  case Type::F16x2:
    if (flush)
      return lanewise<pair1<FlushedHalf, changeSign<Absolute, FlushedHalf>>>;
    [[fallthrough]];
  case Type::BF16x2:
    return Absolute ? lanewise<absolutePair> : lanewise<negatePair>;
  default:
    return nullptr;
  }
}

} // namespace

void decodeMinMax(DecodeContext &context, bool max) {
  if (context.operandCount() == 4) {
    context.error("'" + context.parsed.fullName() +
                  "' of three values is not supported");
    return;
  }
  bool flush = context.take("ftz");
  bool nan = context.take("NaN");
  bool xorSign = context.take("xorsign");
  if (xorSign)
    context.take("abs");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 2);
  auto pick = [&]<typename S>() {
    return xorSign ? pickXorSign<S>(type, flush) : pickSelect<S>(type, flush);
  };
  context.inst.handler = max ? (nan ? pick.operator()<SelectOp<true, true>>()
                                    : pick.operator()<SelectOp<true, false>>())
                         : nan ? pick.operator()<SelectOp<false, true>>()
                               : pick.operator()<SelectOp<false, false>>();
}

void decodeSign(DecodeContext &context, bool absolute) {
  bool flush = context.take("ftz");
  Type type = context.expectType(floatTypes);
  decodeOperands(context, type, 1);
  context.inst.handler =
      absolute ? pickSign<true>(type, flush) : pickSign<false>(type, flush);
}

} // namespace nvfp4::sim
