//===- MiniFloat.cpp - encoding and decoding of small float formats -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding works on the integer significand of a double: shift, look at the
// bits shifted out, decide, and let the carry run into the exponent.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace nvfp4::sim {

const FloatFormat *floatFormat(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return &formatF16;
  case Type::BF16:
  case Type::BF16x2:
    return &formatBF16;
  case Type::TF32:
    return &formatTF32;
  case Type::F32:
  case Type::F32x2:
    return &formatF32;
  case Type::E4M3:
  case Type::UE4M3:
  case Type::E4M3x2:
  case Type::E4M3x4:
    return &formatE4M3;
  case Type::E5M2:
  case Type::E5M2x2:
  case Type::E5M2x4:
    return &formatE5M2;
  case Type::E2M3:
  case Type::E2M3x2:
  case Type::E2M3x4:
    return &formatE2M3;
  case Type::E3M2:
  case Type::E3M2x2:
  case Type::E3M2x4:
    return &formatE3M2;
  case Type::E2M1:
  case Type::E2M1x2:
  case Type::E2M1x4:
    return &formatE2M1;
  default:
    return nullptr;
  }
}

double decodeFloat(uint32_t bits, const FloatFormat &format) {
  return decodeSmall(bits, format);
}

uint32_t encodeFloat(double value, const FloatFormat &format, Rounding rounding,
                     bool saturate) {
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  unsigned width = format.exponentBits + format.mantissaBits;
  uint32_t allOnes = (1u << width) - 1;
  uint32_t infinity = exponentMask << format.mantissaBits;
  uint32_t largest = format.ieee     ? infinity - 1
                     : format.hasNan ? allOnes - 1
                                     : allOnes;
  bool negative = std::signbit(value);
  uint32_t sign = negative ? 1u << width : 0;
  if (std::isnan(value)) {
    if (format.ieee || format.hasNan)
      return allOnes; // the canonical NaN has every magnitude bit set
    return largest;
  }
  if (std::isinf(value))
    return sign | (format.ieee && !saturate ? infinity : largest);
  if (value == 0)
    return sign;

  // |value| = significand * 2^(unbiased - 52), significand in [2^52, 2^53).
  constexpr uint64_t implicit = uint64_t{1} << 52;
  auto magnitude = std::bit_cast<uint64_t>(std::fabs(value));
  int unbiased = static_cast<int>(magnitude >> 52) - 1023;
  uint64_t significand = (magnitude & (implicit - 1)) | implicit;
  if (magnitude < implicit) { // subnormal
    int shift = std::countl_zero(magnitude) - 11;
    unbiased = -1022 - shift;
    significand = magnitude << shift;
  }
  int smallest = 1 - format.bias;
  int shift = 52 - static_cast<int>(format.mantissaBits) +
              std::max(0, smallest - unbiased);
  uint64_t kept = shift > 63 ? 0 : significand >> shift;
  uint64_t rest =
      shift > 63 ? significand : significand & ((uint64_t{1} << shift) - 1);
  uint64_t half = shift > 63 ? ~uint64_t{0} : uint64_t{1} << (shift - 1);
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::NearestAway:
    up = rest >= half;
    break;
  case Rounding::TowardZero:
    break;
  case Rounding::Down:
    up = negative && rest;
    break;
  case Rounding::Up:
    up = !negative && rest;
    break;
  }
  kept += up;
  // Normal numbers: drop the implicit bit, add the exponent; a carry out of
  // the mantissa increments the exponent by itself.
  uint64_t code = kept;
  if (unbiased >= smallest)
    code += static_cast<uint64_t>(unbiased - smallest) << format.mantissaBits;
  if (code > largest) {
    bool away = rounding == Rounding::NearestEven ||
                rounding == Rounding::NearestAway ||
                (rounding == Rounding::Up && !negative) ||
                (rounding == Rounding::Down && negative);
    if (format.ieee && !saturate && away)
      code = infinity;
    else if (!format.ieee && !saturate && format.hasNan && away)
      code = allOnes;
    else
      code = largest;
  }
  return sign | static_cast<uint32_t>(code);
}

double decodeUE8M0(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, bits - 127);
}

uint8_t encodeUE8M0(double value, Rounding rounding, bool saturate) {
  (void)saturate;
  if (std::isnan(value))
    return 255;
  value = std::fabs(value);
  if (value == 0)
    return 0;
  if (std::isinf(value))
    return 254;
  int exponent = 0;
  double fraction = std::frexp(value, &exponent); // [0.5, 1)
  int power = exponent - 1;
  if (rounding == Rounding::Up && fraction != 0.5)
    ++power;
  return static_cast<uint8_t>(std::clamp(power + 127, 0, 254));
}

double minimumNumber(double a, double b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

double maximumNumber(double a, double b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a > b || (a == b && std::signbit(b)) ? a : b;
}

double addKeepingNan(double a, double b) {
  return b != b ? b : a != a ? a : a + b;
}

} // namespace nvfp4::sim
