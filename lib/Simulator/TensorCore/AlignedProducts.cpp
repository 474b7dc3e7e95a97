//===- AlignedProducts.cpp - the aligned model, product by product --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kinds f16, tf32, f8f6f4 and mxf8f6f4: each product is aligned to 25 fraction
// bits, or fewer where the tile says so. A product has at most 22 bits and is
// shifted up to 27, so eight fit 32 bits.
//
//===----------------------------------------------------------------------===//

#include "AlignedLanes.h"

#include <algorithm>
#include <cstring>

namespace nvfp4::sim::aligned {
namespace {

constexpr unsigned chunk = 8;

/// The exponent of subnormal accumulators of f16; zeros have none, while those
/// of f32 have that of subnormals.
constexpr int32_t leastHalfExponent = -14;

/// A code as magnitude, sign and exponent: value = magnitude *
/// 2^(exponent - mantissa bits).
struct Parts {
  int32_t magnitude, sign, exponent;
};

Parts partsOf(uint32_t code, const FloatFormat &format, bool negate) {
  uint32_t mantissa = code & ((1u << format.mantissaBits) - 1);
  auto exponent = static_cast<int32_t>(code >> format.mantissaBits &
                                       ((1u << format.exponentBits) - 1));
  bool negative = code >> (format.mantissaBits + format.exponentBits) & 1;
  Parts parts;
  parts.magnitude = static_cast<int32_t>(
      exponent ? mantissa | 1u << format.mantissaBits : mantissa);
  parts.sign = negative != negate ? -1 : 0;
  parts.exponent =
      parts.magnitude ? std::max(exponent, 1) - format.bias : zeroExponent;
  return parts;
}

template <bool isSparse>
NVFP4_SIM_INLINE void addRow(const ProductOperands &x, unsigned i, float *d) {
  size_t firstCode = size_t{i} * x.codes;
  const int32_t *magnitude = &x.aMagnitude[firstCode];
  const int32_t *sign = &x.aSign[firstCode];
  const int32_t *exponent = &x.aExponent[firstCode];
  const uint16_t *positions = isSparse ? &x.positions[firstCode] : nullptr;
  auto at = [&](unsigned code) { return isSparse ? positions[code] : code; };
  for (unsigned block = 0; block < x.blocks; ++block) {
    const Block<int32_t> *bMagnitude = &x.bMagnitude[size_t{block} * x.k];
    const Block<int32_t> *bSign = &x.bSign[size_t{block} * x.k];
    const Block<int32_t> *bExponent = &x.bExponent[size_t{block} * x.k];
    Floats c;
    std::memcpy(&c, d + lanes * block, sizeof c);
    Ints scale = load(x.bScale[block]) + x.aScale[i];
    Ints most = scale * 0 + zeroExponent;
    for (unsigned k = 0; k < x.codes; ++k)
      most = larger(most, load(bExponent[at(k)]) + exponent[k]);
    Ints ofC = exponentsOf(c);
    if (x.sticky)
      ofC = ((Ints)c << 1) == 0 ? scale * 0 + zeroExponent
                                : larger(ofC, scale * 0 + leastHalfExponent);
    Ints largest = larger(ofC, most + scale);
    Ints base = largest - scale;
    Longs sum = truncated(__builtin_convertvector(c, Doubles) *
                          powersOfTwo(x.fraction - largest));
    for (unsigned first = 0; first < x.codes; first += chunk) {
      Ints part = scale * 0;
      unsigned end = std::min(first + chunk, x.codes);
      for (unsigned k = first; k < end; ++k) {
        Ints product = (load(bMagnitude[at(k)]) * magnitude[k]) << x.left;
        Ints down = base - (load(bExponent[at(k)]) + exponent[k]);
        Ints term = product >> (down > 31 ? down * 0 + 31 : down);
        Ints negative = load(bSign[at(k)]) ^ sign[k];
        part += (term ^ negative) - negative;
      }
      sum += __builtin_convertvector(part, Longs);
    }
    Doubles unit = powersOfTwo(largest - x.fraction);
    Floats result = truncatedToFloat(sum, unit, x.overflows);
    if (x.sticky)
      result = oddWhereInexact(result, sum, unit);
    else
      result = (Floats)((Ints)result >> x.cleared << x.cleared);
    std::memcpy(d + lanes * block, &result, sizeof result);
  }
}

NVFP4_SIM_INLINE void addAnyRow(const ProductOperands &x, unsigned i,
                                float *d) {
  if (x.positions.empty())
    addRow<false>(x, i, d);
  else
    addRow<true>(x, i, d);
}

void addRowPortable(const ProductOperands &x, unsigned i, float *d) {
  addAnyRow(x, i, d);
}
NVFP4_SIM_TARGET("avx2")
void addRowAvx2(const ProductOperands &x, unsigned i, float *d) {
  addAnyRow(x, i, d);
}
NVFP4_SIM_TARGET("avx512f,avx512vl,avx512dq,avx512bw")
void addRowAvx512(const ProductOperands &x, unsigned i, float *d) {
  addAnyRow(x, i, d);
}

} // namespace

ProductOperands::ProductOperands(const MmaTile &tile, bool f16Result)
    : k(tile.k), codes(tile.codesOfA()), positions(tile.positions),
      blocks(blockCount(tile.b.rows)), fraction(tile.fraction),
      left(fraction - static_cast<int>(tile.a.format.mantissaBits +
                                       tile.b.format.mantissaBits)),
      cleared(23 - tile.resultMantissa), sticky(f16Result),
      overflows(tile.block == 0) {
  size_t count = size_t{tile.a.rows} * codes;
  aMagnitude.resize(count);
  aSign.resize(count);
  aExponent.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Parts parts = partsOf(tile.a.code(i), tile.a.format, tile.a.negate);
    aMagnitude[i] = parts.magnitude;
    aSign[i] = parts.sign;
    aExponent[i] = parts.exponent;
  }
  for (unsigned row = 0; row < tile.a.rows; ++row)
    aScale.push_back(tile.block ? tile.a.scales[row].exponent : 0);
  bMagnitude.resize(size_t{blocks} * k, {});
  bSign.resize(size_t{blocks} * k, {});
  bExponent.resize(size_t{blocks} * k, {});
  bScale.resize(blocks, {});
  for (unsigned column = 0; column < tile.b.rows; ++column) {
    size_t block = column / lanes;
    unsigned lane = column % lanes;
    if (tile.block)
      bScale[block].lane[lane] = tile.b.scales[column].exponent;
    for (unsigned i = 0; i < k; ++i) {
      Parts parts = partsOf(tile.b.code(size_t{column} * k + i), tile.b.format,
                            tile.b.negate);
      bMagnitude[block * k + i].lane[lane] = parts.magnitude;
      bSign[block * k + i].lane[lane] = parts.sign;
      bExponent[block * k + i].lane[lane] = parts.exponent;
    }
  }
}

void addProductRow(const ProductOperands &operands, unsigned i, float *d,
                   VectorLevel level) {
  rowOf(level, addRowPortable, addRowAvx2, addRowAvx512)(operands, i, d);
}

} // namespace nvfp4::sim::aligned
