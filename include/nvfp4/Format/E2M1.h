//===- E2M1.h - the 4-bit element format ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// E2M1: sign, two exponent bits, one mantissa bit; codes 0..7 are
// 0 .5 1 1.5 2 3 4 6 and codes 8..15 their negatives (8 is -0). There is no
// infinity and no NaN.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_E2M1_H
#define NVFP4_FORMAT_E2M1_H

#include "nvfp4/Format/Rounding.h"

namespace nvfp4::format {
/// The largest number.
inline constexpr float kE2M1Max = 6.0f;

/// Result of the cast for values whose magnitude is zero. Producers differ
/// here, the dequantised values do not.
enum class NegativeZero {
  /// -0.0 and negatives that round to zero give code 8 (hardware, TE).
  Keep,
  /// Code 8 is never produced (DeepGEMM).
  Flush,
  /// -0.0 gives code 0, negatives that round to zero code 8 (ModelOpt, which
  /// takes the sign by comparing with zero).
  KeepRounded,
};

/// The value of the low four bits of `code`; the high four are ignored.
constexpr float decodeE2M1(uint8_t code) {
  constexpr float values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,
                                4.0f,  6.0f,  -0.0f, -0.5f, -1.0f, -1.5f,
                                -2.0f, -3.0f, -4.0f, -6.0f};
  return values[code & 15];
}

namespace detail {
/// The magnitude code nearest to a number with these bits, ties to even, 7 for
/// infinity and NaN. Counts the thresholds passed: one between each two codes,
/// inclusive where the code above is the even one. Without branches, so loops
/// over it vectorise.
constexpr uint32_t nearestE2M1(uint32_t magnitude) {
  auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  return static_cast<uint32_t>(magnitude > bits(0.25f)) +
         (magnitude >= bits(0.75f)) + (magnitude > bits(1.25f)) +
         (magnitude >= bits(1.75f)) + (magnitude > bits(2.5f)) +
         (magnitude >= bits(3.5f)) + (magnitude > bits(5.0f));
}

/// Puts the sign of `x` on a magnitude code 0..7.
constexpr uint8_t signE2M1(float x, uint32_t magnitude, NegativeZero nz) {
  if (!signBit(x))
    return static_cast<uint8_t>(magnitude);
  if (magnitude == 0 && (nz == NegativeZero::Flush ||
                         (nz == NegativeZero::KeepRounded && absBits(x) == 0)))
    return 0;
  return static_cast<uint8_t>(magnitude | 8u);
}
} // namespace detail

/// Rounds to nearest and saturates at 6; ties go to the even code (the default)
/// or toward zero (DeepGEMM's host cast). NaN of either sign gives code 7.
constexpr uint8_t encodeE2M1(float x, NegativeZero nz = NegativeZero::Keep,
                             Ties ties = Ties::ToEven) {
  if (isNaN(x))
    return 7;
  uint32_t code = ties == Ties::ToEven ? detail::nearestE2M1(absBits(x))
                                       : roundMagnitude(absBits(x), 1, 0, ties);
  return detail::signE2M1(x, code > 7u ? 7u : code, nz);
}

/// Stochastic rounding with `u` uniform in [0,1): the magnitude becomes
/// ulp*floor(|x|/ulp + u) with ulp = .5, 1, 2 for |x| below 2, 4, 6, and 6 from
/// there on. Exactly representable inputs never move; over u the mean is x for
/// |x| <= 6. NaN gives code 7.
constexpr uint8_t encodeE2M1Stochastic(float x, float u,
                                       NegativeZero nz = NegativeZero::Keep) {
  if (isNaN(x))
    return 7;
  float magnitude = std::bit_cast<float>(absBits(x));
  uint32_t code = 7;
  // In double the sum of two f32 cannot round up to an integer it is below.
  double a = magnitude;
  if (magnitude < 2.0f)
    code = static_cast<uint32_t>(a * 2.0 + u);
  else if (magnitude < 4.0f)
    code = static_cast<uint32_t>(a + u) + 2u;
  else if (magnitude < 6.0f)
    code = static_cast<uint32_t>(a * 0.5 + u) + 4u;
  return detail::signE2M1(x, code > 7u ? 7u : code, nz);
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_E2M1_H
