//===- MiniFloat.h - encoding and decoding of small float formats ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description and one rounding routine for f16, bf16, tf32, fp8, fp6, fp4
// and ue8m0. Values pass through double, which holds all of them exactly.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_MINIFLOAT_H
#define NVFP4_SIMULATOR_MACHINE_MINIFLOAT_H

#include "nvfp4/Simulator/Ptx/Type.h"

#include <bit>
#include <cstdint>

namespace nvfp4::sim {

/// Rounding modes of PTX.
enum class Rounding : uint8_t {
  NearestEven,
  TowardZero,
  Down,
  Up,
  NearestAway,
};

/// Layout of a small float.
struct FloatFormat {
  unsigned exponentBits;
  unsigned mantissaBits;
  int bias;
  /// IEEE infinities and NaNs in the top exponent.
  bool ieee;
  /// NaN is the all-ones magnitude (E4M3); false with !ieee means no NaN.
  bool hasNan;
  bool hasSign;
};

constexpr FloatFormat formatF16{5, 10, 15, true, true, true};
constexpr FloatFormat formatBF16{8, 7, 127, true, true, true};
constexpr FloatFormat formatTF32{8, 10, 127, true, true, true};
constexpr FloatFormat formatF32{8, 23, 127, true, true, true};
constexpr FloatFormat formatE4M3{4, 3, 7, false, true, true};
constexpr FloatFormat formatE5M2{5, 2, 15, true, true, true};
constexpr FloatFormat formatE2M3{2, 3, 1, false, false, true};
constexpr FloatFormat formatE3M2{3, 2, 3, false, false, true};
constexpr FloatFormat formatE2M1{2, 1, 1, false, false, true};

/// The format of the elements of `type` (packed types give their element).
const FloatFormat *floatFormat(Type type);

/// The value of `bits`.
double decodeFloat(uint32_t bits, const FloatFormat &format);

/// Rounds `value`. With `saturate`, values beyond the largest finite one, and
/// infinities, become it; NaN becomes the format's NaN, or the largest positive
/// value in formats without one.
uint32_t encodeFloat(double value, const FloatFormat &format, Rounding rounding,
                     bool saturate);

/// Rounds the magnitude up when the fraction of a unit of the last place that
/// does not fit, cut to `width` bits, plus `random` (below 2^width) carries.
uint32_t encodeStochastic(double value, const FloatFormat &format,
                          uint32_t random, unsigned width, bool saturate);

/// ue8m0: 2^(bits - 127), 255 is NaN.
double decodeUE8M0(uint8_t bits);
uint8_t encodeUE8M0(double value, Rounding rounding, bool saturate);

/// The minimum and maximum of atomics and reducing copies: -0 is less than +0,
/// and a NaN gives the other operand.
double minimumNumber(double a, double b);
double maximumNumber(double a, double b);
/// The sum; a NaN among the operands stays as it is, quiet or not, first that
/// of `b`.
double addKeepingNan(double a, double b);

// Fast paths for the common conversions, round to nearest even. Inline and
// without branches, so that loops over lanes become vector code.

/// NaN is 0x7fff.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Below 2^-14: a multiple of 2^-24.
  uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      0x3f000000u;
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  uint32_t code = (rounded - 0x38000000) >> 13;
  code = magnitude < 0x38800000 ? small : code;
  code = magnitude >= 0x477ff000 ? 0x7c00 : code; // 65536 or more, rounded
  return static_cast<uint16_t>(magnitude > 0x7f800000 ? 0x7fff : sign | code);
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t finite = std::bit_cast<uint32_t>(scaled);
  uint32_t special = 0x7f800000 | (magnitude & 0x3ff) << 13;
  return std::bit_cast<float>(sign | (magnitude >= 0x7c00 ? special : finite));
}

/// NaN is 0x7fff.
inline uint16_t floatToBFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff
                                                                : rounded);
}

inline float bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The value of `bits`, whose sign is the top one; NaN is any.
inline float decodeSmall(uint32_t bits, const FloatFormat &format) {
  unsigned width = format.exponentBits + format.mantissaBits;
  uint32_t magnitude = bits & ((1u << width) - 1);
  uint32_t sign = (bits >> width & uint32_t{format.hasSign}) << 31;
  // As an f32 of the same fields, subnormal numbers included, but for the bias.
  float unscaled =
      std::bit_cast<float>(magnitude << (23 - format.mantissaBits));
  float scale =
      std::bit_cast<float>(static_cast<uint32_t>(254 - format.bias) << 23);
  uint32_t finite = std::bit_cast<uint32_t>(unscaled * scale);
  uint32_t infinity = ((1u << format.exponentBits) - 1) << format.mantissaBits;
  // Up to the infinity of formats that have one, or the largest number.
  uint32_t last = format.ieee     ? infinity
                  : format.hasNan ? (1u << width) - 2
                                  : ~0u;
  uint32_t code = format.ieee && magnitude == infinity ? 0x7f800000 : finite;
  return std::bit_cast<float>(sign | (magnitude > last ? 0x7fc00000 : code));
}

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_MINIFLOAT_H
