//===- BlockFormatTest.cpp - tests of the format traits ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, sizes, and exact dequantisation of every (code, scale) pair.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/BlockFormat.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace nvfp4::format;

namespace {

static_assert(blockSize(BlockFormat::NVFP4) == 16 &&
              blockSize(BlockFormat::MXFP8_E5M2) == 32);

TEST(BlockFormat, TableFollowsTheEnumeration) {
  for (size_t i = 0; i < kBlockFormats.size(); ++i) {
    const BlockFormatTraits &row = kBlockFormats[i];
    EXPECT_EQ(static_cast<size_t>(row.format), i);
    EXPECT_EQ(parseBlockFormat(stringify(row.format)), row.format);
    EXPECT_EQ(row.maxExponent, std::ilogb(row.maxElement));
  }
  EXPECT_EQ(parseBlockFormat("nvfp5"), std::nullopt);
  EXPECT_EQ(parseBlockFormat(""), std::nullopt);
}

TEST(BlockFormat, StorageBitsPerElement) {
  auto bits = [](BlockFormat f) { return elementBits(f) + 8.0 / blockSize(f); };
  EXPECT_EQ(bits(BlockFormat::NVFP4), 4.5);
  EXPECT_EQ(bits(BlockFormat::NVFP4_E8M0), 4.5);
  EXPECT_EQ(bits(BlockFormat::MXFP4), 4.25);
  EXPECT_EQ(bits(BlockFormat::MXFP8_E4M3), 8.25);
  EXPECT_EQ(bits(BlockFormat::MXFP8_E5M2), 8.25);
}

TEST(BlockFormat, RowsAndScaleColumnsRoundUp) {
  EXPECT_EQ(rowBytes(BlockFormat::NVFP4, 33), 17);
  EXPECT_EQ(rowBytes(BlockFormat::MXFP8_E4M3, 33), 33);
  EXPECT_EQ(scaleColumns(BlockFormat::NVFP4, 0), 0);
  EXPECT_EQ(scaleColumns(BlockFormat::NVFP4, 1), 1);
  EXPECT_EQ(scaleColumns(BlockFormat::NVFP4, 32), 2);
  EXPECT_EQ(scaleColumns(BlockFormat::MXFP4, 33), 2);
  int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(rowBytes(BlockFormat::NVFP4, huge), huge / 2 + 1);
  EXPECT_EQ(scaleColumns(BlockFormat::NVFP4, huge), huge / 16 + 1);
}

TEST(BlockFormat, PaddingScaleIsFinite) {
  EXPECT_EQ(decodeScale(ScaleKind::UE4M3, paddingScale(ScaleKind::UE4M3)), 0);
  EXPECT_EQ(decodeScale(ScaleKind::E8M0, paddingScale(ScaleKind::E8M0)), 1);
}

// Products are checked by integers: element and scale are scaled to whole
// numbers, multiplied in 64 bits, and scaled back by ldexp.
TEST(BlockFormat, DequantizesEveryPairExactly) {
  for (unsigned code = 0; code < 16; ++code)
    for (unsigned scale = 0; scale < 127; ++scale) {
      auto c = static_cast<uint8_t>(code);
      auto s = static_cast<uint8_t>(scale);
      auto whole = static_cast<int64_t>(decodeE2M1(c) * 2) *
                   static_cast<int64_t>(decodeUE4M3(s) * 512);
      EXPECT_EQ(dequantize(BlockFormat::NVFP4, c, s),
                std::ldexp(static_cast<double>(whole), -10));
      EXPECT_EQ(dequantize(BlockFormat::NVFP4, c, s, 0x1p-126f),
                std::ldexp(static_cast<double>(whole), -136));
      // At most 11 significand bits and in range: exact in f32, bf16 and f16.
      double value = dequantize(BlockFormat::NVFP4, c, s);
      EXPECT_EQ(static_cast<double>(static_cast<float>(value)), value);
    }
  for (unsigned code = 0; code < 256; ++code)
    for (unsigned scale = 0; scale < 255; ++scale) {
      auto c = static_cast<uint8_t>(code);
      auto s = static_cast<uint8_t>(scale);
      double element = decodeE5M2(c);
      double value = dequantize(BlockFormat::MXFP8_E5M2, c, s);
      if (std::isnan(element))
        EXPECT_TRUE(std::isnan(value));
      else
        EXPECT_EQ(value, std::ldexp(element, static_cast<int>(scale) - 127));
    }
}

TEST(BlockFormat, NaNScalePoisonsZeroToo) {
  EXPECT_TRUE(std::isnan(dequantize(BlockFormat::NVFP4, 0, kE4M3NaN)));
  EXPECT_TRUE(std::isnan(dequantize(BlockFormat::NVFP4, 0, 0x80)));
  EXPECT_TRUE(std::isnan(dequantize(BlockFormat::MXFP4, 0, kE8M0NaN)));
}

} // namespace
