//===- FatBinaryTest.cpp - fat binaries and LZ4 blocks ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compressed blocks here are written by hand after the format's description.
//
//===----------------------------------------------------------------------===//

#include "FatBinary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace nvfp4::simcuda;

namespace {

/// One entry; the layout is written down a second time, byte by byte.
std::vector<uint8_t> fatBinary(uint16_t kind, uint64_t flags,
                               const std::string &payload,
                               uint32_t compressedSize, uint64_t decodedSize) {
  std::vector<uint8_t> bytes;
  auto put = [&](uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  };
  put(0xba55ed50, 4);
  put(1, 2);
  put(16, 2);
  put(64 + payload.size(), 8);
  put(kind, 2);
  put(0x101, 2);
  put(64, 4);
  put(payload.size(), 8);
  put(compressedSize, 4);
  put(0, 4);
  put(0, 2);
  put(9, 2);
  put(100, 4);
  put(0, 8);
  put(flags, 8);
  put(0, 8);
  put(decodedSize, 8);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// Memory that must not be read follows the text.
TEST(FatBinary, TextMayBeShort) {
  long page = sysconf(_SC_PAGESIZE);
  auto *memory = static_cast<char *>(
      mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory, page, PROT_READ | PROT_WRITE), 0);
  for (const char *text : {"", "P", "\xb1\x43", "\x50\xed\x55"}) {
    char *start = memory + page - std::strlen(text) - 1;
    std::strcpy(start, text);
    EXPECT_FALSE(isFatBinary(start));
  }
  munmap(memory, 2 * page);
}

TEST(FatBinary, PlainText) {
  auto bytes =
      fatBinary(1, 0x11, std::string(".version 9.0\0\0\0\0", 16), 0, 0);
  ASSERT_TRUE(isFatBinary(bytes.data()));
  FatBinary binary;
  ASSERT_EQ(readFatBinary(bytes.data(), binary), "");
  ASSERT_EQ(binary.ptx.size(), 1u);
  EXPECT_EQ(binary.ptx[0].text, ".version 9.0");
  EXPECT_EQ(binary.ptx[0].architecture, 100u);
  EXPECT_EQ(binary.machineCode, 0u);
}

TEST(FatBinary, EmptyHeaderFirstAndMachineCode) {
  auto code = fatBinary(2, 0x11, "12345678", 0, 0);
  std::vector<uint8_t> bytes(code.begin(), code.begin() + 16);
  std::memset(&bytes[8], 0, 8);
  bytes.insert(bytes.end(), code.begin(), code.end());
  FatBinary binary;
  ASSERT_EQ(readFatBinary(bytes.data(), binary), "");
  EXPECT_TRUE(binary.ptx.empty());
  EXPECT_EQ(binary.machineCode, 1u);
}

TEST(FatBinary, Lz4) {
  // Four literals, then 8 bytes from 4 back, then a literal.
  std::string block = std::string("\x44"
                                  "abcd\x04\x00\x10!",
                                  9);
  auto bytes = fatBinary(1, 0x2011, block + std::string(7, '\0'), 9, 13);
  FatBinary binary;
  ASSERT_EQ(readFatBinary(bytes.data(), binary), "");
  ASSERT_EQ(binary.ptx.size(), 1u);
  EXPECT_EQ(binary.ptx[0].text, "abcdabcdabcd!");
}

TEST(FatBinary, Lz4LongLengthsAndOverlap) {
  std::string result;
  // 15 + 5 literals; a match of 15 + 255 + 1 + 4 bytes from 1 back.
  std::string block = "\xff\x05";
  block += std::string(20, 'x');
  block += std::string("\x01\x00\xff\x01", 4);
  ASSERT_TRUE(decodeLz4(reinterpret_cast<const uint8_t *>(block.data()),
                        block.size(), 295, result));
  EXPECT_EQ(result, std::string(295, 'x'));
}

TEST(FatBinary, DamagedBlocksAreRefused) {
  auto decode = [](const std::string &block, size_t size) {
    std::string result;
    return decodeLz4(reinterpret_cast<const uint8_t *>(block.data()),
                     block.size(), size, result);
  };
  EXPECT_TRUE(decode("\x40"
                     "abcd",
                     4));
  EXPECT_FALSE(decode("\x40"
                      "abc",
                      4));
  EXPECT_FALSE(decode("\x40"
                      "abcd",
                      5));
  EXPECT_FALSE(decode("\x40"
                      "abcd",
                      3));
  // A match from before the start, from nowhere, and one cut short.
  EXPECT_FALSE(decode(std::string("\x10"
                                  "a\x02\x00",
                                  4),
                      5));
  EXPECT_FALSE(decode(std::string("\x10"
                                  "a\x00\x00",
                                  4),
                      5));
  EXPECT_FALSE(decode(std::string("\x10"
                                  "a\x01",
                                  3),
                      5));
  // Every prefix of a good block, and every flipped byte: no crash.
  std::string good = std::string("\x44"
                                 "abcd\x04\x00\x10!",
                                 9);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(decode(good.substr(0, i), 13));
    std::string flipped = good;
    flipped[i] = static_cast<char>(~flipped[i]);
    decode(flipped, 13);
  }
}

TEST(FatBinary, BrokenHeadersAreRefused) {
  auto good = fatBinary(1, 0x11, ".version 9.0\n\n\n\n", 0, 0);
  auto broken = [&](size_t at, uint8_t value) {
    auto bytes = good;
    bytes[at] = value;
    FatBinary binary;
    return readFatBinary(bytes.data(), binary);
  };
  EXPECT_NE(broken(4, 2), "");  // version
  EXPECT_NE(broken(6, 4), "");  // header size
  EXPECT_NE(broken(20, 8), ""); // entry header too small
  EXPECT_NE(broken(25, 1), ""); // entry too large
  FatBinary binary;
  auto huge = fatBinary(1, 0x2011, "12345678", 8, uint64_t{1} << 40);
  EXPECT_NE(readFatBinary(huge.data(), binary), "");
  auto longer = fatBinary(1, 0x2011, "12345678", 9, 8);
  EXPECT_NE(readFatBinary(longer.data(), binary), "");
}

} // namespace
