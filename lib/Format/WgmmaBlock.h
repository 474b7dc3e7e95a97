//===- WgmmaBlock.h - Places within a block of weights ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What laying weights out for sm_90 and reading them back have in common.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_FORMAT_WGMMABLOCK_H
#define NVFP4_LIB_FORMAT_WGMMABLOCK_H

#include "nvfp4/Format/WgmmaWeights.h"

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

/// Behind the codes of a block, the byte offset of the scale word of `thread`
/// for steps 2 * pair and 2 * pair + 1.
inline int64_t scaleOffset(int thread, int pair) {
  return thread / 4 * 8 + pair * 4;
}

} // namespace nvfp4::format::wgmma

#endif // NVFP4_LIB_FORMAT_WGMMABLOCK_H
