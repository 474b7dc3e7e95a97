//===- AlignedFp4.cpp - the aligned model for fp4 kinds ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dot products of 16 elements in integers, scaled and aligned to 35 fraction
// bits. VNNI multiplies unsigned by signed bytes, so A is kept with a bias.
//
//===----------------------------------------------------------------------===//

#include "AlignedLanes.h"

#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nvfp4::sim::aligned {
namespace {

constexpr int fraction = 35;
constexpr int bias = 12;

/// Twice the value of an e2m1 code; arithmetic that compilers vectorise.
int8_t halves(uint8_t code) {
  auto magnitude = static_cast<uint8_t>(code & 7);
  auto value = static_cast<int8_t>(magnitude + (magnitude == 5) +
                                   2 * (magnitude == 6) + 5 * (magnitude == 7));
  return code & 8 ? static_cast<int8_t>(-value) : value;
}

double scaleValue(const BlockScale &s) {
  return s.nan ? 0 : std::ldexp(s.significand, s.exponent - 3);
}
int32_t scaleExponent(const BlockScale &s) {
  return s.significand ? s.exponent : zeroExponent;
}

/// Dot products of the groups of row `a`, `words` words of four elements each,
/// with the columns of a block.
using DotFunction = void (*)(const uint8_t *a, const Block<int32_t> *b,
                             const Block<int32_t> *bBias, unsigned groups,
                             unsigned words, Block<int32_t> *dots);

void portableDots(const uint8_t *a, const Block<int32_t> *b,
                  const Block<int32_t> *bBias, unsigned groups, unsigned words,
                  Block<int32_t> *dots) {
  for (unsigned g = 0; g < groups; ++g) {
    Block<int32_t> sum = bBias[g];
    for (unsigned word = g * words; word < (g + 1) * words; ++word) {
      int8_t bytes[4 * lanes];
      std::memcpy(bytes, &b[word], sizeof bytes);
      const uint8_t *four = a + 4 * word;
      for (unsigned j = 0; j < lanes; ++j)
        for (unsigned t = 0; t < 4; ++t)
          sum.lane[j] += four[t] * bytes[4 * j + t];
    }
    dots[g] = sum;
  }
}

#if defined(__x86_64__)
NVFP4_SIM_TARGET("avx512f,avx512vl,avx512vnni")
void vnniDots(const uint8_t *a, const Block<int32_t> *b,
              const Block<int32_t> *bBias, unsigned groups, unsigned words,
              Block<int32_t> *dots) {
  for (unsigned g = 0; g < groups; ++g) {
    __m256i sum =
        _mm256_load_si256(reinterpret_cast<const __m256i *>(bBias[g].lane));
    for (unsigned word = g * words; word < (g + 1) * words; ++word) {
      int32_t four;
      std::memcpy(&four, a + 4 * word, 4);
      sum = _mm256_dpbusd_epi32(
          sum, _mm256_set1_epi32(four),
          _mm256_load_si256(reinterpret_cast<const __m256i *>(b[word].lane)));
    }
    _mm256_store_si256(reinterpret_cast<__m256i *>(dots[g].lane), sum);
  }
}
constexpr DotFunction vectorDots = vnniDots;
#else
constexpr DotFunction vectorDots = portableDots;
#endif

NVFP4_SIM_INLINE void addRow(const Fp4Operands &x, unsigned i, float *d,
                             DotFunction dot) {
  constexpr unsigned maximumGroups = 6;
  unsigned groups = x.groups;
  unsigned words = x.wordsOfGroup;
  const uint8_t *a = &x.a[size_t{i} * groups * words * 4];
  const double *aScale = &x.aScale[size_t{i} * groups];
  const int32_t *aExponent = &x.aExponent[size_t{i} * groups];
  for (unsigned block = 0; block < x.blocks; ++block) {
    size_t first = size_t{block} * groups;
    Block<int32_t> dots[maximumGroups];
    dot(a, &x.b[first * words], &x.bBias[first], groups, words, dots);
    Floats c;
    std::memcpy(&c, d + lanes * block, sizeof c);
    Ints largest = exponentsOf(c);
    for (unsigned g = 0; g < groups; ++g)
      largest = larger(largest, load(x.bExponent[first + g]) + aExponent[g]);
    Doubles unit = powersOfTwo(fraction - largest);
    Longs sum = truncated(__builtin_convertvector(c, Doubles) * unit);
    for (unsigned g = 0; g < groups; ++g) {
      Doubles scale = load(x.bScale[first + g]) * aScale[g];
      sum += truncated(__builtin_convertvector(load(dots[g]), Doubles) * scale *
                       unit);
    }
    Floats result =
        truncatedToFloat(sum, powersOfTwo(largest - fraction), false);
    std::memcpy(d + lanes * block, &result, sizeof result);
  }
}

void addRowPortable(const Fp4Operands &x, unsigned i, float *d) {
  addRow(x, i, d, portableDots);
}
NVFP4_SIM_TARGET("avx2")
void addRowAvx2(const Fp4Operands &x, unsigned i, float *d) {
  addRow(x, i, d, portableDots);
}
NVFP4_SIM_TARGET("avx512f,avx512vl,avx512dq,avx512bw,avx512vnni")
void addRowAvx512(const Fp4Operands &x, unsigned i, float *d) {
  addRow(x, i, d, vectorDots);
}

} // namespace

