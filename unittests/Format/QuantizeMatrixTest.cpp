//===- QuantizeMatrixTest.cpp - whole matrices through quantisers ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tails of K, layouts, column scales by transposition, 16x16 scales, refusals,
// and the way back through dequantizeMatrix.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Quantizer.h"

#include "nvfp4/Format/Packing.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace nvfp4::format;

namespace {

struct Result {
  std::string error;
  std::vector<uint8_t> codes, scales;
  ScaleMatrix scaleMatrix;
};

Result quantize(Quantizer q, const QuantizeParams &p, const MatrixView &x,
                ScaleLayout layout = ScaleLayout::Linear,
                ScaleExtent extent = ScaleExtent::Row) {
  Result r;
  r.scaleMatrix = {layout, x.rows, scaleColumns(p.format, x.columns)};
  r.codes.assign(static_cast<size_t>(x.rows * rowBytes(p.format, x.columns)),
                 0xee);
  r.scales.assign(static_cast<size_t>(r.scaleMatrix.totalBytes()), 0x7f);
  r.error = quantizeMatrix(q, p, x, r.codes, r.scaleMatrix, r.scales, extent);
  return r;
}

std::vector<float> randomValues(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(static_cast<size_t>(count));
  for (float &value : x)
    value = normal(random);
  return x;
}

MatrixView view(const std::vector<float> &x, int64_t rows, int64_t columns) {
  return {x.data(), rows, columns, columns};
}

const std::pair<int64_t, int64_t> kShapes[] = {
    {1, 1}, {3, 16}, {17, 33}, {130, 64}, {5, 100}, {0, 32}, {4, 0}};

TEST(QuantizeMatrix, BlocksAreTheRowsCutInPieces) {
  for (auto [rows, columns] : kShapes)
    for (BlockFormat format :
         {BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::MXFP8_E4M3}) {
      auto x = randomValues(rows * columns, 3);
      QuantizeParams p;
      p.format = format;
      Result r = quantize(Quantizer::Cutlass, p, view(x, rows, columns));
      ASSERT_EQ(r.error, "");
      int64_t size = blockSize(format);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t b = 0; b * size < columns; ++b) {
          int64_t count = std::min(size, columns - b * size);
          std::vector<float> block(static_cast<size_t>(size));
          std::copy_n(x.begin() + i * columns + b * size, count, block.begin());
          std::vector<uint8_t> codes(block.size());
          uint8_t scale = quantizeBlock(Quantizer::Cutlass, p, block, codes);
          ASSERT_EQ(
              r.scales[static_cast<size_t>(i * r.scaleMatrix.columns + b)],
              scale);
          int64_t stride = rowBytes(format, columns);
          std::span<const uint8_t> row = std::span(r.codes).subspan(
              static_cast<size_t>(i * stride), static_cast<size_t>(stride));
          for (int64_t k = 0; k < count; ++k) {
            uint8_t code = elementBits(format) == 4
                               ? getNibble(row, b * size + k)
                               : row[static_cast<size_t>(b * size + k)];
            ASSERT_EQ(code, codes[static_cast<size_t>(k)]);
          }
          if (columns % 2 == 1 && elementBits(format) == 4) {
            ASSERT_EQ(row.back() >> 4, 0);
          }
        }
    }
}

TEST(QuantizeMatrix, LayoutsHoldTheSameScalesAndFinitePadding) {
  for (BlockFormat format : {BlockFormat::NVFP4, BlockFormat::MXFP4})
    for (auto [rows, columns] : kShapes) {
      auto x = randomValues(rows * columns, 4);
      QuantizeParams p;
      p.format = format;
      Result linear = quantize(Quantizer::TE, p, view(x, rows, columns));
      for (ScaleLayout layout :
           {ScaleLayout::Blocked128x4, ScaleLayout::Blocked8x4,
            ScaleLayout::PackedUE8M0}) {
        Result r = quantize(Quantizer::TE, p, view(x, rows, columns), layout);
        EXPECT_EQ(r.codes, linear.codes);
        std::vector<uint8_t> expected(r.scales.size());
        ASSERT_TRUE(relayoutScales(linear.scaleMatrix, linear.scales,
                                   r.scaleMatrix, expected,
                                   paddingScale(scaleKind(format))));
        EXPECT_EQ(r.scales, expected);
        for (uint8_t byte : r.scales)
          EXPECT_FALSE(std::isnan(decodeScale(scaleKind(format), byte)));
      }
    }
}

