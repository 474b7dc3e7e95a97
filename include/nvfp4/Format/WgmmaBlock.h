//===- WgmmaBlock.h - Places within a block of weights ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code that packing weights for sm_90 and unpacking them share.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_WGMMABLOCK_H
#define NVFP4_FORMAT_WGMMABLOCK_H

#include "nvfp4/Format/WgmmaCoding.h"

#include <bit>

namespace nvfp4::format::wgmma {

inline constexpr int kThreads = 128;
inline constexpr int kSteps = 4;
inline constexpr uint8_t kPackedNan = 0xFF;

/// Row of register `i` of `thread`, and column of its low half in `step`.
inline int64_t rowOf(int thread, int i) {
  return thread / 32 * 16 + thread % 32 / 4 + (i & 1) * 8;
}
inline int64_t columnOf(int thread, int step, int i) {
  return step * 16 + thread % 4 * 2 + (i & 2) * 4;
}

/// Powers of two as a decoder multiplies by them: the exponent field of
/// 2^exponent is `offset` + exponent, less what is put into the factor of the
/// products; it must be in [low, high], where every product is exact.
struct FieldRange {
  int offset, low, high;
  /// Bits of the stored byte below the field.
  int shift;
};

/// A decoded element is v * 2^p; offsets make 2^(p + offset - bias) the 2^-7 of
/// kResultExponent. Low: the smallest element stays normal in bf16, and a
/// multiple of 2^-24 in f16. High: 2^127, and in f16 what keeps 57344 finite.
inline FieldRange getFieldRange(const Coding &coding) {
  if (coding.type == Multiplicand::BF16)
    switch (coding.element) {
    case ElementKind::E2M1: // p = -126
      return {119 + 127, 128, 254, 0};
    case ElementKind::E4M3: // p = -120
      return {113 + 127, 130, 254, 0};
    case ElementKind::E5M2: // p = -112
      return {105 + 127, 129, 254, 0};
    }
  switch (coding.element) {
  case ElementKind::E2M1: // p = -14
    return {7 + 15, 6, 30, 3};
  case ElementKind::E4M3: // p = -8
    return {1 + 15, 8, 30, 3};
  case ElementKind::E5M2: // p = 0
    break;
  }
  return {-7 + 15, 7, 15, 3};
}

/// The byte that stands for a scale of NaN.
inline uint8_t getPackedNan(const Coding &coding) {
  // As a power of two this byte is infinity, and zero times infinity is NaN.
  return coding.scale == ScaleKind::UE4M3 || coding.type == Multiplicand::BF16
             ? kPackedNan
             : 0xF8;
}

/// Little-endian, at any address.
inline uint32_t loadWord(const uint8_t *from) {
  return static_cast<uint32_t>(from[0]) | static_cast<uint32_t>(from[1]) << 8 |
         static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}
inline void storeWord(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    to[i] = static_cast<uint8_t>(word >> (8 * i));
}

/// The bytes of a word of scales: rows q and q + 8 of two steps.
struct ScaleWord {
  uint8_t first, firstBelow, second, secondBelow;
};

inline uint32_t packScales(ScaleWord s) {
  uint32_t bytes = s.first | static_cast<uint32_t>(s.secondBelow) << 8 |
                   static_cast<uint32_t>(s.firstBelow) << 16 |
                   static_cast<uint32_t>(s.second) << 24;
  return std::rotl(bytes, 4);
}

inline ScaleWord unpackScales(uint32_t word) {
  uint32_t bytes = std::rotr(word, 4);
  return {static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes >> 16),
          static_cast<uint8_t>(bytes >> 24), static_cast<uint8_t>(bytes >> 8)};
}

/// After the codes of a block, the byte offset of the scale word of `thread`
/// for steps 2 * pair and 2 * pair + 1.
inline int64_t scaleOffset(int thread, int pair) {
  return thread / 4 * 8 + pair * 4;
}

} // namespace nvfp4::format::wgmma

#endif // NVFP4_FORMAT_WGMMABLOCK_H
