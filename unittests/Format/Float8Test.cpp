//===- Float8Test.cpp - tests of E4M3FN, E5M2, UE4M3 and E8M0 ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All codes, and every bf16 input, midpoint and its neighbours through each
// cast against a search.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Float8.h"

#include "Oracle.h"

#include "gtest/gtest.h"

using namespace nvfp4::format;

namespace {

std::vector<double> e4m3() { return oracle::magnitudes(3, 7, 0x7e); }
std::vector<double> e5m2() { return oracle::magnitudes(2, 15, 0x7b); }

TEST(E4M3, DecodesEveryCode) {
  auto values = e4m3();
  ASSERT_EQ(values.back(), 448);
  for (unsigned code = 0; code < 256; ++code) {
    float value = decodeE4M3(static_cast<uint8_t>(code));
    EXPECT_EQ(std::signbit(value), code >= 128);
    if (code % 128 == 0x7f)
      EXPECT_TRUE(std::isnan(value));
    else
      EXPECT_EQ(std::fabs(value), values[code % 128]);
  }
}

TEST(E4M3, RoundsToNearestEvenAndSaturates) {
  auto values = e4m3();
  for (float x : oracle::castInputs(values)) {
    unsigned expected = std::isnan(x)   ? 0x7f
                        : std::isinf(x) ? 0x7e
                                        : oracle::nearest(values, x);
    expected += std::signbit(x) ? 128 : 0;
    ASSERT_EQ(encodeE4M3(x), expected) << x;
  }
}

TEST(E5M2, DecodesEveryCode) {
  auto values = e5m2();
  ASSERT_EQ(values.back(), 57344);
  for (unsigned code = 0; code < 256; ++code) {
    float value = decodeE5M2(static_cast<uint8_t>(code));
    EXPECT_EQ(std::signbit(value), code >= 128);
    if (code % 128 > 0x7c)
      EXPECT_TRUE(std::isnan(value));
    else if (code % 128 == 0x7c)
      EXPECT_TRUE(std::isinf(value));
    else
      EXPECT_EQ(std::fabs(value), values[code % 128]);
  }
}

TEST(E5M2, RoundsToNearestEvenSaturatingOrNot) {
  auto finite = e5m2();
  // 65536, where the next number would be, stands for infinity.
  auto values = oracle::magnitudes(2, 15, 0x7c);
  for (float x : oracle::castInputs(values)) {
    unsigned sign = std::signbit(x) ? 128 : 0;
    unsigned saturating = std::isnan(x)   ? 0x7e
                          : std::isinf(x) ? 0x7b
                                          : oracle::nearest(finite, x);
    unsigned overflowing = std::isnan(x)   ? 0x7e
                           : std::isinf(x) ? 0x7c
                                           : oracle::nearest(values, x);
    ASSERT_EQ(encodeE5M2Saturating(x), saturating + sign) << x;
    ASSERT_EQ(encodeE5M2(x), overflowing + sign) << x;
  }
}

TEST(UE4M3, BitSevenMustBeClear) {
  for (unsigned code = 0; code < 256; ++code) {
    auto byte = static_cast<uint8_t>(code);
    EXPECT_EQ(isValidUE4M3(byte), code < 128);
    EXPECT_EQ(std::isnan(decodeUE4M3(byte)), code >= 127) << code;
    if (code < 127) {
      EXPECT_EQ(decodeUE4M3(byte), decodeE4M3(byte));
    }
  }
}

TEST(UE4M3, NoInputGivesAnIllegalByte) {
  for (float x : oracle::castInputs(e4m3())) {
    uint8_t byte = encodeUE4M3(x);
    ASSERT_TRUE(isValidUE4M3(byte)) << x;
    unsigned expected = x > 0    ? encodeE4M3(x)
                        : x == 0 ? 0u
                                 : unsigned{kE4M3NaN};
    ASSERT_EQ(byte, expected) << x;
  }
}

TEST(E8M0, DecodesEveryCode) {
  for (unsigned code = 0; code < 255; ++code)
    EXPECT_EQ(decodeE8M0(static_cast<uint8_t>(code)),
              std::ldexp(1.0, static_cast<int>(code) - 127));
  EXPECT_TRUE(std::isnan(decodeE8M0(255)));
}

TEST(E8M0, RoundsUpDownAndToNearest) {
  std::vector<double> values;
  for (int code = 0; code < 255; ++code)
    values.push_back(std::ldexp(1.0, code - 127));
  for (float x : oracle::castInputs(values)) {
    unsigned up = 255, down = 255, near = 255;
    if (x == 0) {
      up = down = near = 0;
    } else if (x > 0) {
      auto above = std::lower_bound(values.begin(), values.end(), x);
      up = std::min<unsigned>(254,
                              static_cast<unsigned>(above - values.begin()));
      auto past = std::upper_bound(values.begin(), values.end(), x);
      down = past == values.begin()
                 ? 0
                 : static_cast<unsigned>(past - values.begin()) - 1;
      // Ties go up, and so does all of (2^-127, 2^-126).
      near = down;
      if (x > 0x1p-127f && down < 254 && (down == 0 || x >= 1.5 * values[down]))
        ++near;
    }
    ASSERT_EQ(encodeE8M0(x, RoundE8M0::Up), up) << x;
    ASSERT_EQ(encodeE8M0(x, RoundE8M0::Down), down) << x;
    ASSERT_EQ(encodeE8M0(x, RoundE8M0::Nearest), near) << x;
  }
}

TEST(E8M0, Edges) {
  for (RoundE8M0 r : {RoundE8M0::Up, RoundE8M0::Down, RoundE8M0::Nearest}) {
    EXPECT_EQ(encodeE8M0(0.0f, r), 0);
    EXPECT_EQ(encodeE8M0(-0.0f, r), 0);
    EXPECT_EQ(encodeE8M0(0x1p-149f, r), 0);
    EXPECT_EQ(encodeE8M0(0x1p-127f, r), 0);
    EXPECT_EQ(encodeE8M0(INFINITY, r), 254);
    EXPECT_EQ(encodeE8M0(NAN, r), 255);
    EXPECT_EQ(encodeE8M0(-1.0f, r), 255);
    EXPECT_EQ(encodeE8M0(1.0f, r), 127);
  }
  EXPECT_EQ(encodeE8M0(std::nextafterf(1.0f, 2), RoundE8M0::Up), 128);
  EXPECT_EQ(encodeE8M0(std::nextafterf(2.0f, 1), RoundE8M0::Down), 127);
  EXPECT_EQ(encodeE8M0(1.5f, RoundE8M0::Nearest), 128);
  EXPECT_EQ(encodeE8M0(3.0f, RoundE8M0::Nearest), 129);
  EXPECT_EQ(encodeE8M0(std::nextafterf(3.0f, 0), RoundE8M0::Nearest), 128);
}

} // namespace
