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

TEST(Convert, CodesAreTheFormula) {
  for (const FloatFormat *format :
       {&formatE4M3, &formatE5M2, &formatE2M3, &formatE3M2, &formatE2M1,
        &formatF16, &formatBF16, &formatTF32}) {
    auto m = static_cast<int>(format->mantissaBits);
    unsigned sign = format->exponentBits + format->mantissaBits;
    uint32_t top = (1u << format->exponentBits) - 1;
    for (uint32_t code = 0; code < 1u << (sign + 1); ++code) {
      uint32_t field = code >> m & top;
      uint32_t mantissa = code & ((1u << m) - 1);
      double unit = std::ldexp(1.0, std::max<int>(field, 1) - format->bias - m);
      double value = (field ? mantissa + (1 << m) : mantissa) * unit;
      if (format->ieee && field == top)
        value = mantissa ? std::nan("") : INFINITY;
      if (format->hasNan && !format->ieee &&
          (code & ((1u << sign) - 1)) == (1u << sign) - 1)
        value = std::nan("");
      if (code >> sign)
        value = -value;
      double decoded = decodeFloat(code, *format);
      if (value != value)
        EXPECT_NE(decoded, decoded) << sign << " " << code;
      else
        EXPECT_EQ(std::bit_cast<uint64_t>(decoded),
                  std::bit_cast<uint64_t>(value))
            << sign << " " << code;
    }
  }
}

TEST(Convert, SubnormalDoublesRoundToZeroOrTheLeast) {
  for (double x : {0x1p-1074, 0x1.8p-1060, 0x1p-1023, 0x1p-1022}) {
    EXPECT_EQ(encodeFloat(x, formatE4M3, Rounding::NearestEven, true), 0u);
    EXPECT_EQ(encodeFloat(x, formatE4M3, Rounding::Up, true), 1u);
    EXPECT_EQ(encodeFloat(-x, formatE4M3, Rounding::Down, true), 0x81u);
  }
}

/// Every code of a format in both places of a pair.
TEST(Convert, PairsBecomeHalvesAndBFloats) {
  struct Case {
    const char *name;
    const FloatFormat &format;
    unsigned place;
  };
  const Case cases[] = {{"e4m3x2", formatE4M3, 8},
                        {"e5m2x2", formatE5M2, 8},
                        {"e2m3x2", formatE2M3, 8},
                        {"e3m2x2", formatE3M2, 8},
                        {"e2m1x2", formatE2M1, 4}};
  for (const Case &c : cases)
    for (bool isHalf : {true, false}) {
      const FloatFormat &to = isHalf ? formatF16 : formatBF16;
      bool isByte = c.place == 4;
      std::string type = isByte ? ".b8 %b1" : ".b16 %b1";
      Outcome outcome = run(moduleAround(prologue() + ".reg " + type + R"(;
    mul.lo.u32 %r2, %r0, 77;
    xor.b32 %r2, %r2, %r0;
    cvt.)" + (isByte ? "u8" : "u16") +
                                         R"(.u32 %b1, %r2;
    cvt.rn.)" + (isHalf ? "f16x2." : "bf16x2.") +
                                         c.name + R"( %r3, %b1;
    st.global.v2.b32 [%rd1], {%r3, %r2};
    ret;)"),
                            {}, 512);
      ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
      for (uint64_t result : outcome.out)
        for (unsigned i = 0; i < 2; ++i) {
          auto code = static_cast<uint32_t>(result >> (32 + c.place * i)) &
                      ((1u << c.place) - 1);
          EXPECT_EQ(result >> (16 * i) & 0xffff,
                    encodeFloat(decodeFloat(code, c.format), to,
                                Rounding::NearestEven, false))
              << c.name << " " << code;
        }
    }
}

TEST(Convert, E4M3KnownValues) {
  EXPECT_EQ(decodeFloat(0x7e, formatE4M3), 448);
  EXPECT_TRUE(std::isnan(decodeFloat(0x7f, formatE4M3)));
  EXPECT_EQ(decodeFloat(0x01, formatE4M3), std::ldexp(1.0, -9));
  EXPECT_EQ(encodeFloat(1e9, formatE4M3, Rounding::NearestEven, true), 0x7eu);
}