TEST(QuantizeMatrix, TransposedViewScalesColumns) {
  int64_t rows = 40, columns = 24;
  auto x = randomValues(rows * columns, 5);
  std::vector<float> transposed(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      transposed[static_cast<size_t>(j * rows + i)] =
          x[static_cast<size_t>(i * columns + j)];
  QuantizeParams p;
  Result a =
      quantize(Quantizer::Trtllm, p, view(x, rows, columns).transposed());
  Result b = quantize(Quantizer::Trtllm, p, view(transposed, columns, rows));
  EXPECT_EQ(a.codes, b.codes);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.scaleMatrix.columns, 3);
}

TEST(QuantizeMatrix, SquaresShareTheLargestMaximum) {
  int64_t rows = 20, columns = 48;
  std::vector<float> x(static_cast<size_t>(rows * columns), 0.5f);
  x[static_cast<size_t>(5 * columns + 3)] = -6;   // first square
  x[static_cast<size_t>(18 * columns + 47)] = 12; // last square, 4 rows high
  QuantizeParams p;
  Result r = quantize(Quantizer::TE, p, view(x, rows, columns),
                      ScaleLayout::Linear, ScaleExtent::Square);
  ASSERT_EQ(r.error, "");
  for (int64_t i = 0; i < rows; ++i) {
    std::span<const uint8_t> row =
        std::span(r.scales).subspan(static_cast<size_t>(3 * i), 3);
    // A = 6 gives 1, A = 12 gives 2, A = 0.5 gives 1/12 -> 0.0859375.
    EXPECT_EQ(row[0], i < 16 ? 0x38 : 0x1b) << i;
    EXPECT_EQ(row[1], 0x1b) << i;
    EXPECT_EQ(row[2], i < 16 ? 0x1b : 0x40) << i;
  }
  EXPECT_EQ(getNibble(r.codes, 0), 1);
}

// A square is one block in both directions: transposing the matrix transposes
// codes and scales.
TEST(QuantizeMatrix, SquaresAreTheSameForTheTranspose) {
  int64_t rows = 32, columns = 48;
  auto x = randomValues(rows * columns, 6);
  QuantizeParams p;
  p.globalScale = 100;
  MatrixView m = view(x, rows, columns);
  Result a =
      quantize(Quantizer::TE, p, m, ScaleLayout::Linear, ScaleExtent::Square);
  Result b = quantize(Quantizer::TE, p, m.transposed(), ScaleLayout::Linear,
                      ScaleExtent::Square);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_EQ(getNibble(a.codes, i * columns + j),
                getNibble(b.codes, j * rows + i));
      EXPECT_EQ(a.scales[static_cast<size_t>(i * 3 + j / 16)],
                b.scales[static_cast<size_t>(j * 2 + i / 16)]);
    }
}

TEST(QuantizeMatrix, StochasticBytesDoNotDependOnTheView) {
  int64_t rows = 4, columns = 64;
  auto x = randomValues(rows * columns, 7);
  QuantizeParams p;
  p.rounding = ElementRounding::Stochastic;
  p.seed = 99;
  Result whole = quantize(Quantizer::TE, p, view(x, rows, columns));
  Result again = quantize(Quantizer::TE, p, view(x, rows, columns),
                          ScaleLayout::Blocked128x4);
  EXPECT_EQ(whole.codes, again.codes);
  std::vector<uint8_t> codes(16);
  quantizeBlock(Quantizer::TE, p, std::span(x).subspan(2 * 64 + 16, 16), codes,
                2 * 64 + 16);
  for (int64_t k = 0; k < 16; ++k)
    EXPECT_EQ(getNibble(whole.codes, 2 * 64 + 16 + k),
              codes[static_cast<size_t>(k)]);
}

