//===- BlockQuantizer.cpp - Quantisation of uncertain values ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes come from Format, which is tested against independent tables; the
// bounds are found here. Rounding of an element is monotone under a fixed
// scale, so the extremes lie at the ends of its interval.
//
//===----------------------------------------------------------------------===//

#include "BlockQuantizer.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace nvfp4::reference {

void transformHadamard(llvm::MutableArrayRef<Real> run, bool normalized,
                       uint32_t signMask) {
  for (size_t i = 0; i < 16; ++i)
    if ((signMask >> i & 1) != 0)
      run[i] = negate(run[i]);
  for (size_t distance = 1; distance < 16; distance *= 2)
    for (size_t i = 0; i < 16; ++i) {
      if ((i & distance) != 0)
        continue;
      Real low = run[i], high = run[i + distance];
      run[i] = add(Element::F32, low, high);
      run[i + distance] = subtract(Element::F32, low, high);
    }
  if (normalized)
    for (Real &x : run.take_front(16))
      x = multiply(Element::F32, x, {0.25, 0.0});
}
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The largest f32 that is not above `x`.
float roundDown(double x) {
  auto f = static_cast<float>(x);
  return f > x ? std::nextafter(f, -kInfinity) : f;
}

float roundUp(double x) { return -roundDown(-x); }

/// The smallest magnitude in [low, high].
float leastMagnitude(float low, float high) {
  if (low > 0)
    return low;
  return high < 0 ? -high : 0.0f;
}

} // namespace

