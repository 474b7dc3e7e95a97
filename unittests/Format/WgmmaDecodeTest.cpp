//===- WgmmaDecodeTest.cpp - tests of weights read back from Hopper -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// decode brings back what encode was given, and refuses what encode does not
// write; places of single codes and scales as docs/Rationale/Hopper.md has
// them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaWeights.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>
#include <vector>

using namespace nvfp4::format;
using wgmma::Multiplicand;

namespace {

constexpr BlockFormat kFormats[] = {
    BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::NVFP4_E8M0,
    BlockFormat::MXFP8_E4M3, BlockFormat::MXFP8_E5M2};
constexpr Multiplicand kTypes[] = {Multiplicand::BF16, Multiplicand::F16};

/// A matrix in both layouts.
struct Weights {
  Weights(BlockFormat format, Multiplicand type, int64_t rows, int64_t columns)
      : format(format), type(type), rows(rows), columns(columns),
        blocks((columns + 127) / 128 * 2),
        codes(static_cast<size_t>(rows * rowBytes(format, columns))),
        scales(static_cast<size_t>(rows * scaleColumns(format, columns)),
               paddingScale(scaleKind(format))),
        coded(static_cast<size_t>(
                  (rows + 63) / 64 * blocks *
                  wgmma::Coding{elementKind(format), scaleKind(format), type}
                      .blockBytes()),
              0xAA) {}

  std::string encode() {
    wgmma::Matrix matrix{format, codes.data(), scales.data(),
                         rows,   columns,      scaleColumns(format, columns)};
    wgmma::Segment all{0, columns, 0, 0};
    return wgmma::encode(matrix, type, {&all, 1}, blocks, coded.data(), factor);
  }
  /// Into a matrix of garbage.
  std::string decode() {
    backCodes.assign(codes.size(), 0xEE);
    backScales.assign(scales.size(), 0xEE);
    wgmma::Decoded matrix{format, backCodes.data(), backScales.data(), rows,
                          columns};
    return wgmma::decode(coded.data(), type, blocks, factor, matrix);
  }

  BlockFormat format;
  Multiplicand type;
  int64_t rows, columns, blocks;
  std::vector<uint8_t> codes, scales, coded, backCodes, backScales;
  float factor = 0;
};

TEST(WgmmaDecode, RoundTripOfAllFormats) {
  std::mt19937 random(7);
  for (BlockFormat format : kFormats)
    for (Multiplicand type : kTypes)
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 128},
                                   {70, 100},
                                   {1, 33},
                                   {130, 250}}) {
        SCOPED_TRACE(std::string(stringify(format)) + " " +
                     std::to_string(rows) + "x" + std::to_string(columns));
        Weights w(format, type, rows, columns);
        bool isFP4 = elementBits(format) == 4;
        for (size_t i = 0; i < w.codes.size(); ++i) {
          // Finite, and not all zero: 0x11 has two codes.
          uint8_t byte = random() & 0xFF;
          if (isFP4)
            byte |= 0x11;
          else
            byte = (byte & 0xBB) | 1;
          bool isLast =
              (i + 1) % static_cast<size_t>(rowBytes(format, columns)) == 0;
          w.codes[i] = isFP4 && isLast && columns % 2 ? byte & 15 : byte;
        }
        for (uint8_t &scale : w.scales)
          scale = scaleKind(format) == ScaleKind::UE4M3 ? 1 + random() % 126
                                                        : 120 + random() % 8;
        ASSERT_EQ(w.encode(), "");
        ASSERT_EQ(w.decode(), "");
        EXPECT_EQ(w.backCodes, w.codes);
        EXPECT_EQ(w.backScales, w.scales);
      }
}

TEST(WgmmaDecode, PlacesOfSingleBits) {
  auto bytesOf = [](int64_t row, int64_t column, uint8_t code, uint8_t scale) {
    Weights w(BlockFormat::NVFP4, Multiplicand::BF16, 64, 128);
    w.codes[static_cast<size_t>(row * 64 + column / 2)] =
        static_cast<uint8_t>(code << (column % 2 * 4));
    w.scales[static_cast<size_t>(row * 8 + column / 16)] = scale;
    EXPECT_EQ(w.encode(), "");
    std::vector<std::pair<size_t, int>> found;
    for (size_t i = 0; i < w.coded.size(); ++i)
      if (w.coded[i])
        found.emplace_back(i, w.coded[i]);
    return found;
  };
  using Bytes = std::vector<std::pair<size_t, int>>;
  // 1.0 is stored as (7 + 15) << 3 = 0xB0. Row 1, column 0: thread 4, the lower
  // half of register 0; of scales the word of row 1, bits 4 to 11.
  EXPECT_EQ(bytesOf(1, 0, 1, 0x38), (Bytes{{64, 0x40}, {2057, 0x0B}}));
  // Row 8, column 9: thread 0, the upper half of register 3, whose sign is bit
  // 25 of the pool and so of the first word; its scale in bits 20 to 27.
  EXPECT_EQ(bytesOf(8, 9, 8, 0x38), (Bytes{{3, 0x02}, {2051, 0x0B}}));
  // Column 16 begins the second step: word 1 of the thread, scales rotated
  // by 8.
  EXPECT_EQ(bytesOf(0, 16, 4, 0x38), (Bytes{{5, 0x01}, {2048, 0x0B}}));
  // Column 64 begins the second block, row 16 the second warp.
  EXPECT_EQ(bytesOf(16, 64, 4, 0x38), (Bytes{{2304 + 16 * 32 + 1, 0x01},
                                             {2304 + 2048 + 8 * 8 + 1, 0x0B}}));
}

