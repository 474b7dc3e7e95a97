//===- Packing.h - two 4-bit codes per byte ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Storage of E2M1 codes: two per byte, the even index along K in the low
// nibble. An odd count leaves the high nibble of the last byte zero.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_PACKING_H
#define NVFP4_FORMAT_PACKING_H

#include <cassert>
#include <cstdint>
#include <span>

namespace nvfp4::format {

/// The code at `index` of a packed row.
constexpr uint8_t getNibble(std::span<const uint8_t> bytes, int64_t index) {
  assert(index >= 0 && static_cast<uint64_t>(index) / 2 < bytes.size());
  uint8_t byte = bytes[static_cast<uint64_t>(index) / 2];
  return static_cast<uint8_t>((index & 1) != 0 ? byte >> 4 : byte & 15);
}

/// Replaces the code at `index` of a packed row by the low four bits of `code`;
/// the other half of the byte is kept.
constexpr void setNibble(std::span<uint8_t> bytes, int64_t index,
                         uint8_t code) {
  assert(index >= 0 && static_cast<uint64_t>(index) / 2 < bytes.size());
  uint8_t &byte = bytes[static_cast<uint64_t>(index) / 2];
  byte = (index & 1) != 0
             ? static_cast<uint8_t>((byte & 0x0f) | (code & 15) << 4)
             : static_cast<uint8_t>((byte & 0xf0) | (code & 15));
}

/// Packs one code per byte into two codes per byte. `bytes` holds exactly
/// one byte for every two codes, the last of an odd number included.
constexpr void packNibbles(std::span<const uint8_t> codes,
                           std::span<uint8_t> bytes) {
  assert(bytes.size() == codes.size() / 2 + codes.size() % 2);
  for (uint64_t i = 0; i < bytes.size(); ++i) {
    uint8_t low = codes[2 * i] & 15;
    uint8_t high = 2 * i + 1 < codes.size() ? codes[2 * i + 1] & 15 : 0;
    bytes[i] = static_cast<uint8_t>(low | high << 4);
  }
}

/// The inverse of packNibbles.
constexpr void unpackNibbles(std::span<const uint8_t> bytes,
                             std::span<uint8_t> codes) {
  assert(bytes.size() == codes.size() / 2 + codes.size() % 2);
  for (uint64_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<uint8_t>((i & 1) != 0 ? bytes[i / 2] >> 4
                                                 : bytes[i / 2] & 15);
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_PACKING_H
