//===- WgmmaWeightsTest.cpp - tests of the Hopper weight layout -----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every bit of a block goes to a bit of its own; the kernel's instructions,
// emulated with exact arithmetic, give every code times every scale; the
// fragment positions are those of the PTX manual; padding decodes to zero.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaWeights.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

using namespace nvfp4::format;

namespace {

constexpr int64_t kOne = 0x38;

double scaleValue(int byte) {
  return byte >> 3 != 0 ? std::ldexp(8 + (byte & 7), (byte >> 3) - 10)
                        : std::ldexp(byte & 7, -9);
}

double codeValue(int code) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

double bf16Value(uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits << 16));
}

/// mul.rn.bf16x2 of one lane. Reports a product that bf16 cannot hold, so that
/// rounding never takes part in a comparison.
double multiply(uint32_t a, uint32_t b) {
  double product = bf16Value(a & 0xFFFF) * bf16Value(b & 0xFFFF);
  if (!std::isnan(product)) {
    auto bits = std::bit_cast<uint32_t>(static_cast<float>(product));
    EXPECT_EQ(bits & 0xFFFF, 0u);
    EXPECT_EQ(static_cast<double>(std::bit_cast<float>(bits)), product);
    EXPECT_TRUE(product == 0 || std::fabs(product) >= 0x1p-126);
  }
  return product;
}

uint32_t word(const std::vector<uint8_t> &bytes, int64_t offset) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | bytes[static_cast<size_t>(offset + i)];
  return value;
}

/// The 64 x 64 products of one block, times 2^7, as the kernel computes them.
std::vector<double> decodeBlock(const std::vector<uint8_t> &bytes) {
  std::vector<double> out(64 * 64, 1e99);
  for (int thread = 0; thread < 128; ++thread)
    for (int pair = 0; pair < 2; ++pair) {
      uint32_t x = word(bytes, 16 * thread + 8 * pair);
      uint32_t y = word(bytes, 16 * thread + 8 * pair + 4);
      uint32_t s = word(bytes, 2048 + 8 * (thread / 4) + 4 * pair);
      uint32_t scale[2] = {(s & 0x0FF00FF0) | 0x70007000,
                           (std::rotl(s, 8) & 0x0FF00FF0) | 0x70007000};
      uint32_t z = (x & 0x06030603) | (y << 2 & ~0x06030603u);
      uint32_t a[2][4] = {{x, x << 4, std::rotl(x, 10), z << 6},
                          {y, y << 4, std::rotl(y, 10), std::rotl(z, 12)}};
      for (int step = 0; step < 2; ++step)
        for (int i = 0; i < 4; ++i)
          for (int half = 0; half < 2; ++half) {
            uint32_t value = (a[step][i] & 0x81C081C0) >> (16 * half);
            double product =
                multiply(value, scale[step] >> (i % 2 == 0 ? 0 : 16));
            // PTX, "Register Fragments for wgmma.mma_async.m64nNk16".
            int warp = thread / 32, lane = thread % 32;
            int row = 16 * warp + lane / 4 + (i == 1 || i == 3 ? 8 : 0);
            int column =
                32 * pair + 16 * step + lane % 4 * 2 + half + (i >= 2 ? 8 : 0);
            out[static_cast<size_t>(row * 64 + column)] = product * 128;
          }
    }
  return out;
}

struct Weights {
  int64_t rows, columns;
  std::vector<uint8_t> codes, scales;
  Weights(int64_t rows, int64_t columns)
      : rows(rows), columns(columns),
        codes(static_cast<size_t>(rows * columns / 2)),
        scales(static_cast<size_t>(rows * columns / 16), kOne) {}
  int code(int64_t row, int64_t column) const {
    int64_t index = row * columns + column;
    return codes[static_cast<size_t>(index / 2)] >> (index % 2 * 4) & 15;
  }
  int scale(int64_t row, int64_t column) const {
    return scales[static_cast<size_t>((row * columns + column) / 16)];
  }
  std::vector<uint8_t> packed() const {
    std::vector<uint8_t> out(
        static_cast<size_t>(wgmma::storageBytes(rows, columns)), 0xA5);
    EXPECT_TRUE(wgmma::pack(codes, scales, rows, columns, out));
    return out;
  }
};

TEST(WgmmaWeights, ScaleBytesAreDistinctAndDecode) {
  std::set<int> seen;
  for (int scale = 0; scale < 0x80; ++scale) {
    int byte = wgmma::packScale(static_cast<uint8_t>(scale));
    EXPECT_TRUE(seen.insert(byte).second) << scale;
    EXPECT_EQ(wgmma::unpackScale(static_cast<uint8_t>(byte)), scale);
    double decoded = bf16Value(0x7000u | static_cast<uint32_t>(byte) << 4);
    if (scale == 0x7F) {
      EXPECT_TRUE(std::isnan(decoded));
    } else if (scale == 0) {
      EXPECT_TRUE(std::isfinite(decoded));
    } else {
      EXPECT_EQ(decoded, std::ldexp(scaleValue(scale), 119)) << scale;
    }
  }
  EXPECT_EQ(wgmma::unpackScale(1), 0x7F);
}

