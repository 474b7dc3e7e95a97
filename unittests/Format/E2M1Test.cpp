//===- E2M1Test.cpp - tests of the 4-bit element ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every code, every bf16 input, every tie, and the mean of stochastic rounding.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/E2M1.h"

#include "Oracle.h"

#include "gtest/gtest.h"

using namespace nvfp4::format;

namespace {

const std::vector<double> kValues = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static_assert(encodeE2M1(2.5f) == 4 && decodeE2M1(12) == -2.0f);

TEST(E2M1, DecodesEveryCode) {
  for (unsigned code = 0; code < 256; ++code) {
    float value = decodeE2M1(static_cast<uint8_t>(code));
    double magnitude = kValues[code % 8];
    EXPECT_EQ(value, code % 16 < 8 ? magnitude : -magnitude) << code;
    EXPECT_EQ(std::signbit(value), code % 16 >= 8) << code;
  }
}

TEST(E2M1, EncodesEveryValueToItsCode) {
  for (unsigned code = 0; code < 16; ++code)
    EXPECT_EQ(encodeE2M1(decodeE2M1(static_cast<uint8_t>(code))), code);
}

TEST(E2M1, RoundsToNearestEvenLikeASearch) {
  for (float x : oracle::castInputs(kValues)) {
    unsigned expected = 7;
    if (!std::isnan(x)) {
      expected = std::isinf(x) ? 7 : oracle::nearest(kValues, x);
      expected += std::signbit(x) ? 8 : 0;
    }
    ASSERT_EQ(encodeE2M1(x), expected) << x;
  }
}

TEST(E2M1, TiesTowardZeroLikeASearch) {
  for (float x : oracle::castInputs(kValues)) {
    if (!std::isfinite(x))
      continue;
    unsigned expected = oracle::nearest(kValues, x, /*tiesDown=*/true);
    expected += std::signbit(x) ? 8 : 0;
    ASSERT_EQ(encodeE2M1(x, NegativeZero::Keep, Ties::TowardZero), expected)
        << x;
  }
}

TEST(E2M1, TiesListOfTheSpecification) {
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  const float even[] = {0, 1, 1, 2, 2, 4, 4};
  const float down[] = {0, 0.5f, 1, 1.5f, 2, 3, 4};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(decodeE2M1(encodeE2M1(ties[i])), even[i]);
    EXPECT_EQ(decodeE2M1(encodeE2M1(-ties[i])), -even[i]);
    EXPECT_EQ(
        decodeE2M1(encodeE2M1(ties[i], NegativeZero::Keep, Ties::TowardZero)),
        down[i]);
  }
}

TEST(E2M1, NegativeZeroRules) {
  EXPECT_EQ(encodeE2M1(-0.0f, NegativeZero::Keep), 8);
  EXPECT_EQ(encodeE2M1(-0.1f, NegativeZero::Keep), 8);
  EXPECT_EQ(encodeE2M1(-0.0f, NegativeZero::Flush), 0);
  EXPECT_EQ(encodeE2M1(-0.1f, NegativeZero::Flush), 0);
  EXPECT_EQ(encodeE2M1(-0.0f, NegativeZero::KeepRounded), 0);
  EXPECT_EQ(encodeE2M1(-0.1f, NegativeZero::KeepRounded), 8);
  for (NegativeZero nz :
       {NegativeZero::Keep, NegativeZero::Flush, NegativeZero::KeepRounded}) {
    EXPECT_EQ(encodeE2M1(-0.5f, nz), 9);
    EXPECT_EQ(encodeE2M1(0.0f, nz), 0);
    EXPECT_EQ(encodeE2M1(0.1f, nz), 0);
  }
}

TEST(E2M1, NaNAndInfinity) {
  EXPECT_EQ(encodeE2M1(oracle::fromBits(0x7fc00000)), 7);
  EXPECT_EQ(encodeE2M1(oracle::fromBits(0xff800001)), 7);
  EXPECT_EQ(encodeE2M1(INFINITY), 7);
  EXPECT_EQ(encodeE2M1(-INFINITY), 15);
  EXPECT_EQ(encodeE2M1Stochastic(NAN, 0.5f), 7);
  EXPECT_EQ(encodeE2M1Stochastic(INFINITY, 0.0f), 7);
  EXPECT_EQ(encodeE2M1Stochastic(-INFINITY, 0.0f), 15);
}

TEST(E2M1, StochasticKeepsRepresentableValues) {
  for (unsigned code = 0; code < 16; ++code)
    for (float u : {0.0f, 0.5f, 1 - 0x1p-24f})
      EXPECT_EQ(encodeE2M1Stochastic(decodeE2M1(static_cast<uint8_t>(code)), u),
                code);
}

// Over u = k/256 the mean is x, up to what a grid of 256 can resolve: each
// outcome's count is off by less than one, one ulp is at most 2.
TEST(E2M1, StochasticMeanIsTheInput) {
  for (int step = -6 * 64; step <= 6 * 64; ++step) {
    float x = static_cast<float>(step) / 64 + 0x1p-12f;
    if (std::fabs(x) > 6)
      continue;
    double sum = 0;
    for (int k = 0; k < 256; ++k) {
      float value =
          decodeE2M1(encodeE2M1Stochastic(x, static_cast<float>(k) / 256));
      sum += value;
      double toward = std::fabs(value - x);
      ASSERT_LT(toward, std::fabs(x) < 2 ? 0.5 : std::fabs(x) < 4 ? 1 : 2) << x;
    }
    EXPECT_NEAR(sum / 256, x, 2.0 / 256) << x;
  }
}

// Just below a value the largest u moves up, the smallest does not; the sum of
// both must not round on its own.
TEST(E2M1, StochasticSumIsExact) {
  EXPECT_EQ(encodeE2M1Stochastic(0x1p-26f, 1 - 0x1p-24f), 0);
  EXPECT_EQ(encodeE2M1Stochastic(0x1p-25f, 1 - 0x1p-24f), 1);
  EXPECT_EQ(encodeE2M1Stochastic(1.0f, 1 - 0x1p-24f), 2);
  EXPECT_EQ(encodeE2M1Stochastic(std::nextafterf(2.0f, 0), 0.0f), 3);
  EXPECT_EQ(encodeE2M1Stochastic(std::nextafterf(6.0f, 0), 0.0f), 6);
  EXPECT_EQ(encodeE2M1Stochastic(std::nextafterf(6.0f, 0), 0.5f), 7);
}

} // namespace
