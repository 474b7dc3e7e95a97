//===- Float8.h - the 8-bit element and scale formats -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// E4M3FN (elements of MXFP8, and with sign 0 the UE4M3 scale of NVFP4), E5M2
// (elements of MXFP8) and E8M0 (the power-of-two scale of the MX formats).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_FLOAT8_H
#define NVFP4_FORMAT_FLOAT8_H

#include "nvfp4/Format/Rounding.h"

#include <array>
#include <limits>

namespace nvfp4::format {
/// The largest numbers, and the codes that are none.
inline constexpr float kE4M3Max = 448.0f;
inline constexpr float kE5M2Max = 57344.0f;
/// The smallest positive E4M3FN number, 2^-9.
inline constexpr float kE4M3MinSubnormal = 0x1p-9f;
inline constexpr uint8_t kE4M3NaN = 0x7f;
inline constexpr uint8_t kE5M2NaN = 0x7e;
inline constexpr uint8_t kE5M2Infinity = 0x7c;
inline constexpr uint8_t kE8M0NaN = 0xff;
/// The E8M0 code of 1.0.
inline constexpr uint8_t kE8M0One = 127;

namespace detail {
constexpr float computeE4M3(uint32_t code) {
  uint32_t magnitude = code & 0x7fu;
  float value = magnitude == kE4M3NaN ? std::numeric_limits<float>::quiet_NaN()
                                      : decodeMagnitude(magnitude, 3, -6);
  return (code & 0x80u) != 0 ? -value : value;
}

constexpr float computeE5M2(uint32_t code) {
  uint32_t magnitude = code & 0x7fu;
  float value = decodeMagnitude(magnitude, 2, -14);
  if (magnitude > kE5M2Infinity)
    value = std::numeric_limits<float>::quiet_NaN();
  else if (magnitude == kE5M2Infinity)
    value = std::numeric_limits<float>::infinity();
  return (code & 0x80u) != 0 ? -value : value;
}

constexpr float computeE8M0(uint32_t code) {
  if (code == kE8M0NaN)
    return std::numeric_limits<float>::quiet_NaN();
  return code == 0 ? 0x1p-127f : exp2Normal(static_cast<int>(code) - 127);
}

template <typename Fn> constexpr std::array<float, 256> makeTable(Fn fn) {
  std::array<float, 256> table{};
  for (uint32_t code = 0; code < 256; ++code)
    table[code] = fn(code);
  return table;
}

inline constexpr std::array<float, 256> kE4M3Values = makeTable(computeE4M3);
inline constexpr std::array<float, 256> kE5M2Values = makeTable(computeE5M2);
inline constexpr std::array<float, 256> kE8M0Values = makeTable(computeE8M0);

constexpr uint8_t signByte(float x) { return signBit(x) ? 0x80 : 0; }
} // namespace detail

/// The value of an E4M3FN code; 0x7F and 0xFF are NaN.
constexpr float decodeE4M3(uint8_t code) { return detail::kE4M3Values[code]; }

/// The value of an E5M2 code, infinities and NaN included.
constexpr float decodeE5M2(uint8_t code) { return detail::kE5M2Values[code]; }

/// The value of an E8M0 code, 2^(code-127); code 0 is the subnormal 2^-127 and
/// 255 is NaN. There is no zero.
constexpr float decodeE8M0(uint8_t code) { return detail::kE8M0Values[code]; }

/// Rounds to nearest even and saturates at 448, infinity included. NaN gives
/// 0x7F with the sign of the input.
constexpr uint8_t encodeE4M3(float x) {
  uint32_t code =
      isNaN(x) ? uint32_t{kE4M3NaN} : roundMagnitude(absBits(x), 3, -6);
  if (!isNaN(x) && code > 0x7eu)
    code = 0x7eu;
  return static_cast<uint8_t>(detail::signByte(x) | code);
}

/// Rounds to nearest even and saturates at 57344, infinity included. NaN gives
/// 0x7E with the sign of the input.
constexpr uint8_t encodeE5M2Saturating(float x) {
  uint32_t code =
      isNaN(x) ? uint32_t{kE5M2NaN} : roundMagnitude(absBits(x), 2, -14);
  if (!isNaN(x) && code > 0x7bu)
    code = 0x7bu;
  return static_cast<uint8_t>(detail::signByte(x) | code);
}

/// Rounds to nearest even; from 61440 on the result is infinity. NaN gives
/// 0x7E with the sign of the input.
constexpr uint8_t encodeE5M2(float x) {
  uint32_t code =
      isNaN(x) ? uint32_t{kE5M2NaN} : roundMagnitude(absBits(x), 2, -14);
  if (!isNaN(x) && code > kE5M2Infinity)
    code = kE5M2Infinity;
  return static_cast<uint8_t>(detail::signByte(x) | code);
}

/// True when `code` is a legal scale: the sign bit is clear. NaN (0x7F) is
/// legal; it poisons the rows and columns that it belongs to.
constexpr bool isValidUE4M3(uint8_t code) { return (code & 0x80u) == 0; }

/// The value of a UE4M3 scale; NaN for codes with the sign bit set, which no
/// producer may write.
constexpr float decodeUE4M3(uint8_t code) {
  return isValidUE4M3(code) ? decodeE4M3(code)
                            : std::numeric_limits<float>::quiet_NaN();
}

/// encodeE4M3 for a scale: the sign of zero and of NaN is dropped, a negative
/// number gives NaN because no scale can stand for it.
constexpr uint8_t encodeUE4M3(float x) {
  uint8_t code = encodeE4M3(x);
  if (isValidUE4M3(code))
    return code;
  return absBits(x) == 0 ? 0 : kE4M3NaN;
}

/// How a number between two powers of two becomes one of them.
enum class RoundE8M0 { Up, Down, Nearest };

/// The E8M0 code for `x`. Zero gives code 0; numbers below 2^-127 give code 0
/// and numbers past 2^127, infinity included, give 254 whatever the rounding;
/// NaN and negative numbers give 255. Nearest has the ties of ml_dtypes and
/// PyTorch, which see the implicit leading bit as odd: 1.5 * 2^n goes up, and
/// so does every number between 2^-127 and 2^-126.
constexpr uint8_t encodeE8M0(float x, RoundE8M0 rounding) {
  uint32_t magnitude = absBits(x);
  if (magnitude == 0)
    return 0;
  if (isNaN(x) || signBit(x))
    return kE8M0NaN;
  // The subnormal 2^-127 is exact although its exponent field is that of zero.
  if (magnitude <= 0x400000u)
    return 0;
  uint32_t bump = rounding == RoundE8M0::Up        ? 0x7fffffu
                  : rounding == RoundE8M0::Nearest ? 0x400000u
                                                   : 0u;
  uint32_t code = (magnitude + bump) >> 23;
  return static_cast<uint8_t>(code > 254u ? 254u : code);
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_FLOAT8_H