Fp4Operands::Fp4Operands(const MmaTile &tile)
    : groups(tile.codesOfA() / 16), wordsOfGroup(tile.k / groups / 4),
      blocks(blockCount(tile.b.rows)) {
  unsigned groupSize = 4 * wordsOfGroup;
  unsigned perGroup = tile.block / groupSize;
  auto scaleOf = [&](const MmaMatrix &matrix, unsigned row, unsigned g) {
    return matrix.scales[size_t{row} * tile.k / tile.block + g / perGroup];
  };
  int sign = tile.a.negate == tile.b.negate ? 1 : -1;
  a.resize(size_t{tile.a.rows} * tile.k, bias);
  unsigned codes = tile.codesOfA();
  for (unsigned row = 0; row < tile.a.rows; ++row)
    for (unsigned i = 0; i < codes; ++i)
      a[size_t{row} * tile.k + tile.position(row, i)] = static_cast<uint8_t>(
          sign * halves(tile.a.codes[size_t{row} * codes + i]) + bias);
  for (unsigned row = 0; row < tile.a.rows; ++row)
    for (unsigned g = 0; g < groups; ++g) {
      const BlockScale &scale = scaleOf(tile.a, row, g);
      aScale.push_back(scaleValue(scale) / 4);
      aExponent.push_back(scaleExponent(scale));
    }
  size_t words = size_t{groups} * wordsOfGroup;
  b.resize(blocks * words, {});
  bBias.resize(size_t{blocks} * groups, {});
  bScale.resize(size_t{blocks} * groups, {});
  bExponent.resize(size_t{blocks} * groups, {});
  std::vector<int8_t> row(tile.k);
  for (unsigned column = 0; column < tile.b.rows; ++column) {
    const uint8_t *codes = &tile.b.codes[size_t{column} * tile.k];
    for (unsigned i = 0; i < tile.k; ++i)
      row[i] = halves(codes[i]);
    size_t block = column / lanes;
    unsigned lane = column % lanes;
    for (size_t word = 0; word < words; ++word)
      std::memcpy(&b[block * words + word].lane[lane], &row[4 * word], 4);
    for (unsigned g = 0; g < groups; ++g) {
      int total = 0;
      for (unsigned i = 0; i < groupSize; ++i)
        total += row[groupSize * g + i];
      const BlockScale &scale = scaleOf(tile.b, column, g);
      bBias[block * groups + g].lane[lane] = -bias * total;
      bScale[block * groups + g].lane[lane] = scaleValue(scale);
      bExponent[block * groups + g].lane[lane] = scaleExponent(scale);
    }
  }
}

void addFp4Row(const Fp4Operands &operands, unsigned i, float *d,
               VectorLevel level) {
  rowOf(level, addRowPortable, addRowAvx2, addRowAvx512)(operands, i, d);
}

} // namespace nvfp4::sim::aligned