TEST(Convert, TiesOfHalfGoToEven) {
  for (uint32_t code = 0; code < 0x7bff; ++code) {
    double tie =
        (decodeFloat(code, formatF16) + decodeFloat(code + 1, formatF16)) / 2;
    uint32_t even = code + (code & 1);
    EXPECT_EQ(floatToHalf(static_cast<float>(tie)), even);
    EXPECT_EQ(encodeFloat(tie, formatF16, Rounding::NearestEven, false), even);
  }
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

/// How many of 256 random bytes round `x` up, by counting.
TEST(Convert, StochasticRoundingIsAsLikelyAsTheRest) {
  for (double x = 0; x < 6; x += 1.0 / 512) {
    unsigned below = 0;
    while (below < 7 && e2m1[below + 1] <= x)
      ++below;
    double step = below < 7 ? e2m1[below + 1] - e2m1[below] : 2;
    unsigned up = 0;
    for (uint32_t random = 0; random < 256; ++random) {
      uint32_t code = encodeStochastic(x, formatE2M1, random, 8, true);
      ASSERT_TRUE(code == below || code == below + 1) << x;
      up += code == below + 1;
      EXPECT_EQ(encodeStochastic(-x, formatE2M1, random, 8, true), code | 8);
    }
    EXPECT_EQ(up, static_cast<unsigned>((x - e2m1[below]) / step * 256)) << x;
  }
  // Saturation, infinity and NaN.
  EXPECT_EQ(encodeStochastic(1e9, formatE2M1, 255, 8, true), 7u);
  EXPECT_EQ(encodeStochastic(-1e9, formatE4M3, 65535, 16, true), 0xfeu);
  EXPECT_EQ(encodeStochastic(65519, formatF16, 8191, 13, false), 0x7c00u);
  EXPECT_EQ(encodeStochastic(65519, formatF16, 8191, 13, true), 0x7bffu);
  EXPECT_EQ(encodeStochastic(65519, formatF16, 0, 13, false), 0x7bffu);
  EXPECT_EQ(encodeStochastic(std::nan(""), formatE2M1, 0, 8, true), 7u);
}

TEST(Convert, StochasticFp4TakesAByteForEachElement) {
  // 1.25 is halfway from 1 to 1.5: rounds up for bytes from 128 on.
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.f32 %f0, 0f3FA00000;
    mul.wide.u32 %rd3, %r0, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r1, [%rd3];
    cvt.rs.satfinite.e2m1x4.f32 %h0, {%f0, %f0, %f0, %f0}, %r1;
    cvt.u64.u16 %rd4, %h0;
    st.global.u64 [%rd1], %rd4;
    ret;)"),
                        {0x80000000, 0x00008000, 0x00800000, 0x00000080, 0,
                         0x80808080, 0x7f7f7f7f, 0xff7fff7f},
                        8);
  EXPECT_EQ(outcome.reports, "");
  const uint64_t expected[] = {0x3222, 0x2322, 0x2232, 0x2223,
                               0x2222, 0x3333, 0x2222, 0x3322};
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(outcome.out[i], expected[i]) << i;
}

TEST(Convert, StochasticPairsAndFp8) {
  // 1 + 2^-11 is halfway in f16, 1 + 2^-8 in bf16, 1 + 2^-4 in e4m3.
  Outcome outcome =
      run(moduleAround(prologue() + R"(
    mov.f32 %f0, 0f3F801000;
    mov.f32 %f1, 0f3F808000;
    mov.f32 %f2, 0f3F880000;
    mul.wide.u32 %rd3, %r0, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r1, [%rd3];
    cvt.rs.f16x2.f32 %r2, %f0, %f0, %r1;
    cvt.rs.bf16x2.f32 %r3, %f1, %f1, %r1;
    cvt.rs.satfinite.e4m3x4.f32 %r4, {%f2, %f2, %f2, %f2}, %r1;
    sub.u32 %r2, %r2, 0x3c003c00;
    sub.u32 %r3, %r3, 0x3f803f80;
    sub.u32 %r4, %r4, 0x38383838;
    shl.b32 %r3, %r3, 1;
    or.b32 %r2, %r2, %r3;
    shl.b32 %r4, %r4, 2;
    or.b32 %r2, %r2, %r4;
    cvt.u64.u32 %rd4, %r2;
    st.global.u64 [%rd1], %rd4;
    ret;)"),
          {0, 0x10000000, 0x00001000, 0x80000000, 0x00008000, 0xffffffff}, 6);
  EXPECT_EQ(outcome.reports, "");
  // By bit: f16 1, bf16 2, e4m3 4 (in each byte).
  const uint64_t expected[] = {0,          0x00010000, 0x00000001,
                               0x04060000, 0x00000406, 0x04070407};
  for (unsigned i = 0; i < 6; ++i)
    EXPECT_EQ(outcome.out[i], expected[i]) << std::hex << outcome.out[i];
}

} // namespace
