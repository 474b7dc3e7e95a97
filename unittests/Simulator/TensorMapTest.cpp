//===- TensorMapTest.cpp - tensor maps and box copies -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Boxes against a direct element-by-element model, swizzles against the tables
// of PTX section 5.5.7, illegal maps.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Async/TileCopy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace nvfp4::sim;

namespace {

TEST(TensorMap, SwizzleTables) {
  // Which 16-byte chunk of a row holds source chunk c, rows of 128 bytes.
  auto chunk = [](TensorSwizzle s, unsigned row, unsigned c) {
    return swizzleAddress(s, row * 128 + c * 16) / 16 % 8;
  };
  const unsigned b128[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                               {1, 0, 3, 2, 5, 4, 7, 6},
                               {2, 3, 0, 1, 6, 7, 4, 5},
                               {3, 2, 1, 0, 7, 6, 5, 4}};
  const unsigned atom32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                 {2, 3, 0, 1, 6, 7, 4, 5},
                                 {4, 5, 6, 7, 0, 1, 2, 3},
                                 {6, 7, 4, 5, 2, 3, 0, 1}};
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned c = 0; c < 8; ++c) {
      EXPECT_EQ(chunk(TensorSwizzle::B128, row, c), b128[row][c]);
      EXPECT_EQ(chunk(TensorSwizzle::B64, row, c), b128[row][c]);
      EXPECT_EQ(chunk(TensorSwizzle::B32, row, c), b128[row % 2][c]);
      EXPECT_EQ(chunk(TensorSwizzle::B128Atom32, row, c), atom32[row][c]);
      EXPECT_EQ(chunk(TensorSwizzle::B128Atom64, row, c), c ^ (row % 2 * 4));
    }
  EXPECT_EQ(chunk(TensorSwizzle::B128, 6, 1), 7u);
}

TEST(TensorMap, RandomBoxesMatchElementModel) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    unsigned rank = 1 + random() % 4;
    std::array<unsigned, 4> size{}, box{};
    TensorMapSpec spec;
    spec.type = TensorType::U16;
    spec.rank = rank;
    uint64_t elements = 1;
    for (unsigned d = 0; d < rank; ++d) {
      size[d] = d == 0 ? 8 * (1 + random() % 5) : 1 + random() % 7;
      box[d] = d == 0 ? 8 * (1 + random() % 2) : 1 + random() % 4;
      spec.size[d] = size[d];
      spec.box[d] = box[d];
      if (d > 0)
        spec.stride[d - 1] = elements * 2;
      elements *= size[d];
    }
    DeviceMemory memory;
    spec.address = memory.allocate(elements * 2);
    std::vector<uint16_t> data(elements);
    for (auto &x : data)
      x = static_cast<uint16_t>(random());
    memory.write(spec.address, data.data(), elements * 2);
    TileBox tile;
    ASSERT_EQ(encodeTensorMap(spec, tile.map), "");
    for (unsigned d = 0; d < rank; ++d)
      tile.coordinate[d] = static_cast<int>(random() % 12) - 4;
    std::vector<uint8_t> bytes, written;
    TileFault fault;
    ASSERT_TRUE(readTile(tile, memory, bytes, written, fault, nullptr));
    size_t index = 0;
    std::array<unsigned, 4> i{};
    size_t count = 1;
    for (unsigned d = 0; d < rank; ++d)
      count *= box[d];
    ASSERT_EQ(bytes.size(), count * 2);
    for (size_t n = 0; n < count; ++n) {
      size_t rest = n;
      bool inside = true;
      size_t offset = 0, scale = 1;
      for (unsigned d = 0; d < rank; ++d) {
        i[d] = rest % box[d];
        rest /= box[d];
        int at = tile.coordinate[d] + static_cast<int>(i[d]);
        inside &= at >= 0 && at < static_cast<int>(size[d]);
        offset += inside ? at * scale : 0;
        scale *= size[d];
      }
      uint16_t value;
      std::memcpy(&value, &bytes[index], 2);
      index += 2;
      EXPECT_EQ(value, inside ? data[offset] : 0);
    }
  }
}

TEST(TensorMap, PackedAndPaddedFp4) {
  DeviceMemory memory;
  std::vector<uint8_t> data(2 * 64);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i + 1);
  TensorMapSpec spec;
  spec.type = TensorType::U4Padded;
  spec.rank = 2;
  spec.size = {128, 2, 1, 1, 1};
  spec.stride = {64, 0, 0, 0};
  spec.box = {128, 2, 1, 1, 1};
  spec.address = memory.allocate(128);
  memory.write(spec.address, data.data(), 128);
  TileBox tile;
  ASSERT_EQ(encodeTensorMap(spec, tile.map), "");
  EXPECT_EQ(tile.transactionBytes(), 128u);
  EXPECT_EQ(tile.sharedBytes(), 256u);
  std::vector<uint8_t> bytes, written;
  TileFault fault;
  ASSERT_TRUE(readTile(tile, memory, bytes, written, fault, nullptr));
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(bytes[i], i % 16 < 8 ? i / 16 * 8 + i % 8 + 1 : 0) << i;
}

TEST(TensorMap, IllegalMapsAreRefused) {
  TensorMap map;
  TensorMapSpec spec;
  spec.rank = 2;
  spec.address = globalBase;
  spec.size = {64, 64, 1, 1, 1};
  spec.stride = {64, 0, 0, 0};
  spec.box = {64, 64, 1, 1, 1};
  EXPECT_EQ(encodeTensorMap(spec, map), "");
  auto refused = [&](auto edit) {
    TensorMapSpec bad = spec;
    edit(bad);
    return !encodeTensorMap(bad, map).empty();
  };
  EXPECT_TRUE(refused([](auto &s) { s.rank = 6; }));
  EXPECT_TRUE(refused([](auto &s) { s.address += 8; }));
  EXPECT_TRUE(refused([](auto &s) { s.stride[0] = 72; }));
  EXPECT_TRUE(refused([](auto &s) { s.box[1] = 257; }));
  EXPECT_TRUE(refused([](auto &s) { s.box[0] = 8; }));
  EXPECT_TRUE(refused([](auto &s) { s.swizzle = TensorSwizzle::B32; }));
  EXPECT_TRUE(refused([](auto &s) { s.fillNan = true; }));
}

} // namespace
