//===- AccumulateTest.cpp - accumulation models and descriptors -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The aligned model against a second formulation in f64 (which holds all its
// intermediate values exactly), golden descriptors, and the address function
// against worked examples.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/Accumulate.h"
#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

using namespace nvfp4::sim;

namespace {

const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
double fp4(unsigned code) { return (code & 8 ? -1 : 1) * e2m1[code & 7]; }

struct Split {
  double m;
  int e;
};
/// x = m * 2^e with 1 <= |m| < 2, or less for values below 2^least.
Split split(double x, int least) {
  if (x == 0)
    return {0, -126};
  int e;
  double m = std::frexp(x, &e) * 2;
  --e;
  if (e < least) {
    m = std::ldexp(m, e - least);
    e = least;
  }
  return {m, e};
}

/// One K = 64 step of kind mxf4nvf4 with ue4m3 scales.
double modelFp4(const std::vector<unsigned> &a, const std::vector<unsigned> &b,
                const double *sa, const double *sb, float c) {
  std::vector<Split> terms{split(c, -126)};
  for (int g = 0; g < 4; ++g) {
    double s = 0;
    for (int k = 16 * g; k < 16 * g + 16; ++k)
      s += fp4(a[k]) * fp4(b[k]);
    Split x = split(sa[g], -6), y = split(sb[g], -6);
    int e = sa[g] == 0 || sb[g] == 0 ? -126 : x.e + y.e;
    terms.push_back({s * x.m * y.m, e});
  }
  int largest = -1000;
  for (const Split &t : terms)
    largest = std::max(largest, t.e);
  double sum = 0;
  for (const Split &t : terms)
    sum += std::trunc(std::ldexp(t.m, 35 + t.e - largest));
  double value = std::ldexp(sum, largest - 35);
  Split v = split(value, -126);
  return std::ldexp(std::trunc(v.m * 8388608), v.e - 23);
}

TEST(Accumulate, Fp4MatchesTheModel) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<unsigned> a(64), b(64);
    for (auto &x : a)
      x = random() & 15;
    for (auto &x : b)
      x = random() & 15;
    uint8_t ca[4], cb[4];
    double sa[4], sb[4];
    MmaTile tile;
    tile.rows = tile.columns = 1;
    tile.k = 64;
    tile.block = 16;
    tile.groupsOf16 = true;
    tile.aMantissa = tile.bMantissa = 1;
    for (int g = 0; g < 4; ++g) {
      ca[g] = random() % 0x7f;
      cb[g] = random() % 0x7f;
      if (random() % 16 == 0)
        ca[g] = 0;
      auto value = [](uint8_t code) {
        return code >> 3 ? std::ldexp(8 + (code & 7), (code >> 3) - 10)
                         : std::ldexp(code & 7, -9);
      };
      sa[g] = value(ca[g]);
      sb[g] = value(cb[g]);
      tile.aScale.push_back(decodeScaleUE4M3(ca[g]));
      tile.bScale.push_back(decodeScaleUE4M3(cb[g]));
    }
    for (int k = 0; k < 64; ++k) {
      tile.a.push_back(decodeElement(a[k], formatE2M1, false));
      tile.b.push_back(decodeElement(b[k], formatE2M1, false));
    }
    float c = static_cast<float>(
        std::ldexp(static_cast<double>(static_cast<int32_t>(random())),
                   static_cast<int>(random() % 60) - 40));
    std::vector<float> d{c};
    accumulate(tile, Accumulation::Aligned, false, d);
    EXPECT_EQ(d[0], modelFp4(a, b, sa, sb, c)) << round;
  }
}

TEST(Accumulate, F16TruncatesAt25Bits) {
  // 1 + 2^-26: the small product is below the 25th fraction bit and lost.
  MmaTile tile;
  tile.rows = tile.columns = 1;
  tile.k = 2;
  tile.aMantissa = tile.bMantissa = 10;
  for (uint32_t code : {0x3c00u, 0x0800u}) // 1, 2^-13
    tile.a.push_back(decodeElement(code, formatF16, false));
  for (uint32_t code : {0x3c00u, 0x0800u})
    tile.b.push_back(decodeElement(code, formatF16, false));
  std::vector<float> d{-1.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(d[0], 0.0f);
  d = {-1.0f};
  accumulate(tile, Accumulation::F64, false, d);
  EXPECT_EQ(d[0], 0x1p-26f);
}

TEST(Accumulate, NanScaleGivesCanonicalNan) {
  MmaTile tile;
  tile.rows = tile.columns = 1;
  tile.k = 64;
  tile.block = 16;
  tile.groupsOf16 = true;
  tile.a.assign(64, decodeElement(0, formatE2M1, false));
  tile.b = tile.a;
  tile.aScale.assign(4, decodeScaleUE4M3(0x38));
  tile.bScale = tile.aScale;
  tile.bScale[2] = decodeScaleUE4M3(0x7f);
  std::vector<float> d{0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0x7fffffffu);
}

TEST(Descriptors, GoldenInstructionDescriptors) {
  InstructionDescriptor d;
  EXPECT_EQ(decodeInstructionDescriptor(0x08200480, MmaKind::MxF4NvF4, 1, d),
            "");
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 128u);
  EXPECT_EQ(d.scale, ScaleType::UE4M3);
  EXPECT_EQ(decodeInstructionDescriptor(0x10400480, MmaKind::MxF4NvF4, 2, d),
            "");
  EXPECT_EQ(d.m, 256u);
  EXPECT_EQ(d.n, 256u);
  EXPECT_EQ(decodeInstructionDescriptor(0x48a004a0, MmaKind::MxF4, 1, d), "");
  EXPECT_EQ(d.scaleIdA, 2u);
  EXPECT_EQ(d.scaleIdB, 2u);
  EXPECT_EQ(decodeInstructionDescriptor(0x68a00030, MmaKind::MxF8F6F4, 1, d),
            "");
  EXPECT_EQ(d.scaleIdA, 3u);
  EXPECT_EQ(decodeInstructionDescriptor(0x08200490, MmaKind::F16, 1, d), "");
  EXPECT_EQ(d.a.mantissaBits, 7u);
  EXPECT_NE(decodeInstructionDescriptor(0x08200480 | 1 << 15, MmaKind::MxF4NvF4,
                                        1, d),
            "");
  EXPECT_NE(decodeInstructionDescriptor(0x04200490, MmaKind::MxF4NvF4, 1, d),
            "");
}

TEST(Descriptors, WorkedAddresses) {
  SmemDescriptor d;
  ASSERT_EQ(decodeSmemDescriptor(0x4000404000000800ull, d), "");
  EXPECT_EQ(d.start, 0x8000u);
  EXPECT_EQ(d.addressKMajor(1, 0), 0x8090u);
  EXPECT_EQ(d.addressKMajor(5, 0x20), 0x82F0u);
  EXPECT_EQ(d.addressKMajor(13, 0x70), 0x86A0u);
  EXPECT_NE(decodeSmemDescriptor(0x6000404000000800ull, d), "");
  EXPECT_NE(decodeSmemDescriptor(0x4000004000000800ull, d), "");
}

} // namespace
