//===- QuantizeBlock.cpp - one block through a named quantiser --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of Quantizer.h, one function per quantiser that turns the block
// maximum into a scale byte and a factor. Every f32 operation is a statement of
// its own, in the order that the producer performs it.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Philox.h"
#include "nvfp4/Format/Quantizer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace nvfp4::format {
namespace {

constexpr float kMaxF32 = std::numeric_limits<float>::max();
constexpr float kRcp6 = 1.0f / 6.0f;

/// A scale byte and what to do with the elements under it.
struct ScaleChoice {
  uint8_t byte = 0;
  /// Multiplies the elements, or divides them.
  float factor = 0.0f;
  bool divide = false;
};

float rcp(float x) { return 1.0f / x; }

/// min that keeps NaN of `x`, the propagating minimum of CUTLASS.
float clampFactor(float x) { return x > kMaxF32 ? kMaxF32 : x; }

/// fmin semantics: NaN of `x` becomes the limit.
float fminFactor(float x) { return x < kMaxF32 ? x : kMaxF32; }

ScaleChoice chooseCutlass(const QuantizeParams &p, float amax) {
  float rcpMax = rcp(maxElement(p.format));
  float scaled = amax * rcpMax;
  scaled = scaled * p.globalScale;
  bool pow2 = scaleKind(p.format) == ScaleKind::E8M0;
  uint8_t byte = pow2 ? encodeE8M0(scaled, RoundE8M0::Up) : encodeUE4M3(scaled);
  float inverse = rcp(decodeScale(scaleKind(p.format), byte));
  float factor = p.globalScale * inverse;
  return {byte, clampFactor(factor)};
}

ScaleChoice chooseTrtllm(const QuantizeParams &p, float amax) {
  float sixth = amax * rcp(maxElement(p.format));
  float scaled = p.globalScale * sixth;
  if (scaleKind(p.format) == ScaleKind::E8M0) {
    // The exponent field as it stands, and as the bits of the divisor: a field
    // of zero counts as scale zero, one of 255 as infinity.
    uint32_t field = absBits(scaled) >> 23;
    if (field == 0)
      return {0, 0.0f};
    float denominator = std::bit_cast<float>(field << 23) * rcp(p.globalScale);
    return {static_cast<uint8_t>(field), rcp(denominator)};
  }
  uint8_t byte = encodeUE4M3(scaled);
  float scale = decodeUE4M3(byte);
  if (scale == 0.0f)
    return {byte, 0.0f};
  float denominator = scale * rcp(p.globalScale);
  return {byte, rcp(denominator)};
}

/// 2^ceil(log2(x)) by the bits of x; a subnormal counts as 2^-126. Infinity and
/// NaN give the NaN scale.
uint8_t ceilExponent(float x) {
  uint32_t bits = absBits(x);
  if (bits >= kF32Infinity)
    return kE8M0NaN;
  uint32_t byte = (bits + 0x7fffffu) >> 23;
  return static_cast<uint8_t>(byte > 254u ? 254u : byte);
}

/// The factor 1/sf of a power-of-two scale; zero blocks have factor zero.
ScaleChoice choosePowerOfTwo(uint8_t byte, float amax) {
  if (amax == 0.0f)
    return {byte, 0.0f};
  return {byte, rcp(decodeE8M0(byte))};
}

ScaleChoice chooseTE(const QuantizeParams &p, float amax) {
  if (scaleKind(p.format) == ScaleKind::E8M0) {
    float sixth = amax * rcp(maxElement(p.format));
    return choosePowerOfTwo(encodeE8M0(sixth, RoundE8M0::Up), amax);
  }
  float perUnit = p.globalScale * kRcp6;
  float scaled = std::min(amax * perUnit, kE4M3Max);
  uint8_t byte = encodeUE4M3(scaled);
  float denominator = decodeUE4M3(byte) * rcp(p.globalScale);
  return {byte, fminFactor(rcp(denominator))};
}

ScaleChoice chooseModelOpt(const QuantizeParams &p, float amax) {
  float unit = maxElement(p.format) * p.globalScale;
  float scaled = amax / unit;
  // Comparisons written so that NaN stays NaN.
  if (amax == 0.0f)
    scaled = 1.0f;
  else if (scaled < kE4M3MinSubnormal)
    scaled = kE4M3MinSubnormal;
  else if (scaled > kE4M3Max)
    scaled = kE4M3Max;
  uint8_t byte = encodeUE4M3(scaled);
  return {byte, decodeUE4M3(byte) * p.globalScale, /*divide=*/true};
}

ScaleChoice chooseMega16(const QuantizeParams &, float amax) {
  float scaled = amax * kRcp6;
  uint8_t byte = encodeUE4M3(scaled);
  float scale = decodeUE4M3(byte);
  return {byte, scale == 0.0f ? 0.0f : fminFactor(rcp(scale))};
}

ScaleChoice chooseUE8M0Up(const QuantizeParams &p, float amax) {
  if (amax < p.amaxFloor)
    amax = p.amaxFloor;
  float scaled = amax / maxElement(p.format);
  return choosePowerOfTwo(ceilExponent(scaled), amax);
}

ScaleChoice chooseOCP(const QuantizeParams &p, float amax) {
  uint32_t bits = absBits(amax);
  if (bits >= kF32Infinity)
    return {kE8M0NaN, rcp(decodeE8M0(kE8M0NaN))};
  int exponent = amax == 0.0f ? -127 : std::ilogb(amax);
  exponent = std::max(exponent - traits(p.format).maxExponent, -127);
  return choosePowerOfTwo(static_cast<uint8_t>(exponent + 127), amax);
}

/// E4M3 scale of `scaled`, factor rcp(sf*rcp(S)), zero under a zero scale.
ScaleChoice chooseTwoLevel(const QuantizeParams &p, float scaled) {
  uint8_t byte = encodeUE4M3(scaled);
  float scale = decodeUE4M3(byte);
  if (scale == 0.0f)
    return {byte, 0.0f};
  float denominator = scale * rcp(p.globalScale);
  return {byte, rcp(denominator)};
}

ScaleChoice chooseTritonNearest(const QuantizeParams &p, float amax) {
  float sixth = amax / kE2M1Max;
  return chooseTwoLevel(p, sixth * p.globalScale);
}

ScaleChoice chooseScale(Quantizer q, const QuantizeParams &p, float amax) {
  switch (q) {
  case Quantizer::Cutlass:
    return chooseCutlass(p, amax);
  case Quantizer::Trtllm:
    return chooseTrtllm(p, amax);
  case Quantizer::TE:
    return chooseTE(p, amax);
  case Quantizer::ModelOpt:
    return chooseModelOpt(p, amax);
  case Quantizer::Mega16:
    return chooseMega16(p, amax);
  case Quantizer::UE8M0Up:
    return chooseUE8M0Up(p, amax);
  case Quantizer::OCP:
    return chooseOCP(p, amax);
  case Quantizer::TritonNearest:
  case Quantizer::FourOverSix:
    return chooseTritonNearest(p, amax);
  }
  return {};
}

uint8_t encodeElement(Quantizer q, const QuantizeParams &p, float x,
                      uint64_t index) {
  // The sign of a computed NaN is the processor's choice: it is dropped.
  if (elementKind(p.format) == ElementKind::E4M3)
    return isNaN(x) ? kE4M3NaN : encodeE4M3(x);
  if (elementKind(p.format) == ElementKind::E5M2)
    return isNaN(x) ? kE5M2NaN : encodeE5M2Saturating(x);
  NegativeZero nz = p.negativeZero.value_or(traits(q).negativeZero);
  switch (p.rounding) {
  case ElementRounding::NearestEven:
    return encodeE2M1(x, nz);
  case ElementRounding::NearestTiesTowardZero:
    return encodeE2M1(x, nz, Ties::TowardZero);
  case ElementRounding::Stochastic:
    return encodeE2M1Stochastic(x, Philox{p.seed, p.offset}.uniform(index), nz);
  }
  return 0;
}

/// encodeElements for the common case, as a loop that vectorises.
void encodeNearestE2M1(ScaleChoice choice, std::span<const float> x,
                       std::span<uint8_t> codes) {
  for (uint64_t i = 0; i < x.size(); ++i) {
    float scaled = choice.divide ? x[i] / choice.factor : x[i] * choice.factor;
    uint32_t sign = std::bit_cast<uint32_t>(scaled) >> 31 & !isNaN(scaled);
    codes[i] =
        static_cast<uint8_t>(detail::nearestE2M1(absBits(scaled)) | sign << 3);
  }
}

void encodeElements(Quantizer q, const QuantizeParams &p, ScaleChoice choice,
                    std::span<const float> x, std::span<uint8_t> codes,
                    uint64_t elementIndex) {
  if (elementKind(p.format) == ElementKind::E2M1 &&
      p.rounding == ElementRounding::NearestEven &&
      p.negativeZero.value_or(traits(q).negativeZero) == NegativeZero::Keep)
    return encodeNearestE2M1(choice, x, codes);
  for (uint64_t i = 0; i < x.size(); ++i) {
    float scaled = choice.divide ? x[i] / choice.factor : x[i] * choice.factor;
    codes[i] = encodeElement(q, p, scaled, elementIndex + i);
  }
}

/// Sum of |error| or error^2 of a candidate, f32, elements in order.
float candidateError(const QuantizeParams &p, ScaleChoice choice,
                     std::span<const float> x, std::span<const uint8_t> codes) {
  float unit = decodeUE4M3(choice.byte) * rcp(p.globalScale);
  float total = 0.0f;
  for (uint64_t i = 0; i < x.size(); ++i) {
    float value = decodeE2M1(codes[i]) * unit;
    float error = std::fabs(value - x[i]);
    if (p.blockError == BlockError::MeanSquare)
      error = error * error;
    total = total + error;
  }
  return total;
}

uint8_t quantizeFourOverSix(const QuantizeParams &p, std::span<const float> x,
                            std::span<uint8_t> codes, uint64_t elementIndex) {
  constexpr Quantizer q = Quantizer::FourOverSix;
  float amax = blockAmax(x, traits(q).amaxIgnoresNaN);
  float sixth = amax / kE2M1Max;
  ScaleChoice six = chooseTwoLevel(p, sixth * p.globalScale);
  float larger = 1.5f * amax;
  larger = larger / kE2M1Max;
  ScaleChoice four = chooseTwoLevel(p, larger * p.globalScale);
  std::array<uint8_t, 32> other{};
  std::span<uint8_t> fourCodes(other.data(), x.size());
  encodeElements(q, p, six, x, codes, elementIndex);
  encodeElements(q, p, four, x, fourCodes, elementIndex);
  // Written so that a tie, and an error that is NaN, keeps six.
  if (candidateError(p, four, x, fourCodes) <
      candidateError(p, six, x, codes)) {
    std::copy(fourCodes.begin(), fourCodes.end(), codes.begin());
    return four.byte;
  }
  return six.byte;
}

} // namespace

