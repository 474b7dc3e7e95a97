//===- QuantizeBlockTest.cpp - bytes of the named quantisers ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hard blocks, with bytes worked out by hand from the formulas: zeros, a
// subnormal, a tiny maximum, the largest value under the global scale, NaN,
// infinity, and the ties of E2M1.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Quantizer.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <vector>

using namespace nvfp4::format;

namespace {

using Bytes = std::vector<uint8_t>;

struct Quantized {
  unsigned scale;
  Bytes codes;
};

/// The format each quantiser is tested with: its two-level one if it has one.
BlockFormat formatOf(Quantizer q) {
  return traits(q).emitsUE4M3 ? BlockFormat::NVFP4 : BlockFormat::MXFP4;
}

Quantized quantize(Quantizer q, std::vector<float> x, QuantizeParams p) {
  x.resize(static_cast<size_t>(blockSize(p.format)));
  Quantized result{0, Bytes(x.size(), 0xee)};
  EXPECT_EQ(checkQuantizer(q, p), "");
  result.scale = quantizeBlock(q, p, x, result.codes);
  return result;
}

Quantized quantize(Quantizer q, std::vector<float> x) {
  QuantizeParams p;
  p.format = formatOf(q);
  return quantize(q, std::move(x), p);
}

struct Case {
  Quantizer quantizer;
  unsigned scale;
  unsigned code;
};

TEST(Quantizer, TableFollowsTheEnumeration) {
  for (size_t i = 0; i < kQuantizers.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kQuantizers[i].quantizer), i);
    EXPECT_EQ(parseQuantizer(stringify(kQuantizers[i].quantizer)),
              kQuantizers[i].quantizer);
  }
  EXPECT_EQ(parseQuantizer("best"), std::nullopt);
}

TEST(Quantizer, BlockOfZeros) {
  for (const QuantizerTraits &row : kQuantizers) {
    Quantized r = quantize(row.quantizer, {});
    EXPECT_EQ(r.scale, row.quantizer == Quantizer::ModelOpt ? 0x38u : 0u)
        << stringify(row.quantizer);
    EXPECT_EQ(r.codes, Bytes(r.codes.size(), 0)) << stringify(row.quantizer);
  }
}

TEST(Quantizer, AmaxFloorGivesZerosAScale) {
  QuantizeParams p;
  p.format = BlockFormat::MXFP4;
  p.amaxFloor = 1e-4f;
  // 1e-4/6 = 1.67e-5 lies between 2^-16 and 2^-15.
  Quantized r = quantize(Quantizer::UE8M0Up, {}, p);
  EXPECT_EQ(r.scale, 127u - 15);
  EXPECT_EQ(r.codes, Bytes(32, 0));
}

// 2^-140: every scale underflows; factor M takes it to 2^-12 only.
TEST(Quantizer, OneSubnormal) {
  const Case cases[] = {
      {Quantizer::Cutlass, 0, 0},     {Quantizer::Trtllm, 0, 0},
      {Quantizer::TE, 0, 0},          {Quantizer::ModelOpt, 1, 0},
      {Quantizer::Mega16, 0, 0},      {Quantizer::UE8M0Up, 1, 0},
      {Quantizer::OCP, 0, 0},         {Quantizer::TritonNearest, 0, 0},
      {Quantizer::FourOverSix, 0, 0},
  };
  for (const Case &c : cases) {
    Quantized r = quantize(c.quantizer, {0, 0x1p-140f});
    EXPECT_EQ(r.scale, c.scale) << stringify(c.quantizer);
    EXPECT_EQ(r.codes[1], c.code) << stringify(c.quantizer);
  }
}

// 1e-30: the UE4M3 scale is zero, and factor M makes the value saturate where
// the quantiser does not guard against it. 1e-30 * 2^102 = 5.07 -> 6.
TEST(Quantizer, TinyMaximum) {
  const Case cases[] = {
      {Quantizer::Cutlass, 0, 7},     {Quantizer::Trtllm, 0, 0},
      {Quantizer::TE, 0, 7},          {Quantizer::ModelOpt, 1, 0},
      {Quantizer::Mega16, 0, 0},      {Quantizer::UE8M0Up, 25, 7},
      {Quantizer::OCP, 25, 7},        {Quantizer::TritonNearest, 0, 0},
      {Quantizer::FourOverSix, 0, 0},
  };
  for (const Case &c : cases) {
    Quantized r = quantize(c.quantizer, {0, 1e-30f, -1e-30f});
    EXPECT_EQ(r.scale, c.scale) << stringify(c.quantizer);
    EXPECT_EQ(r.codes[1], c.code) << stringify(c.quantizer);
    EXPECT_EQ(r.codes[2], c.code + 8) << stringify(c.quantizer);
  }
}