// Under round to nearest no element is further from its value than half the
// widest gap that it can fall into, plus what the rounding of the scale clips:
// scale <= (1 + 2^-4) A/6 and 6*scale >= A/(1 + 2^-4) above the subnormals.
TEST(QuantizeMatrix, RoundTripErrorIsBounded) {
  int64_t rows = 64, columns = 160;
  auto x = randomValues(rows * columns, 8);
  for (Quantizer q : {Quantizer::Cutlass, Quantizer::Trtllm, Quantizer::TE,
                      Quantizer::ModelOpt, Quantizer::Mega16,
                      Quantizer::TritonNearest, Quantizer::FourOverSix}) {
    QuantizeParams p;
    Result r =
        quantize(q, p, view(x, rows, columns), ScaleLayout::Blocked128x4);
    ASSERT_EQ(r.error, "");
    std::vector<double> out(x.size(), NAN);
    ASSERT_EQ(dequantizeMatrix(p.format, rows, columns, r.codes, r.scaleMatrix,
                               r.scales, 1.0f, out),
              "");
    for (size_t first = 0; first < x.size(); first += 16) {
      double amax = 0;
      for (size_t k = first; k < first + 16; ++k)
        amax = std::max<double>(amax, std::fabs(x[k]));
      // The widest gap, 4 to 6, is two units of about A/6. four_over_six may
      // take a unit of 1.5 A/6, but then stays below 4, where gaps are one
      // unit.
      double bound = amax / 6 * (1 + 0x1p-4);
      for (size_t k = first; k < first + 16; ++k)
        ASSERT_LE(std::fabs(out[k] - x[k]), bound) << stringify(q);
    }
  }
}

TEST(QuantizeMatrix, RefusesWrongSizes) {
  std::vector<float> x(64);
  std::vector<uint8_t> codes(32, 0xee), scales(4, 0xee);
  MatrixView m = view(x, 2, 32);
  ScaleMatrix s{ScaleLayout::Linear, 2, 2};
  QuantizeParams p;
  auto run = [&](std::span<uint8_t> c, ScaleMatrix sm, std::span<uint8_t> sc,
                 Quantizer q = Quantizer::TE,
                 ScaleExtent extent = ScaleExtent::Row) {
    return quantizeMatrix(q, p, m, c, sm, sc, extent);
  };
  EXPECT_EQ(run(std::span(codes).first(31), s, scales),
            "bytes of codes: expected 32, but got 31");
  EXPECT_EQ(run(codes, {ScaleLayout::Linear, 3, 2}, scales),
            "rows of scales: expected 2, but got 3");
  EXPECT_EQ(run(codes, {ScaleLayout::Linear, 2, 1}, scales),
            "columns of scales: expected 2, but got 1");
  EXPECT_EQ(run(codes, s, std::span(scales).first(3)),
            "bytes of scales: expected 4, but got 3");
  EXPECT_EQ(run(codes, {ScaleLayout::Blocked128x4, 2, 2}, scales),
            "bytes of scales: expected 512, but got 4");
  EXPECT_NE(run(codes, s, scales, Quantizer::OCP), "");
  EXPECT_NE(run(codes, s, scales, Quantizer::FourOverSix, ScaleExtent::Square),
            "");
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 0xee), 32);
  EXPECT_EQ(std::count(scales.begin(), scales.end(), 0xee), 4);
  EXPECT_EQ(run(codes, s, scales), "");

  std::vector<double> out(63);
  EXPECT_EQ(
      dequantizeMatrix(BlockFormat::NVFP4, 2, 32, codes, s, scales, 1.0f, out),
      "elements of the result: expected 64, but got 63");
  int64_t huge = int64_t{1} << 62;
  EXPECT_NE(dequantizeMatrix(BlockFormat::NVFP4, huge, huge, codes,
                             {ScaleLayout::Linear, huge, huge / 16}, scales,
                             1.0f, out),
            "");
  EXPECT_NE(
      dequantizeMatrix(BlockFormat::NVFP4, -1, 32, codes, s, scales, 1.0f, out),
      "");
}

TEST(QuantizeMatrix, NaNScaleReachesOnlyItsBlock) {
  std::vector<uint8_t> codes(32, 0);
  std::vector<uint8_t> scales = {0x38, 0x7f, 0x38, 0x38};
  std::vector<double> out(64, 5);
  ASSERT_EQ(dequantizeMatrix(BlockFormat::NVFP4, 2, 32, codes,
                             {ScaleLayout::Linear, 2, 2}, scales, 1.0f, out),
            "");
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(std::isnan(out[i]), i >= 16 && i < 32) << i;
}

} // namespace
