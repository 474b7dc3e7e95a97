//===- Rounding.h - bit-level rounding to small floats ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one rounding step shared by every cast of Format: the magnitude of an
// f32 is rounded to a float with fewer mantissa bits, in integer arithmetic,
// so the result does not depend on the rounding mode or on the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_ROUNDING_H
#define NVFP4_FORMAT_ROUNDING_H

#include <bit>
#include <cstdint>

namespace nvfp4::format {
/// Bits of f32.
inline constexpr uint32_t kF32SignBit = 0x80000000u;
inline constexpr uint32_t kF32AbsMask = 0x7fffffffu;
inline constexpr uint32_t kF32Infinity = 0x7f800000u;

/// The bits of |x|.
constexpr uint32_t absBits(float x) {
  return std::bit_cast<uint32_t>(x) & kF32AbsMask;
}

/// True for every NaN, also under compilers that assume there are none.
constexpr bool isNaN(float x) { return absBits(x) > kF32Infinity; }

/// True when the sign bit is set (-0.0 and negative NaN included).
constexpr bool signBit(float x) {
  return (std::bit_cast<uint32_t>(x) & kF32SignBit) != 0;
}

/// 2^exponent as an f32, for exponents of normal numbers, -126..127.
constexpr float exp2Normal(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

/// Result for a value halfway between two neighbours.
enum class Ties { ToEven, TowardZero };

/// Rounds the magnitude `magnitude` (bits of a non-NaN f32, sign clear) to a
/// float with `mantissaBits` explicit bits whose smallest normal number is
/// 2^minExponent, and returns its code: exponent field and mantissa side by
/// side, subnormals included. There is no upper limit: values past the format
/// give codes past its last one, so callers saturate by comparing codes.
constexpr uint32_t roundMagnitude(uint32_t magnitude, int mantissaBits,
                                  int minExponent, Ties ties = Ties::ToEven) {
  int field = static_cast<int>(magnitude >> 23);
  uint32_t significand = magnitude & 0x7fffffu;
  int exponent = -126;
  if (field != 0) {
    significand |= 0x800000u;
    exponent = field - 127;
  }
  int shift = 23 - mantissaBits;
  if (exponent < minExponent) {
    shift += minExponent - exponent;
    exponent = minExponent;
  }
  // Below a quarter of the smallest subnormal nothing can round up.
  if (shift > 25)
    return 0;
  uint32_t quotient = significand;
  if (shift > 0) {
    quotient = significand >> shift;
    uint32_t rest = significand & ((uint32_t{1} << shift) - 1);
    uint32_t half = uint32_t{1} << (shift - 1);
    bool tieUp = ties == Ties::ToEven && (quotient & 1) != 0;
    if (rest > half || (rest == half && tieUp))
      ++quotient;
  }
  return (static_cast<uint32_t>(exponent - minExponent) << mantissaBits) +
         quotient;
}

/// The value of a magnitude code of the format that `roundMagnitude` describes,
/// for formats whose values are all normal f32 numbers or zero.
constexpr float decodeMagnitude(uint32_t code, int mantissaBits,
                                int minExponent) {
  uint32_t field = code >> mantissaBits;
  uint32_t significand = code & ((uint32_t{1} << mantissaBits) - 1);
  int exponent = minExponent - mantissaBits;
  if (field != 0) {
    significand |= uint32_t{1} << mantissaBits;
    exponent += static_cast<int>(field) - 1;
  }
  return static_cast<float>(significand) * exp2Normal(exponent);
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_ROUNDING_H