TEST(WgmmaDecode, ZerosAndNaNKeepTheirMeaning) {
  for (BlockFormat format : kFormats)
    for (Multiplicand type : kTypes) {
      SCOPED_TRACE(stringify(format));
      Weights w(format, type, 64, 64);
      bool isUE4M3 = scaleKind(format) == ScaleKind::UE4M3;
      int64_t bytes = rowBytes(format, 64), scales = scaleColumns(format, 64);
      // Row 0: codes under a scale; row 1: NaN; the rest zero.
      for (int64_t i = 0; i < bytes; ++i)
        w.codes[i] = w.codes[bytes + i] = 0x21;
      for (int64_t i = 0; i < scales; ++i) {
        w.scales[i] = isUE4M3 ? 0 : 100;
        w.scales[scales + i] = isUE4M3 ? 0x7F : 0xFF;
      }
      ASSERT_EQ(w.encode(), "");
      ASSERT_EQ(w.decode(), "");
      for (int64_t i = 0; i < scales; ++i) {
        EXPECT_EQ(w.backScales[i], w.scales[i]);
        EXPECT_EQ(w.backScales[scales + i], w.scales[scales + i]);
        EXPECT_EQ(w.backScales[2 * scales + i],
                  paddingScale(scaleKind(format)));
      }
      for (int64_t i = 0; i < bytes; ++i)
        EXPECT_EQ(w.backCodes[i], isUE4M3 ? 0 : 0x21);
    }
}

TEST(WgmmaDecode, NaNElementsMakeTheirColumnsNaN) {
  for (BlockFormat format : {BlockFormat::MXFP8_E4M3, BlockFormat::MXFP8_E5M2})
    for (Multiplicand type : kTypes) {
      Weights w(format, type, 1, 64);
      std::fill(w.codes.begin(), w.codes.end(), 0x31);
      w.codes[17] = 0x7F;
      ASSERT_EQ(w.encode(), "");
      ASSERT_EQ(w.decode(), "");
      EXPECT_EQ(w.backScales, w.scales);
      for (size_t i = 0; i < 64; ++i)
        EXPECT_EQ(w.backCodes[i], i >= 16 && i < 32 ? 0x7F : 0x31) << i;
    }
}

TEST(WgmmaDecode, ScalesFarFromOne) {
  for (uint8_t scale : {uint8_t{0}, uint8_t{1}, uint8_t{127}, uint8_t{254}})
    for (BlockFormat format : kFormats)
      for (Multiplicand type : kTypes) {
        if (scaleKind(format) == ScaleKind::UE4M3)
          continue;
        Weights w(format, type, 5, 40);
        std::fill(w.codes.begin(), w.codes.end(), 0x11);
        std::fill(w.scales.begin(), w.scales.end(), scale);
        ASSERT_EQ(w.encode(), "");
        ASSERT_EQ(w.decode(), "");
        EXPECT_EQ(w.backScales, w.scales);
        EXPECT_EQ(w.backCodes, w.codes);
      }
}

TEST(WgmmaDecode, RefusesWhatEncodeDoesNotWrite) {
  auto make = [](BlockFormat format) {
    Weights w(format, Multiplicand::BF16, 64, 128);
    std::fill(w.codes.begin(), w.codes.end(), 0x11);
    std::fill(w.scales.begin(), w.scales.end(), 0x38);
    EXPECT_EQ(w.encode(), "");
    return w;
  };
  Weights w = make(BlockFormat::NVFP4);
  w.factor = 64;
  EXPECT_EQ(w.decode(),
            "expected 128 as the factor of a matrix of weights, but got 64");
  w = make(BlockFormat::MXFP4);
  w.factor = 3;
  EXPECT_EQ(w.decode(),
            "expected a power of two as the factor of a matrix of weights, but "
            "got 3");
  w.factor = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(w.decode(),
            "expected a power of two as the factor of a matrix of weights, but "
            "got nan");
  // Codes under a scale that is not there.
  for (BlockFormat format : {BlockFormat::NVFP4, BlockFormat::MXFP4}) {
    w = make(format);
    std::fill_n(w.coded.begin() + wgmma::kCodeBytes, wgmma::kScaleBytes, 0);
    EXPECT_EQ(w.decode(), "expected weights as relayout_weights lays them out, "
                          "but got others in row 0, column 0");
  }
  // Halves of a block with different scales.
  w = make(BlockFormat::MXFP4);
  w.coded[wgmma::kCodeBytes] ^= 0x0F;
  EXPECT_EQ(w.decode(), "expected weights as relayout_weights lays them out, "
                        "but got others in row 0, column 0");
}

} // namespace
