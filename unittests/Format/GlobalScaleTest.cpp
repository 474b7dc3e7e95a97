//===- GlobalScaleTest.cpp - tests of per-tensor scales ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both checkpoint conventions, two different halves, and what a common
// multiplier costs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/GlobalScale.h"

#include "nvfp4/Format/BlockFormat.h"

#include "Oracle.h"

#include "gtest/gtest.h"

using namespace nvfp4::format;

namespace {

TEST(GlobalScale, ConventionsAreReciprocal) {
  EXPECT_EQ(globalMultiplier(0.25f, GlobalConvention::Multiplier), 0.25f);
  EXPECT_EQ(globalMultiplier(0.25f, GlobalConvention::Encode), 4.0f);
  EXPECT_EQ(globalMultiplier(2688, GlobalConvention::Encode), 1.0f / 2688);
}

TEST(GlobalScale, NoMultiplierForUselessNumbers) {
  for (GlobalConvention c :
       {GlobalConvention::Multiplier, GlobalConvention::Encode})
    for (float stored : {0.0f, -1.0f, -0.0f, NAN, INFINITY, -INFINITY})
      EXPECT_EQ(globalMultiplier(stored, c), std::nullopt) << stored;
  EXPECT_EQ(globalMultiplier(0x1p-149f, GlobalConvention::Encode),
            std::nullopt);
}

// Real gate and up multipliers of one checkpoint: with one alpha for both, the
// up half would be 1.25 times too small.
TEST(GlobalScale, TwoHalvesNeedTwoAlphas) {
  float gate = 3.85e-5f, up = 4.83e-5f;
  EXPECT_GT(gemmAlpha(1, up) / gemmAlpha(1, gate), 1.25);
  EXPECT_EQ(gemmAlpha(1, up), static_cast<double>(up));
}

TEST(GlobalScale, RescaleRoundsEveryScaleToNearest) {
  auto values = oracle::magnitudes(3, 7, 0x7e);
  for (double ratio : {1.0, 0.5, 3.85e-5 / 4.83e-5, 0.1, 1e-3}) {
    std::vector<uint8_t> scales;
    for (unsigned byte = 0; byte < 127; ++byte)
      scales.push_back(static_cast<uint8_t>(byte));
    RescaleReport report = rescaleUE4M3(scales, ratio);
    int64_t underflows = 0;
    double worst = 0;
    for (unsigned byte = 0; byte < 127; ++byte) {
      double exact = values[byte] * ratio;
      unsigned expected = oracle::nearest(values, exact);
      ASSERT_EQ(scales[byte], expected) << byte;
      underflows += byte != 0 && expected == 0;
      if (exact >= 0x1p-6)
        worst = std::max(worst, std::fabs(values[expected] - exact) / exact);
    }
    EXPECT_EQ(report.underflows, underflows);
    EXPECT_EQ(report.maxRelativeError, worst);
    EXPECT_LT(worst, 0x1p-4);
  }
}

TEST(GlobalScale, RescaleByOneChangesNothingAndKeepsNaN) {
  std::vector<uint8_t> scales = {0, 1, 0x38, 0x7e, 0x7f};
  auto before = scales;
  RescaleReport report = rescaleUE4M3(scales, 1.0);
  EXPECT_EQ(scales, before);
  EXPECT_EQ(report.underflows, 0);
  EXPECT_EQ(report.maxRelativeError, 0);
  rescaleUE4M3(scales, 0.5);
  EXPECT_EQ(scales, (std::vector<uint8_t>{0, 0, 0x30, 0x76, 0x7f}));
}

TEST(GlobalScale, NegativeScalesAreFound) {
  std::vector<uint8_t> scales = {0, 0x38, 0x7f, 0x80, 0xff};
  EXPECT_EQ(findInvalidUE4M3(scales), 3);
  scales.resize(3);
  EXPECT_EQ(findInvalidUE4M3(scales), std::nullopt);
}

} // namespace
