//===- WgmmaPlaces.cpp - Bits of weights laid out for sm_90a ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments of the instruction and the rotations of its decoder, as
// docs/Rationale/Hopper.md describes them.
//
//===----------------------------------------------------------------------===//

#include "WgmmaPlaces.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace nvfp4;
using namespace nvfp4::reference;

/// Bit k of the code in a row and column of a block: the thread of the fragment
/// that holds it, its register, and where the register's bit comes from.
wgmma::Place wgmma::Coding::codePlace(int64_t row, int64_t column,
                                      int k) const {
  row %= 64;
  column %= 64;
  int64_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
  int64_t step = column / 16;
  int reg = static_cast<int>(row % 16 / 8 + column % 16 / 8 * 2);
  int half = static_cast<int>(column % 2) * 16;
  if (!isFP4) {
    // Registers 2 i and 2 i + 1 are the upper and lower bytes of word i.
    int64_t word = step / 2 * 2048 + thread * 16 + step % 2 * 8 + reg / 2 * 4;
    return {word, half + (reg % 2 == 0 ? 8 : 0) + k};
  }
  int64_t own = thread * 16 + step * 4;
  bool isSign = k == 3;
  if (isF16) {
    constexpr int sign[] = {15, 12, 14, 13}, magnitude[] = {9, 6, 0, 3};
    return {own, half + (isSign ? sign[reg] : magnitude[reg] + k)};
  }
  // Decoded: the sign in bit 15, the magnitude in bits 8 to 6.
  int bit = half + (isSign ? 15 : 6 + k);
  auto before = [](int bit, int rotation) {
    return (bit - rotation + 32) % 32;
  };
  constexpr int rotations[] = {0, 4, 10};
  if (reg < 3)
    return {own, before(bit, rotations[reg])};
  int64_t x = thread * 16 + step / 2 * 8;
  int inPool = before(bit, step % 2 == 0 ? 6 : 12);
  if (0x06030603u >> inPool & 1)
    return {x, inPool};
  return {x + 4, before(inPool, 2)};
}

/// Bit k of the byte for 16 columns of a row of a block.
wgmma::Place wgmma::Coding::scalePlace(int64_t row, int64_t column,
                                       int k) const {
  row %= 64;
  column %= 64;
  int64_t shared = row / 16 * 8 + row % 8;
  int64_t word = codeBytes() + shared * 8 + column / 32 * 4;
  int bit = 4 + k + (row % 16 / 8) * 16;
  if (column / 16 % 2 == 1)
    bit = (bit - 8 + 32) % 32;
  return {word, bit};
}

/// The number whose bf16 bits are 0x7000 | byte << 4, over 2^119.
static double decodeStoredScale(int byte) {
  auto bits = static_cast<uint32_t>(0x7000 | byte << 4) << 16;
  return std::ldexp(static_cast<double>(llvm::bit_cast<float>(bits)), -119);
}

uint8_t wgmma::storeUE4M3(uint8_t scale) {
  double value = format::decodeUE4M3(scale);
  if (std::isnan(value))
    return 0xFF;
  for (int byte = 1; value > 0 && byte < 0xFF; ++byte)
    if (decodeStoredScale(byte) == value)
      return static_cast<uint8_t>(byte);
  return 0;
}
