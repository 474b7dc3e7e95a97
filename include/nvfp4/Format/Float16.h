//===- Float16.h - bf16 and f16 casts ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts between f32 and the two 16-bit floats, as bit patterns. Round to
// nearest even, overflow to infinity, NaN stays NaN (made quiet, its upper
// payload bits kept).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_FLOAT16_H
#define NVFP4_FORMAT_FLOAT16_H

#include "nvfp4/Format/Rounding.h"

namespace nvfp4::format {

/// The f32 with the value of a bf16; exact for every pattern.
constexpr float bf16ToF32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The bf16 nearest to `x`, ties to even.
constexpr uint16_t f32ToBF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (isNaN(x))
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// The f32 with the value of an f16; exact for every pattern.
constexpr float f16ToF32(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t code = bits & 0x7fffu;
  uint32_t magnitude = 0;
  if (code >= 0x7c00u)
    magnitude = kF32Infinity | ((code & 0x3ffu) << 13);
  else
    magnitude = std::bit_cast<uint32_t>(decodeMagnitude(code, 10, -14));
  return std::bit_cast<float>(sign | magnitude);
}

/// The f16 nearest to `x`, ties to even; from 65520 on it is infinity.
constexpr uint16_t f32ToF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & kF32AbsMask;
  if (isNaN(x))
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  uint32_t code = roundMagnitude(magnitude, 10, -14);
  return static_cast<uint16_t>(sign | (code > 0x7c00u ? 0x7c00u : code));
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_FLOAT16_H