float blockAmax(std::span<const float> x, bool ignoreNaN) {
  float amax = 0.0f;
  for (float value : x) {
    float magnitude = std::fabs(value);
    if (isNaN(value)) {
      if (!ignoreNaN)
        return std::numeric_limits<float>::quiet_NaN();
    } else if (magnitude > amax) {
      amax = magnitude;
    }
  }
  return amax;
}

uint8_t quantizeBlockWithAmax(Quantizer q, const QuantizeParams &params,
                              float amax, std::span<const float> x,
                              std::span<uint8_t> codes, uint64_t elementIndex) {
  assert(codes.size() >= x.size());
  ScaleChoice choice = chooseScale(q, params, amax);
  encodeElements(q, params, choice, x, codes, elementIndex);
  return choice.byte;
}

uint8_t quantizeBlock(Quantizer q, const QuantizeParams &params,
                      std::span<const float> x, std::span<uint8_t> codes,
                      uint64_t elementIndex) {
  assert(x.size() <= static_cast<uint64_t>(blockSize(params.format)));
  assert(codes.size() >= x.size());
  if (q == Quantizer::FourOverSix)
    return quantizeFourOverSix(params, x, codes, elementIndex);
  float amax = blockAmax(x, traits(q).amaxIgnoresNaN);
  return quantizeBlockWithAmax(q, params, amax, x, codes, elementIndex);
}

} // namespace nvfp4::format
