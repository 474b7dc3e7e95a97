//===- WgmmaEncodeTest.cpp - tests of weights coded for Hopper ------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel's instructions, emulated with exact arithmetic, give every code
// times its scale for all formats in bf16 and f16; what cannot be is refused.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaWeights.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace nvfp4::format;
using wgmma::Multiplicand;

namespace {

/// A number of `exponentBits` and `mantissaBits`, from the definition.
double floatValue(uint32_t bits, int exponentBits, int mantissaBits,
                  bool hasInf) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent =
      static_cast<int>(bits >> mantissaBits) & ((1 << exponentBits) - 1);
  int mantissa = static_cast<int>(bits) & ((1 << mantissaBits) - 1);
  double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  if (hasInf && exponent == (1 << exponentBits) - 1)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - mantissaBits);
}

double elementValue(ElementKind kind, uint32_t code) {
  if (kind == ElementKind::E2M1)
    return floatValue(code, 2, 1, false);
  if (kind == ElementKind::E5M2)
    return floatValue(code, 5, 2, true);
  return (code & 0x7F) == 0x7F ? std::numeric_limits<double>::quiet_NaN()
                               : floatValue(code, 4, 3, false);
}

double scaleValue(ScaleKind kind, uint8_t byte) {
  if (kind == ScaleKind::E8M0)
    return byte == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, byte - 127);
  return byte == 0x7F ? std::numeric_limits<double>::quiet_NaN()
                      : floatValue(byte, 4, 3, false);
}

double halfValue(Multiplicand type, uint32_t bits) {
  return type == Multiplicand::BF16 ? floatValue(bits & 0xFFFF, 8, 7, true)
                                    : floatValue(bits & 0xFFFF, 5, 10, true);
}

/// mul.rn of one lane; reports a product that the type cannot hold.
double multiply(Multiplicand type, uint32_t a, uint32_t b) {
  double product = halfValue(type, a) * halfValue(type, b);
  if (std::isnan(product) || product == 0)
    return product;
  int exponent = std::ilogb(product);
  bool isBf16 = type == Multiplicand::BF16;
  EXPECT_LE(exponent, isBf16 ? 127 : 15);
  int unit = std::max(exponent - (isBf16 ? 7 : 10), isBf16 ? -126 : -24);
  double units = std::ldexp(product, -unit);
  EXPECT_EQ(units, std::trunc(units)) << product;
  return product;
}

uint32_t word(const uint8_t *from) {
  return from[0] | from[1] << 8 | from[2] << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}

/// The registers of a thread for the four steps of a block.
void decodeThread(const wgmma::Coding &coding, const uint8_t *block, int thread,
                  uint32_t out[4][4]) {
  constexpr uint32_t sign = 0x80008000;
  bool isBf16 = coding.type == Multiplicand::BF16;
  for (int step = 0; step < 4; ++step) {
    if (coding.element != ElementKind::E2M1) {
      bool isE4M3 = coding.element == ElementKind::E4M3;
      int shift = isBf16 ? (isE4M3 ? 4 : 3) : (isE4M3 ? 1 : 0);
      uint32_t mask = isBf16 ? (isE4M3 ? 0x87F087F0 : 0x8FE08FE0)
                             : (isE4M3 ? 0xBF80BF80 : 0xFF00FF00);
      for (int i = 0; i < 4; ++i) {
        uint32_t x = word(block + step / 2 * 2048 + 16 * thread + step % 2 * 8 +
                          i / 2 * 4);
        uint32_t y = i % 2 ? x << 8 : x;
        out[step][i] = ((y & sign) | ((y >> shift) & ~sign)) & mask;
      }
      continue;
    }
    uint32_t x = word(block + 16 * thread + 4 * step);
    if (!isBf16) {
      constexpr int shifts[4][2] = {{0, 0}, {3, 3}, {1, 9}, {2, 6}};
      for (int i = 0; i < 4; ++i)
        out[step][i] =
            ((x << shifts[i][0] & sign) | (x << shifts[i][1] & ~sign)) &
            0x8E008E00;
      continue;
    }
    uint32_t first = word(block + 16 * thread + step / 2 * 8);
    uint32_t second = word(block + 16 * thread + step / 2 * 8 + 4);
    uint32_t z = (first & 0x06030603) | (second << 2 & ~0x06030603u);
    uint32_t parts[4] = {x, x << 4, std::rotl(x, 10),
                         step % 2 ? std::rotl(z, 12) : z << 6};
    for (int i = 0; i < 4; ++i)
      out[step][i] = parts[i] & 0x81C081C0;
  }
}