TEST(WgmmaWeights, EveryCodeBitHasABitOfItsOwn) {
  Weights zero(64, 64);
  std::vector<uint8_t> base = zero.packed();
  std::set<size_t> seen;
  for (size_t bit = 0; bit < 64 * 64 * 4; ++bit) {
    Weights one = zero;
    one.codes[bit / 8] = static_cast<uint8_t>(1u << bit % 8);
    std::vector<uint8_t> bytes = one.packed();
    int changed = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
      if (uint8_t difference = bytes[i] ^ base[i]) {
        EXPECT_LT(i, 2048u);
        changed += std::popcount(difference);
        seen.insert(8 * i + static_cast<size_t>(std::countr_zero(difference)));
      }
    ASSERT_EQ(changed, 1) << bit;
  }
  EXPECT_EQ(seen.size(), 64u * 64 * 4);
}

TEST(WgmmaWeights, EveryScaleHasAByteOfItsOwn) {
  // 1.0 and 1.125 differ in one stored bit.
  Weights ones(64, 64);
  std::vector<uint8_t> base = ones.packed();
  std::set<size_t> seen;
  for (size_t i = 0; i < 256; ++i) {
    Weights other = ones;
    other.scales[i] = kOne + 1;
    std::vector<uint8_t> bytes = other.packed();
    int changed = 0;
    for (size_t j = 0; j < bytes.size(); ++j)
      if (uint8_t difference = bytes[j] ^ base[j]) {
        EXPECT_GE(j, 2048u);
        changed += std::popcount(difference);
        seen.insert(8 * j + static_cast<size_t>(std::countr_zero(difference)));
      }
    ASSERT_EQ(changed, 1) << i;
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(WgmmaWeights, EveryCodeTimesEveryScaleIsExact) {
  for (int scale = 0; scale < 0x80; ++scale) {
    Weights weights(64, 64);
    for (size_t i = 0; i < weights.codes.size(); ++i)
      weights.codes[i] = static_cast<uint8_t>(i * 17 + i / 256 * 5);
    for (size_t i = 0; i < weights.scales.size(); ++i)
      weights.scales[i] =
          static_cast<uint8_t>((static_cast<size_t>(scale) + i) % 0x80);
    std::vector<double> products = decodeBlock(weights.packed());
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < 64; ++column) {
        double got = products[static_cast<size_t>(row * 64 + column)];
        int byte = weights.scale(row, column);
        double expected =
            byte == 0x7F
                ? std::numeric_limits<double>::quiet_NaN()
                : codeValue(weights.code(row, column)) * scaleValue(byte);
        ASSERT_TRUE(got == expected ||
                    (std::isnan(got) && std::isnan(expected)))
            << row << ' ' << column << ' ' << byte << ' ' << got;
      }
  }
}

TEST(WgmmaWeights, RoundTripsAndPads) {
  std::mt19937 random(7);
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 16}, {64, 64}, {65, 80}, {130, 144}}) {
    Weights weights(rows, columns);
    for (uint8_t &byte : weights.codes)
      byte = static_cast<uint8_t>(random());
    for (uint8_t &byte : weights.scales)
      byte = static_cast<uint8_t>(1 + random() % 0x7F);
    std::vector<uint8_t> bytes = weights.packed();
    Weights back(rows, columns);
    wgmma::unpack(bytes, rows, columns, back.codes, back.scales);
    EXPECT_EQ(back.codes, weights.codes);
    EXPECT_EQ(back.scales, weights.scales);
    // The blocks of a strip are adjacent along K; padding decodes to zero.
    int64_t along = (columns + 63) / 64;
    for (int64_t block = 0; block * 2304 < std::ssize(bytes); ++block) {
      std::vector<double> products = decodeBlock(
          {bytes.begin() + block * 2304, bytes.begin() + (block + 1) * 2304});
      for (int64_t i = 0; i < 64 * 64; ++i) {
        int64_t row = block / along * 64 + i / 64;
        int64_t column = block % along * 64 + i % 64;
        double got = products[static_cast<size_t>(i)];
        double expected = 0;
        if (row < rows && column < columns) {
          int scale = weights.scale(row, column);
          if (scale == 0x7F)
            continue;
          expected = codeValue(weights.code(row, column)) * scaleValue(scale);
        }
        ASSERT_EQ(got, expected) << row << ' ' << column;
      }
    }
  }
}

TEST(WgmmaWeights, ZeroScalesAndSignedScales) {
  Weights weights(64, 64);
  for (uint8_t &byte : weights.codes)
    byte = 0xF7;
  weights.scales[5] = 0;
  std::vector<double> products = decodeBlock(weights.packed());
  for (int column = 0; column < 64; ++column)
    EXPECT_EQ(products[static_cast<size_t>(64 + column)],
              column / 16 == 1 ? 0 : codeValue(weights.code(1, column)));
  weights.scales[9] = 0x80;
  std::vector<uint8_t> out(2304);
  EXPECT_FALSE(wgmma::pack(weights.codes, weights.scales, 64, 64, out));
}

} // namespace
