//===- Accumulate.cpp -------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The aligned model (MMA-Sim, arXiv 2511.10909, own implementation): all terms
// and the accumulator are aligned to the largest exponent, truncated to a fixed
// number of fraction bits (25 for single products, 35 for the exact 16-element
// dot products of fp4), added exactly, and truncated to f32.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/Accumulate.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Vector shifts by a variable count need AVX2; the choice is made at load time.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NVFP4_SIM_CLONES
#endif
#endif
#if !defined(NVFP4_SIM_CLONES) && defined(__x86_64__) &&                       \
    !defined(__SANITIZE_ADDRESS__)
#define NVFP4_SIM_CLONES                                                       \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#ifndef NVFP4_SIM_CLONES
#define NVFP4_SIM_CLONES
#endif

namespace nvfp4::sim {
namespace {

constexpr float canonicalNan() { return std::bit_cast<float>(0x7fffffffu); }

/// sum * 2^scale, truncated toward zero to f32.
float truncateToFloat(int64_t sum, int scale) {
  if (sum == 0)
    return 0.0f;
  uint32_t sign = sum < 0 ? 1u << 31 : 0;
  uint64_t magnitude =
      sum < 0 ? -static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  int top = 63 - std::countl_zero(magnitude);
  int exponent = top + scale; // of the leading bit
  if (exponent > 127)         // truncation never overflows to infinity
    return std::bit_cast<float>(sign | 0x7f7fffffu);
  // Bits above the unit of the last place that is kept.
  int keep = exponent >= -126 ? 23 : 23 - (-126 - exponent);
  if (keep < 0)
    return std::bit_cast<float>(sign);
  uint64_t kept =
      top > keep ? magnitude >> (top - keep) : magnitude << (keep - top);
  auto bits = static_cast<uint32_t>(kept);
  if (exponent >= -126)
    bits += static_cast<uint32_t>(exponent + 126) << 23;
  return std::bit_cast<float>(sign | bits);
}

/// An f32 accumulator as significand (24 bits) and exponent.
struct Accumulator {
  int64_t significand = 0;
  int exponent = -126;
  bool negative = false;
};

Accumulator split(float c) {
  uint32_t bits = std::bit_cast<uint32_t>(c);
  Accumulator result;
  result.negative = bits >> 31;
  int exponent = static_cast<int>(bits >> 23 & 255);
  result.significand = bits & 0x7fffff;
  if (exponent)
    result.significand |= 0x800000;
  else
    exponent = 1;
  result.exponent = result.significand ? exponent - 127 : -126;
  return result;
}

int64_t shifted(int64_t magnitude, int left, int down) {
  return down > 62 ? 0 : (magnitude << left) >> down;
}

struct ScaledPair {
  int significand = 64; // in units of 1/64
  int exponent = 0;
};

/// Exponent of a zero: products with it never are the largest.
constexpr int32_t zeroExponent = -10000;

/// Products of two rows aligned to the largest exponent, which is updated, and
/// truncated. A product has at most 22 bits and `left` makes it 27, so terms
/// fit 32 bits.
NVFP4_SIM_CLONES int64_t alignedSum(const int32_t *significandA,
                                    const int32_t *exponentA,
                                    const int32_t *significandB,
                                    const int32_t *exponentB, unsigned count,
                                    int scale, int left, int &largest) {
  int32_t most = zeroExponent;
  for (unsigned k = 0; k < count; ++k)
    most = std::max(most, exponentA[k] + exponentB[k]);
  largest = std::max(largest, most + scale);
  int32_t base = largest - scale;
  int64_t sum = 0;
  for (unsigned k = 0; k < count; ++k) {
    int32_t product = significandA[k] * significandB[k];
    int32_t down = std::min(base - exponentA[k] - exponentB[k], 31);
    int32_t term = (std::abs(product) << left) >> down;
    sum += product < 0 ? -term : term;
  }
  return sum;
}

void unpack(const std::vector<Element> &elements,
            std::vector<int32_t> &significands,
            std::vector<int32_t> &exponents) {
  for (const Element &e : elements) {
    significands.push_back(e.significand);
    exponents.push_back(e.significand ? e.exponent : zeroExponent);
  }
}

class TileAccumulator {
public:
  TileAccumulator(const MmaTile &tile, Accumulation mode)
      : tile(tile), mode(mode) {
    if (!tile.groupsOf16) {
      unpack(tile.a, significandA, exponentA);
      unpack(tile.b, significandB, exponentB);
      return;
    }
    for (const Element &e : tile.a)
      halvesA.push_back(static_cast<int16_t>(halves(e)));
    for (const Element &e : tile.b)
      halvesB.push_back(static_cast<int16_t>(halves(e)));
  }