void AmaxInterval::include(Real x, bool ignoreNaN) {
  if (std::isnan(x.value)) {
    if (!ignoreNaN)
      low = value = high = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  if (std::isinf(x.bound)) {
    leftOut = true;
    return;
  }
  if (std::isnan(value))
    return;
  float lowest = roundDown(x.value - x.bound);
  float highest = roundUp(x.value + x.bound);
  low = std::max(low, leastMagnitude(lowest, highest));
  value = std::max(value, std::fabs(static_cast<float>(x.value)));
  high = std::max({high, std::fabs(lowest), std::fabs(highest)});
}

llvm::Expected<BlockQuantizer> BlockQuantizer::create(gsg::QuantizerAttr attr,
                                                      gsg::BlockFormat format,
                                                      uint64_t seed) {
  BlockQuantizer q;
  q.kind = toFormat(attr.getKind());
  q.params.format = toFormat(format);
  if (attr.getNegZero() == gsg::NegativeZero::Flush)
    q.params.negativeZero = format::NegativeZero::Flush;
  if (attr.getRounding() == gsg::Rounding::Stochastic)
    q.params.rounding = format::ElementRounding::Stochastic;
  q.params.seed = seed;
  q.twoD = attr.getTwoD();
  if (q.twoD && q.kind == format::Quantizer::FourOverSix)
    return makeError("expected scales of one row for quantiser four_over_six, "
                     "but got two_d");
  if (std::string error = format::checkQuantizer(q.kind, q.params);
      !error.empty())
    return makeError(error);
  return q;
}

llvm::Error BlockQuantizer::setGlobalScale(Real scale) {
  params.globalScale = static_cast<float>(scale.value);
  // quantizer_c8
  if (std::string error = format::checkQuantizer(kind, params); !error.empty())
    return makeError(error);
  relativeScaleBound = scale.bound / scale.value;
  return llvm::Error::success();
}

double BlockQuantizer::decode(uint8_t code, uint8_t scale) const {
  return format::dequantize(params.format, code, scale);
}

/// Takes the largest deviation from `codes` under `refScale` over the values in
/// [low, high] with the scale that `amax` gives, for each candidate maximum.
void BlockQuantizer::widen(llvm::ArrayRef<float> low,
                           llvm::ArrayRef<float> high, const AmaxInterval &amax,
                           uint8_t refScale, llvm::ArrayRef<uint8_t> codes,
                           llvm::MutableArrayRef<double> bounds,
                           uint64_t elementIndex) const {
  size_t n = low.size();
  std::array<uint8_t, 32> found;
  auto one = [&](llvm::ArrayRef<float> x, float maximum,
                 format::Quantizer rule) {
    uint8_t scale = format::quantizeBlockWithAmax(
        rule, params, maximum, {x.data(), n}, {found.data(), n}, elementIndex);
    for (size_t i = 0; i < n; ++i) {
      double difference =
          std::fabs(decode(found[i], scale) - decode(codes[i], refScale));
      // A NaN scale is a difference of its own.
      bounds[i] = std::isnan(difference)
                      ? std::numeric_limits<double>::infinity()
                      : std::max(bounds[i], difference);
    }
    return scale;
  };
  // Scales are monotone in the maximum; candidates beyond the two ends are
  // sampled between them.
  constexpr int kSteps = 8;
  bool four = kind == format::Quantizer::FourOverSix;
  constexpr float kFactors[] = {1.0f, 1.5f};
  for (float factor : llvm::ArrayRef(kFactors).take_front(four ? 2 : 1)) {
    format::Quantizer rule = four ? format::Quantizer::TritonNearest : kind;
    float lowest = factor * amax.low, highest = factor * amax.high;
    uint8_t first = one(low, lowest, rule);
    one(high, lowest, rule);
    uint8_t last = one(low, highest, rule);
    one(high, highest, rule);
    if (last - first <= 1)
      continue;
    for (int step = 1; step < kSteps; ++step) {
      float maximum = lowest + (highest - lowest) * step / kSteps;
      one(low, maximum, rule);
      one(high, maximum, rule);
    }
    // The error between samples: half a step of the element each way, and the
    // rounding of the scale.
    double largest =
        format::decodeScale(format::scaleKind(params.format), last);
    for (size_t i = 0; i < n; ++i)
      bounds[i] += format::elementBits(params.format) == 4
                       ? 0.25 * largest
                       : 0.0625 * std::fabs(decode(codes[i], refScale));
  }
}

uint8_t BlockQuantizer::quantize(llvm::ArrayRef<Real> x,
                                 llvm::MutableArrayRef<uint8_t> codes,
                                 llvm::MutableArrayRef<double> bounds,
                                 uint64_t elementIndex,
                                 const AmaxInterval *shared) const {
  size_t n = x.size();
  std::array<float, 32> values{}, low{}, high{};
  AmaxInterval amax;
  bool exact = relativeScaleBound == 0;
  bool hasNaN = false;
  for (size_t i = 0; i < n; ++i) {
    Real r = x[i];
    r.bound += std::fabs(r.value) * relativeScaleBound;
    amax.include(r, ignoresNaN());
    values[i] = static_cast<float>(r.value);
    low[i] = roundDown(r.value - r.bound);
    high[i] = roundUp(r.value + r.bound);
    exact &= r.bound == 0;
    hasNaN |= std::isnan(r.value);
  }
  if (shared)
    amax = *shared;
  exact &= amax.low == amax.high || std::isnan(amax.value);
  std::fill(bounds.begin(), bounds.end(), 0.0);
  if (amax.leftOut) {
    std::fill(codes.begin(), codes.end(), 0);
    std::fill(bounds.begin(), bounds.end(),
              std::numeric_limits<double>::infinity());
    return format::paddingScale(format::scaleKind(params.format));
  }
  std::span<const float> in(values.data(), n);
  std::span<uint8_t> out(codes.data(), n);
  uint8_t scale =
      shared ? format::quantizeBlockWithAmax(kind, params, amax.value, in, out,
                                             elementIndex)
             : format::quantizeBlock(kind, params, in, out, elementIndex);
  if (!exact && !std::isnan(amax.value) && !hasNaN)
    widen({low.data(), n}, {high.data(), n}, amax, scale, codes, bounds,
          elementIndex);
  return scale;
}

} // namespace nvfp4::reference
