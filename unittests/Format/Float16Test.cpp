//===- Float16Test.cpp - tests of the bf16 and f16 casts --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All 2^16 patterns both ways, and rounding against a search.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Float16.h"

#include "Oracle.h"

#include "gtest/gtest.h"

using namespace nvfp4::format;

namespace {

struct Format16 {
  int mantissaBits;
  int bias;
  unsigned infinity;
  float (*decode)(uint16_t);
  uint16_t (*encode)(float);
};

const Format16 kFormats[] = {
    {7, 127, 0x7f80, bf16ToF32, f32ToBF16},
    {10, 15, 0x7c00, f16ToF32, f32ToF16},
};

TEST(Float16, DecodesEveryPattern) {
  for (const Format16 &f : kFormats) {
    auto values = oracle::magnitudes(f.mantissaBits, f.bias, f.infinity);
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      float value = f.decode(static_cast<uint16_t>(bits));
      unsigned magnitude = bits & 0x7fff;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
      if (magnitude > f.infinity)
        ASSERT_TRUE(std::isnan(value)) << bits;
      else if (magnitude == f.infinity)
        ASSERT_TRUE(std::isinf(value)) << bits;
      else
        ASSERT_EQ(std::fabs(value), values[magnitude]) << bits;
    }
  }
}

TEST(Float16, RoundTripsEveryPattern) {
  for (const Format16 &f : kFormats)
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      uint16_t again = f.encode(f.decode(static_cast<uint16_t>(bits)));
      if ((bits & 0x7fff) > f.infinity) {
        // A signalling NaN becomes quiet and keeps its sign.
        ASSERT_GT(again & 0x7fff, f.infinity) << bits;
        ASSERT_EQ(again >> 15, bits >> 15) << bits;
      } else {
        ASSERT_EQ(again, bits);
      }
    }
}

// The entry after the largest finite value stands for infinity: it has the
// place where the next finite number would be, so the search rounds as IEEE
// overflow does.
TEST(Float16, RoundsToNearestEvenLikeASearch) {
  for (const Format16 &f : kFormats) {
    auto values = oracle::magnitudes(f.mantissaBits, f.bias, f.infinity);
    for (float x : oracle::castInputs(values)) {
      uint16_t bits = f.encode(x);
      ASSERT_EQ(bits >> 15, std::signbit(x) ? 1 : 0) << x;
      unsigned magnitude = bits & 0x7fffu;
      if (std::isnan(x))
        ASSERT_GT(magnitude, f.infinity);
      else if (std::isinf(x))
        ASSERT_EQ(magnitude, f.infinity);
      else
        ASSERT_EQ(magnitude, oracle::nearest(values, x)) << x;
    }
  }
}

TEST(Float16, LimitsOfF16) {
  EXPECT_EQ(f32ToF16(65504.0f), 0x7bff);
  EXPECT_EQ(f32ToF16(std::nextafterf(65520.0f, 0)), 0x7bff);
  EXPECT_EQ(f32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(f32ToF16(0x1p-25f), 0);
  EXPECT_EQ(f32ToF16(std::nextafterf(0x1p-25f, 1)), 1);
}

} // namespace
