//===- ConvertTest.cpp - conversions ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small formats against tables written out here from their definitions, all
// codes; rounding against nearest-value search over those tables.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <bit>
#include <cmath>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

TEST(Convert, E2M1RoundsToNearestEven) {
  for (double x = -8; x <= 8; x += 1.0 / 64) {
    double best = 0;
    int bestCode = 0;
    for (int code = 0; code < 8; ++code) {
      double distance = std::fabs(std::fabs(x) - e2m1[code]);
      double bestDistance = std::fabs(std::fabs(x) - best);
      if (distance < bestDistance ||
          (distance == bestDistance && code % 2 == 0)) {
        best = e2m1[code];
        bestCode = code;
      }
    }
    uint32_t sign = std::signbit(x) ? 8 : 0;
    EXPECT_EQ(encodeFloat(x, formatE2M1, Rounding::NearestEven, true),
              sign | bestCode)
        << x;
  }
  EXPECT_EQ(encodeFloat(std::nan(""), formatE2M1, Rounding::NearestEven, true),
            7u);
}

TEST(Convert, SmallFormatsRoundTrip) {
  for (const FloatFormat *format :
       {&formatE4M3, &formatE5M2, &formatE2M3, &formatE3M2, &formatE2M1,
        &formatF16, &formatBF16}) {
    unsigned bits = 1 + format->exponentBits + format->mantissaBits;
    for (uint32_t code = 0; code < 1u << bits; ++code) {
      double value = decodeFloat(code, *format);
      if (value != value)
        continue;
      EXPECT_EQ(encodeFloat(value, *format, Rounding::NearestEven, false), code)
          << bits << " " << code;
    }
  }
}

TEST(Convert, E4M3KnownValues) {
  EXPECT_EQ(decodeFloat(0x7e, formatE4M3), 448);
  EXPECT_TRUE(std::isnan(decodeFloat(0x7f, formatE4M3)));
  EXPECT_EQ(decodeFloat(0x01, formatE4M3), std::ldexp(1.0, -9));
  EXPECT_EQ(encodeFloat(1e9, formatE4M3, Rounding::NearestEven, true), 0x7eu);
}

TEST(Convert, FastHalfMatchesGeneric) {
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 65521) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (x != x)
      continue;
    EXPECT_EQ(floatToHalf(x),
              encodeFloat(x, formatF16, Rounding::NearestEven, false));
    EXPECT_EQ(floatToBFloat(x),
              encodeFloat(x, formatBF16, Rounding::NearestEven, false));
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    double expected = decodeFloat(bits, formatF16);
    float actual = halfToFloat(static_cast<uint16_t>(bits));
    if (expected == expected)
      EXPECT_EQ(actual, expected) << bits;
    else
      EXPECT_NE(actual, actual) << bits;
  }
}

TEST(Convert, PackedOrderOfSources) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    .reg .b8 %b1;
    mov.f32 %f1, 0f40C00000; // 6 goes to the high nibble
    mov.f32 %f2, 0f3F000000; // 0.5 to the low one
    cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2;
    cvt.u32.u8 %r3, %b1;
    cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
    cvt.rp.satfinite.ue8m0x2.f32 %h2, %f1, %f2;
    mov.b32 %r4, {%h1, %h2};
    st.global.v2.b32 [%rd1], {%r3, %r4};
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  EXPECT_EQ(outcome.out[0] & 0xffffffff, 0x71u);
  EXPECT_EQ(outcome.out[0] >> 32 & 0xffff, 0x4c30u);
  EXPECT_EQ(outcome.out[0] >> 48, 0x827eu); // 8 = 2^3 and 2^-1
}

TEST(Convert, FloatToIntegerClamps) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.f32 %f1, 0fCF800000;       // -2^32
    cvt.rzi.s32.f32 %r3, %f1;
    mov.f32 %f2, 0f40200000;       // 2.5
    cvt.rni.u32.f32 %r4, %f2;
    st.global.v2.b32 [%rd1], {%r3, %r4};
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  EXPECT_EQ(outcome.out[0] & 0xffffffff, 0x80000000u);
  EXPECT_EQ(outcome.out[0] >> 32, 2u);
}

TEST(Convert, SignExtensionIntoWiderRegisters) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r3, 0x1ff80;
    cvt.s8.s32 %r4, %r3;
    cvt.s64.s32 %rd3, %r4;
    st.global.b64 [%rd1], %rd3;
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  EXPECT_EQ(outcome.out[0], static_cast<uint64_t>(-128));
}

} // namespace