  float run(unsigned i, unsigned j, float c) const {
    if (hasSpecial(i, j) || !std::isfinite(c))
      return inDouble(i, j, c, /*canonical=*/true);
    switch (mode) {
    case Accumulation::Aligned:
      return tile.groupsOf16 ? alignedGroups(i, j, c)
                             : alignedProducts(i, j, c);
    case Accumulation::SequentialF32:
      return sequential(i, j, c);
    case Accumulation::F64:
      return inDouble(i, j, c, false);
    }
    return c;
  }

private:
  const Element *rowA(unsigned i) const { return &tile.a[size_t{i} * tile.k]; }
  const Element *rowB(unsigned j) const { return &tile.b[size_t{j} * tile.k]; }
  unsigned blocks() const { return tile.k / tile.block; }
  const BlockScale &scaleA(unsigned i, unsigned block) const {
    return tile.aScale[size_t{i} * blocks() + block];
  }
  const BlockScale &scaleB(unsigned j, unsigned block) const {
    return tile.bScale[size_t{j} * blocks() + block];
  }
  bool scaled() const { return tile.block != 0; }

  bool hasSpecial(unsigned i, unsigned j) const {
    return specialA[i] || specialB[j];
  }

  double scaleOf(unsigned i, unsigned j, unsigned k) const {
    if (!scaled())
      return 1;
    const BlockScale &a = scaleA(i, k / tile.block);
    const BlockScale &b = scaleB(j, k / tile.block);
    if (a.nan || b.nan)
      return std::nan("");
    return std::ldexp(static_cast<double>(a.significand * b.significand) / 64,
                      a.exponent + b.exponent);
  }

  float inDouble(unsigned i, unsigned j, float c, bool canonical) const {
    double sum = c;
    for (unsigned k = 0; k < tile.k; ++k)
      sum += static_cast<double>(rowA(i)[k].value) * rowB(j)[k].value *
             scaleOf(i, j, k);
    if (canonical && sum != sum)
      return canonicalNan();
    return static_cast<float>(sum);
  }

  float sequential(unsigned i, unsigned j, float c) const {
    for (unsigned k = 0; k < tile.k; ++k)
      c += static_cast<float>(static_cast<double>(rowA(i)[k].value) *
                              rowB(j)[k].value * scaleOf(i, j, k));
    return c;
  }

  float alignedProducts(unsigned i, unsigned j, float c) const {
    constexpr int fraction = 25;
    Accumulator acc = split(c);
    int scale = 0;
    if (scaled())
      scale = scaleA(i, 0).exponent + scaleB(j, 0).exponent;
    int largest = acc.exponent;
    int left = fraction - static_cast<int>(tile.aMantissa + tile.bMantissa);
    size_t a = size_t{i} * tile.k;
    size_t b = size_t{j} * tile.k;
    int64_t sum = alignedSum(&significandA[a], &exponentA[a], &significandB[b],
                             &exponentB[b], tile.k, scale, left, largest);
    int64_t term =
        shifted(acc.significand, fraction - 23, largest - acc.exponent);
    sum += acc.negative ? -term : term;
    return truncateToFloat(sum, largest - fraction);
  }