/// The products of a block as the kernel computes them.
std::vector<double> decodeBlock(const wgmma::Coding &coding,
                                const uint8_t *block) {
  std::vector<double> out(64 * 64, 1e99);
  bool hasBase =
      coding.type == Multiplicand::BF16 && coding.scale == ScaleKind::UE4M3;
  for (int thread = 0; thread < 128; ++thread) {
    uint32_t registers[4][4];
    decodeThread(coding, block, thread, registers);
    for (int step = 0; step < 4; ++step) {
      uint32_t s =
          word(block + coding.codeBytes() + thread / 4 * 8 + step / 2 * 4);
      s = (step % 2 ? std::rotl(s, 8) : s) & 0x0FF00FF0;
      s = hasBase ? s | 0x70007000 : s << 3;
      for (int i = 0; i < 4; ++i)
        for (int half = 0; half < 2; ++half) {
          int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
          int column = 16 * step + thread % 4 * 2 + half + i / 2 * 8;
          out[static_cast<size_t>(row * 64 + column)] = multiply(
              coding.type, registers[step][i] >> 16 * half, s >> (i % 2 * 16));
        }
    }
  }
  return out;
}

struct Weights {
  BlockFormat format;
  int64_t rows, columns;
  std::vector<uint8_t> codes, scales;

  Weights(BlockFormat format, int64_t rows, int64_t columns)
      : format(format), rows(rows), columns(columns),
        codes(static_cast<size_t>(rows * rowBytes(format, columns))),
        scales(static_cast<size_t>(rows * scaleColumns(format, columns)),
               scaleKind(format) == ScaleKind::E8M0 ? 127 : 0x38) {}
  wgmma::Matrix matrix() const {
    return {format, codes.data(), scales.data(),
            rows,   columns,      scaleColumns(format, columns)};
  }
  uint32_t code(int64_t row, int64_t column) const {
    const uint8_t *line = codes.data() + row * rowBytes(format, columns);
    return elementBits(format) == 8 ? line[column]
                                    : line[column / 2] >> (column % 2 * 4) & 15;
  }
  uint8_t scale(int64_t row, int64_t column) const {
    return scales[static_cast<size_t>(row * scaleColumns(format, columns) +
                                      column / blockSize(format))];
  }
  double value(int64_t row, int64_t column) const {
    return elementValue(elementKind(format), code(row, column)) *
           scaleValue(scaleKind(format), scale(row, column));
  }
};

bool isSame(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

using Case = std::tuple<BlockFormat, Multiplicand>;

class WgmmaEncode : public testing::TestWithParam<Case> {
protected:
  BlockFormat format() const { return std::get<0>(GetParam()); }
  Multiplicand type() const { return std::get<1>(GetParam()); }
  wgmma::Coding coding() const {
    return {elementKind(format()), scaleKind(format()), type()};
  }
  bool isWide() const { return type() == Multiplicand::BF16; }

  /// Encodes in one piece of `blocks` along K and compares every product.
  void check(const Weights &weights, const std::string &what) {
    int64_t along = (weights.columns + 63) / 64;
    int64_t strips = (weights.rows + 63) / 64;
    std::vector<uint8_t> out(
        static_cast<size_t>(along * strips * coding().blockBytes()), 0xA5);
    wgmma::Segment all{0, weights.columns, 0, 0};
    float factor = 0;
    ASSERT_EQ(wgmma::encode(weights.matrix(), type(), {&all, 1}, along,
                            out.data(), factor),
              "")
        << what;
    for (int64_t block = 0; block < along * strips; ++block) {
      std::vector<double> products =
          decodeBlock(coding(), out.data() + block * coding().blockBytes());
      for (int64_t i = 0; i < 64 * 64; ++i) {
        int64_t row = block / along * 64 + i / 64;
        int64_t column = block % along * 64 + i % 64;
        bool isInside = row < weights.rows && column < weights.columns;
        double expected = isInside ? weights.value(row, column) : 0;
        double got = products[static_cast<size_t>(i)] * factor;
        // A stored NaN covers the 16 columns of a step.
        if (std::isnan(got) && !std::isnan(expected) && isInside) {
          bool anyNan = false;
          for (int64_t k = column / 16 * 16;
               k < std::min(column / 16 * 16 + 16, weights.columns); ++k)
            anyNan |= std::isnan(weights.value(row, k));
          EXPECT_TRUE(anyNan) << what << row << ' ' << column;
          continue;
        }
        ASSERT_TRUE(isSame(got, expected))
            << what << row << ' ' << column << ": " << got << " for "
            << expected;
      }
    }
  }
};

TEST_P(WgmmaEncode, EveryCodeTimesEveryScaleIsExact) {
  // Scales as far apart as the decoder allows, anywhere in the range.
  int spread = isWide() ? 124 : 8;
  for (int lowest : {0, 60, 100, 125, 127, 129}) {
    std::mt19937 random(static_cast<unsigned>(lowest));
    Weights weights(format(), 64, 256);
    for (size_t i = 0; i < weights.codes.size(); ++i) {
      weights.codes[i] = static_cast<uint8_t>(i * 17 + i / 256 * 5);
      bool isInfinite = format() == BlockFormat::MXFP8_E5M2 &&
                        (weights.codes[i] & 0x7F) == 0x7C;
      if (isInfinite)
        weights.codes[i] = 1;
    }
    for (uint8_t &byte : weights.scales)
      byte = static_cast<uint8_t>(
          scaleKind(format()) == ScaleKind::UE4M3
              ? random() % 0x80
              : std::min<unsigned>(static_cast<unsigned>(lowest) +
                                       random() %
                                           static_cast<unsigned>(spread + 1),
                                   255));
    check(weights, "lowest " + std::to_string(lowest) + ": ");
  }
}

TEST_P(WgmmaEncode, RowsAndColumnsThatAreNoMultiples) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {65, 50}, {3, 33}, {130, 135}}) {
    std::mt19937 random(7);
    Weights weights(format(), rows, columns);
    for (uint8_t &byte : weights.codes)
      byte = static_cast<uint8_t>(random() & 0x77);
    check(weights, std::to_string(columns) + ": ");
  }
}

