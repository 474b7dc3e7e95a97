//===- FloatArithmetic.h - how float types compute --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each type of PTX: which type of the host computes, and how values get
// there and back. `.ftz` of f16, and of what only compares f32, is a type of
// its own; the host's float unit flushes the arithmetic of f32 (FloatMode.h).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATARITHMETIC_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATARITHMETIC_H

#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <cmath>
#include <initializer_list>

namespace nvfp4::sim {

/// f16 with `.ftz`: subnormal operands and results are zeros of their sign.
struct FlushedHalf {
  uint16_t bits;
};
/// f32 with `.ftz`, for what does no arithmetic.
struct FlushedFloat {
  uint32_t bits;
};

/// NaN results of f32 have one code.
inline float canonical(float x) {
  return x != x ? std::bit_cast<float>(0x7fffffffu) : x;
}
inline double canonical(double x) { return x; }

/// Zero of the same sign for magnitudes below `smallest`.
template <typename T> T flushBelow(T x, T smallest) {
  return std::fabs(x) < smallest ? std::copysign(T{0}, x) : x;
}

/// How each type computes: convert to the working type, compute, convert back.
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

template <> struct Arithmetic<FlushedHalf> {
  using Work = double;
  static constexpr double smallest = 0x1p-14;
  static double in(FlushedHalf x) {
    return flushBelow<double>(halfToFloat(x.bits), smallest);
  }
  /// A value that rounds to a normal number with an exponent of any size is not
  /// flushed.
  static FlushedHalf out(double x) {
    return {Arithmetic<Half>::out(flushBelow(x, smallest - 0x1p-26)).bits};
  }
};
template <> struct Arithmetic<FlushedFloat> {
  using Work = float;
  static float in(FlushedFloat x) {
    return flushBelow(std::bit_cast<float>(x.bits), 0x1p-126f);
  }
  static FlushedFloat out(float x) {
    return {std::bit_cast<uint32_t>(canonical(x))};
  }
};

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
/// Picks the handler of a two-operand operation for any float type.
template <template <typename> class Op>
Handler forFloat(Type type, bool flush = false) {
  switch (type) {
  case Type::F32:
    return lanewise<Op<float>::apply>;
  case Type::F64:
    return lanewise<Op<double>::apply>;
  case Type::F16:
    return flush ? lanewise<Op<FlushedHalf>::apply> : lanewise<Op<Half>::apply>;
  case Type::BF16:
    return lanewise<Op<BFloat>::apply>;
  case Type::F16x2:
    return flush ? lanewise<pair2<FlushedHalf, Op<FlushedHalf>::apply>>
                 : lanewise<pair2<Half, Op<Half>::apply>>;
  case Type::BF16x2:
    return lanewise<pair2<BFloat, Op<BFloat>::apply>>;
  case Type::F32x2:
    return lanewise<floats2<Op<float>::apply>>;
  default:
    return nullptr;
  }
}

inline constexpr std::initializer_list<Type> floatTypes = {
    Type::F32,   Type::F64,    Type::F16,  Type::BF16,
    Type::F16x2, Type::BF16x2, Type::F32x2};

/// min and max.
void decodeMinMax(DecodeContext &context, bool max);
/// abs and neg.
void decodeSign(DecodeContext &context, bool absolute);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATARITHMETIC_H
