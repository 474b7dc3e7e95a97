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
#include <cstring>
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
double modelFp4(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b,
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

/// A matrix of `rows` rows with codes of `format`.
MmaMatrix matrixOf(const FloatFormat &format, unsigned rows,
                   const std::vector<uint32_t> &codes) {
  MmaMatrix matrix;
  matrix.format = format;
  matrix.resize(rows, static_cast<unsigned>(codes.size()) / rows);
  for (size_t i = 0; i < codes.size(); ++i)
    matrix.setCode(i, codes[i]);
  return matrix;
}

TEST(Accumulate, Fp4MatchesTheModel) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint32_t> a(64), b(64);
    for (auto &x : a)
      x = random() & 15;
    for (auto &x : b)
      x = random() & 15;
    uint8_t ca[4], cb[4];
    double sa[4], sb[4];
    MmaTile tile;
    tile.k = 64;
    tile.block = 16;
    tile.groupsOf16 = true;
    tile.a = matrixOf(formatE2M1, 1, a);
    tile.b = matrixOf(formatE2M1, 1, b);
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
      tile.a.scales.push_back(decodeScaleUE4M3(ca[g]));
      tile.b.scales.push_back(decodeScaleUE4M3(cb[g]));
    }
    float c = static_cast<float>(
        std::ldexp(static_cast<double>(static_cast<int32_t>(random())),
                   static_cast<int>(random() % 60) - 40));
    std::vector<float> d{c};
    accumulate(tile, Accumulation::Aligned, false, d);
    EXPECT_EQ(d[0], modelFp4(a, b, sa, sb, c)) << round;
  }
}

/// One step of a kind with single products, `fraction` fraction bits, scale
/// 2^scale and a result of `mantissa` bits.
double modelProducts(const std::vector<double> &a, const std::vector<double> &b,
                     int leastA, int leastB, int scale, float c,
                     int fraction = 25, int mantissa = 23) {
  std::vector<Split> terms{split(c, -126)};
  for (size_t k = 0; k < a.size(); ++k) {
    Split x = split(a[k], leastA), y = split(b[k], leastB);
    bool zero = a[k] == 0 || b[k] == 0;
    terms.push_back({x.m * y.m, zero ? -100000 : x.e + y.e + scale});
  }
  int largest = -1000;
  for (const Split &t : terms)
    largest = std::max(largest, t.e);
  double sum = 0;
  for (const Split &t : terms)
    sum += std::trunc(std::ldexp(t.m, fraction + t.e - largest));
  Split v = split(std::ldexp(sum, largest - fraction), -126);
  return std::ldexp(std::trunc(std::ldexp(v.m, mantissa)), v.e - mantissa);
}

TEST(Accumulate, ProductsMatchTheModel) {
  struct Kind {
    FloatFormat format;
    unsigned codes, k;
    bool scaled;
    int fraction = 25, mantissa = 23;
  };
  const Kind kinds[] = {{formatF16, 0x7c00, 16, false},
                        {formatBF16, 0x7f80, 16, false},
                        {formatTF32, 0xff << 10, 8, false},
                        {formatE4M3, 0x7f, 32, true},
                        {formatE5M2, 0x7c, 32, true},
                        {formatE2M3, 0x20, 32, true},
                        {formatE2M1, 0x8, 32, false},
                        {formatE4M3, 0x7f, 32, false, 13, 13},
                        {formatE5M2, 0x7c, 32, false, 13, 13}};
  std::mt19937 random(12);
  for (const Kind &kind : kinds)
    for (int round = 0; round < 300; ++round) {
      unsigned signBit = kind.format.exponentBits + kind.format.mantissaBits;
      std::vector<uint32_t> codes[2];
      std::vector<double> values[2];
      for (int side = 0; side < 2; ++side)
        for (unsigned i = 0; i < kind.k; ++i) {
          uint32_t code = random() % kind.codes;
          // Exponents near each other, so that few terms are lost.
          if (signBit > 8)
            code = code % (12u << kind.format.mantissaBits) +
                   ((static_cast<uint32_t>(kind.format.bias) - 8)
                    << kind.format.mantissaBits);
          if (random() % 8 == 0)
            code = 0;
          code |= (random() & 1) << signBit;
          codes[side].push_back(code);
          values[side].push_back(decodeFloat(code, kind.format));
        }
      MmaTile tile;
      tile.k = kind.k;
      tile.fraction = kind.fraction;
      tile.resultMantissa = kind.mantissa;
      tile.a = matrixOf(kind.format, 1, codes[0]);
      tile.b = matrixOf(kind.format, 1, codes[1]);
      int scale = 0;
      if (kind.scaled) {
        tile.block = kind.k;
        auto sa = static_cast<uint8_t>(120 + random() % 16);
        auto sb = static_cast<uint8_t>(120 + random() % 16);
        tile.a.scales = {decodeScaleUE8M0(sa)};
        tile.b.scales = {decodeScaleUE8M0(sb)};
        scale = sa + sb - 254;
      }
      float c = std::ldexp(static_cast<float>(static_cast<int32_t>(random())),
                           static_cast<int>(random() % 24) - 40);
      std::vector<float> d{c};
      accumulate(tile, Accumulation::Aligned, false, d);
      EXPECT_EQ(d[0], modelProducts(values[0], values[1], 1 - kind.format.bias,
                                    1 - kind.format.bias, scale, c,
                                    kind.fraction, kind.mantissa))
          << kind.format.exponentBits << " exponent bits, round " << round;
    }
}

