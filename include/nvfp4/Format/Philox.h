//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon et al., SC'11): random bits as a pure function of
// (seed, offset, element index), so stochastic rounding gives the same bytes
// for any thread count and any order of elements.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_PHILOX_H
#define NVFP4_FORMAT_PHILOX_H

#include <array>
#include <cstdint>

namespace nvfp4::format {

/// One block of the generator: ten rounds on a 128-bit counter, least
/// significant word first, under a 64-bit key.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t{0xd2511f53u} * counter[0];
    uint64_t odd = uint64_t{0xcd9e8d57u} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return counter;
}

/// Random numbers addressed by element. Four consecutive elements share a
/// block: its counter is (index / 4, offset), its key the seed.
struct Philox {
  uint64_t seed = 0;
  uint64_t offset = 0;

  /// 32 random bits of element `index`.
  constexpr uint32_t bits(uint64_t index) const {
    uint64_t block = index / 4;
    std::array<uint32_t, 4> words = philox4x32(
        {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
         static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    return words[index % 4];
  }

  /// A multiple of 2^-24 in [0, 1) for element `index`, from its high bits.
  constexpr float uniform(uint64_t index) const {
    return static_cast<float>(bits(index) >> 8) * 0x1p-24f;
  }
};

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_PHILOX_H
