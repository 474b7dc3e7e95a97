//===- PackingTest.cpp - tests of nibble packing ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Even indices live in low nibbles, for even and odd counts.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Packing.h"

#include "gtest/gtest.h"

#include <vector>

using namespace nvfp4::format;

namespace {

TEST(Packing, EvenIndexIsTheLowNibble) {
  const std::vector<uint8_t> codes = {0x1, 0x2, 0xf, 0x0, 0x9};
  std::vector<uint8_t> bytes(3, 0xee);
  packNibbles(codes, bytes);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x21, 0x0f, 0x09}));
}

TEST(Packing, HighBitsOfCodesAreIgnored) {
  const std::vector<uint8_t> codes = {0xf3, 0xa4};
  std::vector<uint8_t> bytes(1);
  packNibbles(codes, bytes);
  EXPECT_EQ(bytes[0], 0x43);
}

TEST(Packing, RoundTripsEveryLength) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<uint8_t> codes(count);
    for (size_t i = 0; i < count; ++i)
      codes[i] = static_cast<uint8_t>((i * 7 + 3) % 16);
    std::vector<uint8_t> bytes((count + 1) / 2, 0xee);
    packNibbles(codes, bytes);
    std::vector<uint8_t> again(count, 0xee);
    unpackNibbles(bytes, again);
    EXPECT_EQ(again, codes);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(getNibble(bytes, static_cast<int64_t>(i)), codes[i]);
    if (count % 2 == 1) {
      EXPECT_EQ(bytes.back() >> 4, 0);
    }
  }
}

TEST(Packing, SetKeepsTheOtherHalf) {
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned code = 0; code < 16; ++code) {
      std::vector<uint8_t> bytes = {static_cast<uint8_t>(byte)};
      setNibble(bytes, 0, static_cast<uint8_t>(code));
      EXPECT_EQ(bytes[0], (byte & 0xf0) + code);
      bytes[0] = static_cast<uint8_t>(byte);
      setNibble(bytes, 1, static_cast<uint8_t>(code));
      EXPECT_EQ(bytes[0], (byte & 0x0f) + 16 * code);
    }
}

} // namespace