TEST(Quantizer, LargestValueUnderTheGlobalScale) {
  for (const QuantizerTraits &row : kQuantizers)
    for (float amax : {2688.0f, 1.0f, 3.3f, 1e-6f, 1.5e30f}) {
      QuantizeParams p;
      p.format = formatOf(row.quantizer);
      float x = amax;
      if (row.global == GlobalScaleKind::Encode)
        p.globalScale = 2688.0f / amax;
      else if (row.global == GlobalScaleKind::Multiplier)
        p.globalScale = amax / 2688.0f;
      else
        x = 2688.0f;
      Quantized r = quantize(row.quantizer, {x, -x, 0.5f * x}, p);
      // Power-of-two scales: 2688/6 = 448 needs 2^9; 2688/512 = 5.25 -> 6.
      EXPECT_EQ(r.scale, row.emitsUE4M3 ? 0x7eu : 127u + 9)
          << stringify(row.quantizer) << amax;
      EXPECT_EQ(r.codes[0], 7) << stringify(row.quantizer);
      EXPECT_EQ(r.codes[1], 15) << stringify(row.quantizer);
      // 3 exactly, or 1344/512 = 2.625 -> 3.
      EXPECT_EQ(r.codes[2], 5) << stringify(row.quantizer) << amax;
    }
}

// Where A ignores NaN, the finite maximum is 6 and the scale is 1.
TEST(Quantizer, NaNPoisonsTheBlockOrOneElement) {
  for (const QuantizerTraits &row : kQuantizers) {
    if (row.quantizer == Quantizer::FourOverSix)
      continue;
    Quantized r = quantize(row.quantizer, {6, NAN, 2});
    unsigned nanScale = row.emitsUE4M3 ? 0x7f : 0xff;
    EXPECT_EQ(r.scale, row.amaxIgnoresNaN ? 0x38 : nanScale)
        << stringify(row.quantizer);
    EXPECT_EQ(r.codes[0], 7) << stringify(row.quantizer);
    EXPECT_EQ(r.codes[1], 7) << stringify(row.quantizer);
    EXPECT_EQ(r.codes[2], row.amaxIgnoresNaN ? 4 : 7)
        << stringify(row.quantizer);
  }
  // The error of both candidates is NaN: six is kept.
  Quantized r = quantize(Quantizer::FourOverSix, {6, NAN, 2});
  EXPECT_EQ(r.scale, 0x38u);
  EXPECT_EQ(r.codes[1], 7);
}

TEST(Quantizer, InfinitySaturates) {
  for (const QuantizerTraits &row : kQuantizers) {
    Quantized r = quantize(row.quantizer, {1, INFINITY, -INFINITY});
    EXPECT_EQ(r.scale, row.emitsUE4M3 ? 0x7eu : 0xffu)
        << stringify(row.quantizer);
    EXPECT_EQ(r.codes[1], 7) << stringify(row.quantizer);
    // Under a NaN scale every product is NaN.
    EXPECT_EQ(r.codes[2], row.emitsUE4M3 ? 15 : 7) << stringify(row.quantizer);
    EXPECT_EQ(r.codes[0], row.emitsUE4M3 ? 0 : 7) << stringify(row.quantizer);
  }
}

TEST(Quantizer, InfinityUnderE8M0ScalesOfTheOthers) {
  QuantizeParams p;
  p.format = BlockFormat::MXFP4;
  EXPECT_EQ(quantize(Quantizer::Cutlass, {INFINITY}, p).scale, 254u);
  EXPECT_EQ(quantize(Quantizer::TE, {INFINITY}, p).scale, 254u);
  EXPECT_EQ(quantize(Quantizer::Trtllm, {INFINITY}, p).scale, 255u);
}