  float alignedGroups(unsigned i, unsigned j, float c) const {
    constexpr int fraction = 35;
    const int16_t *a = &halvesA[size_t{i} * tile.k];
    const int16_t *b = &halvesB[size_t{j} * tile.k];
    Accumulator acc = split(c);
    int largest = acc.exponent;
    int64_t terms[4];
    int exponents[4];
    unsigned groups = tile.k / 16;
    for (unsigned g = 0; g < groups; ++g) {
      const BlockScale &sa = scaleA(i, g * 16 / tile.block);
      const BlockScale &sb = scaleB(j, g * 16 / tile.block);
      // fp4 values are halves: products in quarters.
      int dot = 0;
      for (unsigned k = g * 16; k < g * 16 + 16; ++k)
        dot += a[k] * b[k];
      terms[g] = int64_t{dot} * sa.significand * sb.significand; // in 2^-8
      exponents[g] =
          zeroScale(sa) || zeroScale(sb) ? -126 : sa.exponent + sb.exponent;
      largest = std::max(largest, exponents[g]);
    }
    int64_t sum = 0;
    for (unsigned g = 0; g < groups; ++g) {
      int64_t term =
          shifted(std::abs(terms[g]), fraction - 8, largest - exponents[g]);
      sum += terms[g] < 0 ? -term : term;
    }
    int64_t term =
        shifted(acc.significand, fraction - 23, largest - acc.exponent);
    sum += acc.negative ? -term : term;
    return truncateToFloat(sum, largest - fraction);
  }

  static bool zeroScale(const BlockScale &s) { return s.significand == 0; }
  /// The value of an fp4 element times two.
  static int halves(const Element &e) {
    return e.significand * (1 << e.exponent);
  }

public:
  std::vector<bool> specialA, specialB;

private:
  const MmaTile &tile;
  Accumulation mode;
  /// fp4 values times two, for the exact dot products.
  std::vector<int16_t> halvesA, halvesB;
  /// Elements of the other kinds in separate arrays.
  std::vector<int32_t> significandA, significandB, exponentA, exponentB;
};

std::vector<bool> findSpecial(const std::vector<Element> &elements,
                              const std::vector<BlockScale> &scales,
                              unsigned rows, unsigned k, unsigned blocks) {
  std::vector<bool> result(rows, false);
  for (unsigned i = 0; i < rows; ++i) {
    bool special = false;
    for (unsigned j = 0; j < k; ++j)
      special |= elements[size_t{i} * k + j].special;
    for (unsigned s = 0; s < blocks; ++s)
      special |= scales[size_t{i} * blocks + s].nan;
    result[i] = special;
  }
  return result;
}

} // namespace

Element decodeElement(uint32_t code, const FloatFormat &format, bool negate) {
  Element e;
  uint32_t mantissaMask = (1u << format.mantissaBits) - 1;
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  uint32_t mantissa = code & mantissaMask;
  uint32_t exponent = code >> format.mantissaBits & exponentMask;
  double value = decodeFloat(code, format);
  if (negate)
    value = -value;
  e.value = static_cast<float>(value);
  e.special = !std::isfinite(value);
  int significand =
      static_cast<int>(exponent ? mantissa | (mantissaMask + 1) : mantissa);
  e.exponent = static_cast<int16_t>(static_cast<int>(exponent ? exponent : 1) -
                                    format.bias);
  e.significand =
      static_cast<int16_t>(std::signbit(value) ? -significand : significand);
  if (e.special)
    e.significand = 0;
  return e;
}

BlockScale decodeScaleUE4M3(uint8_t code) {
  BlockScale s;
  code &= 0x7f;
  s.nan = code == 0x7f;
  int exponent = code >> 3;
  s.significand = static_cast<int8_t>(exponent ? 8 + (code & 7) : code & 7);
  s.exponent = static_cast<int16_t>((exponent ? exponent : 1) - 7);
  return s;
}

BlockScale decodeScaleUE8M0(uint8_t code) {
  BlockScale s;
  s.nan = code == 0xff;
  s.significand = 8;
  s.exponent = static_cast<int16_t>(code - 127);
  return s;
}

void accumulate(const MmaTile &tile, Accumulation mode, bool f16Result,
                std::vector<float> &d) {
  TileAccumulator tileAccumulator(tile, mode);
  unsigned blocks = tile.block ? tile.k / tile.block : 0;
  tileAccumulator.specialA =
      findSpecial(tile.a, tile.aScale, tile.rows, tile.k, blocks);
  tileAccumulator.specialB =
      findSpecial(tile.b, tile.bScale, tile.columns, tile.k, blocks);
  for (unsigned i = 0; i < tile.rows; ++i)
    for (unsigned j = 0; j < tile.columns; ++j) {
      float &out = d[size_t{i} * tile.columns + j];
      out = tileAccumulator.run(i, j, out);
      if (f16Result)
        out = halfToFloat(floatToHalf(out));
    }
}

} // namespace nvfp4::sim