TEST_P(WgmmaEncode, SegmentsGoToTheirPlaces) {
  Weights weights(format(), 2, 96);
  std::mt19937 random(3);
  for (uint8_t &byte : weights.codes)
    byte = static_cast<uint8_t>(random() & 0x77);
  const wgmma::Segment segments[] = {{0, 32, 0, 0},
                                     {32, 5, 32 / blockSize(format()), 128}};
  std::vector<uint8_t> out(static_cast<size_t>(3 * coding().blockBytes()));
  float factor = 0;
  ASSERT_EQ(
      wgmma::encode(weights.matrix(), type(), segments, 3, out.data(), factor),
      "");
  for (int64_t k = 0; k < 192; ++k) {
    double got =
        decodeBlock(
            coding(),
            out.data() +
                k / 64 *
                    coding().blockBytes())[static_cast<size_t>(64 + k % 64)] *
        factor;
    double expected = k < 32                ? weights.value(1, k)
                      : k >= 128 && k < 133 ? weights.value(1, 32 + k - 128)
                                            : 0;
    EXPECT_EQ(got, expected) << k;
  }
}

TEST_P(WgmmaEncode, WhatCannotBeIsRefused) {
  Weights weights(format(), 2, 64);
  std::vector<uint8_t> out(static_cast<size_t>(coding().blockBytes()));
  wgmma::Segment all{0, 64, 0, 0};
  float factor = 0;
  auto encode = [&] {
    return wgmma::encode(weights.matrix(), type(), {&all, 1}, 1, out.data(),
                         factor);
  };
  for (uint8_t &byte : weights.codes)
    byte = 0x11;
  if (scaleKind(format()) == ScaleKind::UE4M3) {
    EXPECT_EQ(encode(), "");
    EXPECT_EQ(factor, 128);
    weights.scales.back() = 0x80;
    EXPECT_EQ(encode(), "expected scales of weights without a sign, but got "
                        "one with a sign in row 1");
    return;
  }
  for (uint8_t &byte : weights.scales)
    byte = 1;
  weights.scales.back() = 250;
  EXPECT_NE(encode().find("of each other, but got 2^-126 and 2^123"),
            std::string::npos)
      << encode();
  // Blocks of zeros may have any scale.
  for (size_t i = weights.codes.size() / 2; i < weights.codes.size(); ++i)
    weights.codes[i] = 0;
  EXPECT_EQ(encode(), "");
  if (format() == BlockFormat::MXFP8_E5M2) {
    weights.codes.front() = 0x7C;
    EXPECT_EQ(encode(), "expected finite weights, but got infinity in row 0, "
                        "column 0");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, WgmmaEncode,
    testing::Combine(testing::Values(BlockFormat::NVFP4, BlockFormat::MXFP4,
                                     BlockFormat::NVFP4_E8M0,
                                     BlockFormat::MXFP8_E4M3,
                                     BlockFormat::MXFP8_E5M2),
                     testing::Values(Multiplicand::BF16, Multiplicand::F16)),
    [](const testing::TestParamInfo<Case> &info) {
      return std::string(stringify(std::get<0>(info.param))) +
             (std::get<1>(info.param) == Multiplicand::BF16 ? "_bf16" : "_f16");
    });

} // namespace