TEST(Quantizer, TiesUnderScaleOne) {
  const std::vector<float> x = {6,    0.25f, 0.75f,  1.25f,  1.75f, 2.5f,
                                3.5f, 5,     -0.25f, -0.75f, -2.5f, -5};
  const Bytes expected = {7, 0, 2, 2, 4, 4, 6, 6, 8, 10, 12, 14};
  const Bytes down = {7, 0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 14};
  for (const QuantizerTraits &row : kQuantizers) {
    if (row.quantizer == Quantizer::FourOverSix)
      continue;
    QuantizeParams p;
    p.format = formatOf(row.quantizer);
    Quantized r = quantize(row.quantizer, x, p);
    EXPECT_EQ(r.scale, row.emitsUE4M3 ? 0x38u : 127u)
        << stringify(row.quantizer);
    r.codes.resize(x.size());
    EXPECT_EQ(r.codes, expected) << stringify(row.quantizer);
    p.rounding = ElementRounding::NearestTiesTowardZero;
    r = quantize(row.quantizer, x, p);
    r.codes.resize(x.size());
    EXPECT_EQ(r.codes, down) << stringify(row.quantizer);
  }
}

// Squared error 1.75 under scale 1 and 0.75 under scale 1.5.
TEST(Quantizer, FourOverSixTakesTheSmallerError) {
  for (BlockError error : {BlockError::MeanAbsolute, BlockError::MeanSquare}) {
    QuantizeParams p;
    p.blockError = error;
    Quantized r = quantize(Quantizer::FourOverSix,
                           {6, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5}, p);
    EXPECT_EQ(r.scale, 0x3cu);
    r.codes.resize(8);
    EXPECT_EQ(r.codes, (Bytes{6, 0, 1, 2, 2, 3, 4, 5}));
    // Everything is exact under scale 1.
    r = quantize(Quantizer::FourOverSix, {6, 4, 2, 0.5f}, p);
    EXPECT_EQ(r.scale, 0x38u);
    r.codes.resize(4);
    EXPECT_EQ(r.codes, (Bytes{7, 6, 4, 1}));
  }
}

TEST(Quantizer, NegativeZeroOfEachProducer) {
  for (const QuantizerTraits &row : kQuantizers) {
    Quantized r = quantize(row.quantizer, {6, -0.0f, -0.1f});
    bool modelOpt = row.quantizer == Quantizer::ModelOpt;
    EXPECT_EQ(r.codes[1], modelOpt ? 0 : 8) << stringify(row.quantizer);
    EXPECT_EQ(r.codes[2], 8) << stringify(row.quantizer);
    QuantizeParams p;
    p.format = formatOf(row.quantizer);
    p.negativeZero = NegativeZero::Flush;
    r = quantize(row.quantizer, {6, -0.0f, -0.1f}, p);
    EXPECT_EQ(r.codes[1], 0) << stringify(row.quantizer);
    EXPECT_EQ(r.codes[2], 0) << stringify(row.quantizer);
  }
}

TEST(Quantizer, TrtllmTruncatesPowerOfTwoScales) {
  QuantizeParams p;
  p.format = BlockFormat::NVFP4_E8M0;
  // 11/6 = 1.83: down to 1, up to 2.
  EXPECT_EQ(quantize(Quantizer::Trtllm, {11}, p).scale, 127u);
  EXPECT_EQ(quantize(Quantizer::Trtllm, {11}, p).codes[0], 7);
  EXPECT_EQ(quantize(Quantizer::Cutlass, {11}, p).scale, 128u);
  EXPECT_EQ(quantize(Quantizer::TE, {11}, p).scale, 128u);
  EXPECT_EQ(quantize(Quantizer::UE8M0Up, {11}, p).scale, 128u);
  EXPECT_EQ(quantize(Quantizer::UE8M0Up, {11}, p).codes[0], 7);
}

TEST(Quantizer, OCPSaturatesAboveSix) {
  QuantizeParams p;
  p.format = BlockFormat::MXFP4;
  Quantized r = quantize(Quantizer::OCP, {7.9f, 5.5f}, p);
  EXPECT_EQ(r.scale, 127u);
  EXPECT_EQ(r.codes[0], 7);
  p.format = BlockFormat::MXFP8_E4M3;
  r = quantize(Quantizer::OCP, {511.0f, 256.0f, -300.0f}, p);
  EXPECT_EQ(r.scale, 127u);
  EXPECT_EQ(r.codes[0], 0x7e);
  EXPECT_EQ(r.codes[1], 0x78);
  EXPECT_EQ(r.codes[2], 0xf9);
}