/// A random tile with zeros, subnormals, huge scales, infinities and NaN.
MmaTile wildTile(std::mt19937 &random, const FloatFormat &format, unsigned k,
                 unsigned block, bool ue4m3) {
  MmaTile tile;
  tile.k = k;
  tile.block = block;
  tile.groupsOf16 = k == 64;
  unsigned bits = 1 + format.exponentBits + format.mantissaBits;
  for (MmaMatrix *matrix : {&tile.a, &tile.b}) {
    std::vector<uint32_t> codes;
    unsigned rows = matrix == &tile.a ? 7 : 21;
    for (unsigned i = 0; i < rows * k; ++i)
      codes.push_back(random() % 64 ? random() & ((1u << (bits - 1)) - 1) >> 1
                                    : random() & ((1u << bits) - 1));
    *matrix = matrixOf(format, rows, codes);
    matrix->negate = random() & 1;
    for (unsigned i = 0; block && i < rows * k / block; ++i) {
      auto code = static_cast<uint8_t>(random());
      matrix->scales.push_back(ue4m3 ? decodeScaleUE4M3(code)
                                     : decodeScaleUE8M0(code));
    }
  }
  return tile;
}

TEST(Accumulate, AllVectorLevelsGiveTheSameBits) {
  struct Kind {
    FloatFormat format;
    unsigned k, block;
    bool ue4m3;
  };
  const Kind kinds[] = {
      {formatE2M1, 64, 16, true},  {formatE2M1, 64, 32, false},
      {formatF16, 16, 0, false},   {formatBF16, 16, 0, false},
      {formatTF32, 8, 0, false},   {formatE4M3, 32, 32, false},
      {formatE5M2, 32, 0, false},  {formatE2M3, 32, 32, false},
      {formatE3M2, 32, 32, false}, {formatE2M1, 32, 32, false}};
  std::mt19937 random(13);
  for (const Kind &kind : kinds)
    for (int round = 0; round < 50; ++round) {
      MmaTile tile =
          wildTile(random, kind.format, kind.k, kind.block, kind.ue4m3);
      std::vector<float> c(tile.a.rows * tile.b.rows);
      for (float &x : c)
        x = std::bit_cast<float>(static_cast<uint32_t>(
            random() % 16 ? random() & 0x8fffffff : random()));
      auto runAt = [&](VectorLevel level) {
        std::vector<float> d = c;
        TileProduct product(tile, Accumulation::Aligned, round % 8 == 0, level);
        for (unsigned i = 0; i < tile.a.rows; ++i)
          product.addRow(i, &d[size_t{i} * tile.b.rows]);
        std::vector<uint32_t> bits(d.size());
        std::memcpy(bits.data(), d.data(), d.size() * 4);
        return bits;
      };
      std::vector<uint32_t> portable = runAt(VectorLevel::Portable);
      for (int level = 1; level <= static_cast<int>(bestVectorLevel()); ++level)
        EXPECT_EQ(portable, runAt(static_cast<VectorLevel>(level)))
            << "level " << level << " round " << round;
    }
}

