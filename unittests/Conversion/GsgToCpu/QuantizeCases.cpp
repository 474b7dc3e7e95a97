//===- QuantizeCases.cpp - inputs and oracle of quantisers ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs that hit every rounding decision of a quantiser, and what nvfp4/Format
// makes of them.
//
//===----------------------------------------------------------------------===//

#include "QuantizeCases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;
using format::Quantizer;

/// As bf16, because that is what the code under test reads.
static float rounded(float x) {
  return format::bf16ToF32(format::f32ToBF16(x));
}

std::vector<uint16_t> Matrix::toBF16() const {
  std::vector<uint16_t> bits;
  for (float value : values)
    bits.push_back(format::f32ToBF16(value));
  return bits;
}

Matrix nvfp4::gsg::cpu::everyBF16() {
  Matrix x(512, 256);
  for (uint32_t i = 0; i < 65536; ++i) {
    // In order, so that a block holds neighbours, and scattered, so that it
    // does not.
    float value = format::bf16ToF32(static_cast<uint16_t>(i));
    x.values[i] = value;
    x.values[65536 + i * 40503u % 65536u] = value;
  }
  return x;
}

Matrix nvfp4::gsg::cpu::hardBlocks(float globalScale) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::vector<float>> rows = {
      {0.0f},
      {-0.0f, 0.0f},
      {0x1p-133f},
      {-0x1p-126f, 0x1p-130f},
      {1e-30f, -1e-31f},
      {6.0f * 448.0f * globalScale, globalScale},
      {6.0f * 448.0f / globalScale, 1.0f / globalScale},
      {nan, 1.0f, -2.0f},
      {-nan, 0.25f},
      {infinity, 1.0f},
      {-infinity, 3.0f, nan},
      {6.0f, .25f, .75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, -.25f, -.75f, -1.25f,
       -1.75f, -2.5f, -3.5f, -5.0f, -0.0f},
      {0x1p127f, -0x1.fep127f},
      {448.0f, 464.0f, -480.0f, 57344.0f, 61440.0f, 0x1p-9f, 0x1p-10f}};
  Matrix x(static_cast<int64_t>(rows.size()), 32);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows[i].size(); ++j)
      x.at(static_cast<int64_t>(i), static_cast<int64_t>(j)) =
          rounded(rows[i][j]);
  return x;
}

Matrix nvfp4::gsg::cpu::randomMatrix(int64_t rows, int64_t columns,
                                     uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix x(rows, columns);
  for (float &value : x.values) {
    value = normal(random);
    if (random() % 50 == 0)
      value *= 100.0f;
    if (random() % 20 == 0)
      value *= 1e-4f;
    value = rounded(value);
  }
  return x;
}

std::string QuantizerCase::name() const {
  return std::string(format::stringify(quantizer)) + "_" +
         std::string(format::stringify(format)) +
         (stochastic ? "_stochastic" : "") + (flush ? "_flush" : "") +
         (square ? "_two_d" : "");
}

std::string QuantizerCase::attribute() const {
  return "<" + std::string(format::stringify(quantizer)) +
         (flush ? ", neg_zero = flush" : "") +
         (stochastic ? ", rounding = stochastic" : "") +
         (square ? ", two_d" : "") + ">";
}

std::vector<QuantizerCase> nvfp4::gsg::cpu::allQuantizerCases() {
  std::vector<QuantizerCase> cases;
  for (const format::QuantizerTraits &q : format::kQuantizers)
    for (const format::BlockFormatTraits &f : format::kBlockFormats)
      if (format::supports(q.quantizer, f.format))
        cases.push_back({q.quantizer, f.format});
  cases.push_back({Quantizer::TE, BlockFormat::NVFP4, /*stochastic=*/true});
  cases.push_back({Quantizer::Trtllm, BlockFormat::MXFP4, /*stochastic=*/true});
  cases.push_back({Quantizer::TE, BlockFormat::NVFP4, false, /*flush=*/true});
  cases.push_back({Quantizer::ModelOpt, BlockFormat::NVFP4, false, true});
  cases.push_back({Quantizer::TE, BlockFormat::NVFP4, false, false,
                   /*square=*/true});
  cases.push_back({Quantizer::TE, BlockFormat::NVFP4, true, true, true});
  return cases;
}

std::vector<float> nvfp4::gsg::cpu::globalScalesOf(const QuantizerCase &c) {
  format::GlobalScaleKind kind = format::traits(c.quantizer).global;
  bool oneLevel = c.quantizer == Quantizer::TE &&
                  format::scaleKind(c.format) == format::ScaleKind::E8M0;
  if (kind == format::GlobalScaleKind::None || oneLevel)
    return {1.0f};
  if (kind == format::GlobalScaleKind::Multiplier)
    return {1.0f, 0.0037f};
  return {1.0f, 271.3f};
}

Expected nvfp4::gsg::cpu::quantizeWithFormat(const QuantizerCase &c,
                                             const Matrix &x, float globalScale,
                                             format::ScaleLayout layout) {
  format::QuantizeParams params;
  params.format = c.format;
  params.globalScale = globalScale;
  if (c.stochastic)
    params.rounding = format::ElementRounding::Stochastic;
  if (c.flush)
    params.negativeZero = format::NegativeZero::Flush;
  params.seed = 12345;
  format::ScaleMatrix matrix{layout, x.rows,
                             format::scaleColumns(c.format, x.columns)};
  Expected expected;
  expected.codes.resize(
      static_cast<size_t>(x.rows * format::rowBytes(c.format, x.columns)));
  expected.scales.resize(static_cast<size_t>(matrix.totalBytes()));
  std::string error = format::quantizeMatrix(
      c.quantizer, params, x.view(), expected.codes, matrix, expected.scales,
      c.square ? format::ScaleExtent::Square : format::ScaleExtent::Row);
  EXPECT_EQ(error, "");
  return expected;
}

std::string nvfp4::gsg::cpu::elementOf(BlockFormat format) {
  switch (format::elementKind(format)) {
  case format::ElementKind::E2M1:
    return "i8";
  case format::ElementKind::E4M3:
    return "f8E4M3FN";
  case format::ElementKind::E5M2:
    return "f8E5M2";
  }
  return "";
}

std::string nvfp4::gsg::cpu::scaleElementOf(BlockFormat format) {
  return format::scaleKind(format) == format::ScaleKind::UE4M3 ? "f8E4M3FN"
                                                               : "f8E8M0FNU";
}

std::string nvfp4::gsg::cpu::scaledType(BlockFormat format,
                                        const std::string &shape,
                                        const std::string &suffix) {
  return "!grouped_scaled_gemm.scaled<" + shape + ", " +
         std::string(format::stringify(format)) + suffix + ">";
}

int64_t nvfp4::gsg::cpu::firstDifference(const std::vector<uint8_t> &a,
                                         const std::vector<uint8_t> &b) {
  if (a.size() != b.size())
    return static_cast<int64_t>(std::min(a.size(), b.size()));
  auto found = std::mismatch(a.begin(), a.end(), b.begin()).first;
  return found == a.end() ? -1 : found - a.begin();
}