TEST(Quantizer, EightBitElementsTakeTheirOwnMaximum) {
  QuantizeParams p;
  p.format = BlockFormat::MXFP8_E4M3;
  for (Quantizer q : {Quantizer::Cutlass, Quantizer::TE, Quantizer::UE8M0Up}) {
    EXPECT_EQ(quantize(q, {448}, p).scale, 127u) << stringify(q);
    EXPECT_EQ(quantize(q, {448}, p).codes[0], 0x7e) << stringify(q);
    EXPECT_EQ(quantize(q, {449}, p).scale, 128u) << stringify(q);
  }
  p.format = BlockFormat::MXFP8_E5M2;
  for (Quantizer q : {Quantizer::Cutlass, Quantizer::TE, Quantizer::UE8M0Up}) {
    EXPECT_EQ(quantize(q, {-57344}, p).scale, 127u) << stringify(q);
    EXPECT_EQ(quantize(q, {-57344}, p).codes[0], 0xfb) << stringify(q);
  }
}

TEST(Quantizer, StochasticDependsOnSeedOffsetAndElementOnly) {
  QuantizeParams p;
  p.rounding = ElementRounding::Stochastic;
  p.seed = 7;
  std::vector<float> x(16, 2.4f);
  x[0] = 6;
  Bytes a(16), b(16), c(16);
  quantizeBlock(Quantizer::TE, p, x, a, 160);
  quantizeBlock(Quantizer::TE, p, x, b, 160);
  EXPECT_EQ(a, b);
  quantizeBlock(Quantizer::TE, p, x, c, 176);
  EXPECT_NE(a, c);
  p.offset = 1;
  quantizeBlock(Quantizer::TE, p, x, c, 160);
  EXPECT_NE(a, c);
  for (size_t i = 1; i < 16; ++i)
    EXPECT_TRUE(a[i] == 4 || a[i] == 5);
}

TEST(Quantizer, EncodeScale) {
  EXPECT_EQ(encodeScaleFor(2688.0f), 1.0f);
  EXPECT_EQ(encodeScaleFor(1.0f), 2688.0f);
  EXPECT_EQ(encodeScaleFor(1.0f, 256.0f), 1536.0f);
  EXPECT_EQ(encodeScaleFor(0.0f), 1.0f);
  EXPECT_EQ(encodeScaleFor(NAN), 1.0f);
  EXPECT_EQ(encodeScaleFor(INFINITY), 1.0f);
  EXPECT_EQ(encodeScaleFor(1e-37f), std::numeric_limits<float>::max());
}

TEST(Quantizer, AmaxAndNaN) {
  const std::vector<float> x = {1, -3, NAN, 2};
  EXPECT_EQ(blockAmax(x, true), 3);
  EXPECT_TRUE(std::isnan(blockAmax(x, false)));
  EXPECT_EQ(blockAmax({}, false), 0);
  EXPECT_EQ(blockAmax(std::vector<float>{-0.0f}, false), 0);
}

TEST(Quantizer, ParametersAreChecked) {
  QuantizeParams p;
  EXPECT_EQ(checkQuantizer(Quantizer::OCP, p),
            "quantizer 'ocp' expected a format with E8M0 scales, but got "
            "'nvfp4'");
  p.globalScale = 0;
  EXPECT_EQ(checkQuantizer(Quantizer::TE, p),
            "expected a global scale that is finite and positive, but got "
            "0.000000");
  p.globalScale = NAN;
  EXPECT_NE(checkQuantizer(Quantizer::TE, p), "");
  p.globalScale = INFINITY;
  EXPECT_NE(checkQuantizer(Quantizer::TE, p), "");
  p.globalScale = 2;
  EXPECT_EQ(checkQuantizer(Quantizer::TE, p), "");
  EXPECT_EQ(checkQuantizer(Quantizer::Mega16, p),
            "quantizer 'mega16' expected global scale 1 for 'nvfp4', which has "
            "one level of scales, but got 2.000000");
  p.format = BlockFormat::MXFP4;
  EXPECT_EQ(checkQuantizer(Quantizer::TE, p),
            "quantizer 'te' expected global scale 1 for 'mxfp4', which has one "
            "level of scales, but got 2.000000");
  p.format = BlockFormat::NVFP4;
  p.globalScale = 1;
  p.amaxFloor = -1;
  EXPECT_NE(checkQuantizer(Quantizer::TE, p), "");
  p.amaxFloor = 0;
  p.format = BlockFormat::MXFP8_E4M3;
  EXPECT_NE(checkQuantizer(Quantizer::ModelOpt, p), "");
  p.rounding = ElementRounding::Stochastic;
  EXPECT_EQ(checkQuantizer(Quantizer::OCP, p),
            "expected round to nearest even for the 8-bit elements of "
            "'mxfp8_e4m3'");
}

} // namespace