TEST(Accumulate, OverflowStopsAtTheLargestValue) {
  MmaTile tile;
  tile.k = 32;
  tile.block = 32;
  tile.a = matrixOf(formatE4M3, 1, std::vector<uint32_t>(32, 0x7e));
  tile.b = tile.a;
  tile.a.scales = tile.b.scales = {decodeScaleUE8M0(254)};
  std::vector<float> d{0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0x7f7fffffu);
  tile.a.negate = true;
  d = {0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0xff7fffffu);
}

// As an H200 does with products without scales.
TEST(Accumulate, OverflowWithoutScalesIsInfinity) {
  MmaTile tile;
  tile.k = 2;
  tile.a = matrixOf(formatBF16, 1, {0x7f00, 0x7f00}); // 2^127
  tile.b = tile.a;
  std::vector<float> d{0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0x7f800000u);
  tile.a.negate = true;
  d = {0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0xff800000u);
}

TEST(Accumulate, F16TruncatesAt25Bits) {
  // 1 + 2^-26: the small product is below the 25th fraction bit and lost.
  MmaTile tile;
  tile.k = 2;
  tile.a = matrixOf(formatF16, 1, {0x3c00, 0x0800}); // 1, 2^-13
  tile.b = tile.a;
  std::vector<float> d{-1.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(d[0], 0.0f);
  d = {-1.0f};
  accumulate(tile, Accumulation::F64, false, d);
  EXPECT_EQ(d[0], 0x1p-26f);
}

TEST(Accumulate, NanScaleGivesCanonicalNan) {
  MmaTile tile;
  tile.k = 64;
  tile.block = 16;
  tile.groupsOf16 = true;
  tile.a = matrixOf(formatE2M1, 1, std::vector<uint32_t>(64, 0));
  tile.b = tile.a;
  tile.a.scales.assign(4, decodeScaleUE4M3(0x38));
  tile.b.scales = tile.a.scales;
  tile.b.scales[2] = decodeScaleUE4M3(0x7f);
  std::vector<float> d{0.0f};
  accumulate(tile, Accumulation::Aligned, false, d);
  EXPECT_EQ(std::bit_cast<uint32_t>(d[0]), 0x7fffffffu);
}

TEST(Descriptors, GoldenInstructionDescriptors) {
  InstructionDescriptor d;
  EXPECT_EQ(
      decodeInstructionDescriptor(0x08200480, MmaKind::MxF4NvF4, false, 1, d),
      "");
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 128u);
  EXPECT_EQ(d.scale, ScaleType::UE4M3);
  EXPECT_EQ(
      decodeInstructionDescriptor(0x10400480, MmaKind::MxF4NvF4, false, 2, d),
      "");
  EXPECT_EQ(d.m, 256u);
  EXPECT_EQ(d.n, 256u);
  EXPECT_EQ(decodeInstructionDescriptor(0x48a004a0, MmaKind::MxF4, false, 1, d),
            "");
  EXPECT_EQ(d.scaleIdA, 2u);
  EXPECT_EQ(d.scaleIdB, 2u);
  EXPECT_EQ(
      decodeInstructionDescriptor(0x68a00030, MmaKind::MxF8F6F4, false, 1, d),
      "");
  EXPECT_EQ(d.scaleIdA, 3u);
  EXPECT_EQ(decodeInstructionDescriptor(0x08200490, MmaKind::F16, false, 1, d),
            "");
  EXPECT_EQ(d.a.mantissaBits, 7u);
  EXPECT_NE(decodeInstructionDescriptor(0x08200480 | 1 << 15, MmaKind::MxF4NvF4,
                                        false, 1, d),
            "");
  EXPECT_NE(
      decodeInstructionDescriptor(0x04200490, MmaKind::MxF4NvF4, false, 1, d),
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
