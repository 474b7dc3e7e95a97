//===- Accumulate.cpp - matrix multiplication of one tile -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The aligned model (MMA-Sim, arXiv 2511.10909, own implementation): all terms
// and the accumulator are aligned to the largest exponent, truncated to a fixed
// number of fraction bits (25 for single products, 35 for the exact 16-element
// dot products of fp4), added exactly, and truncated to f32; its loops are in
// Aligned*.cpp. Rows with infinities or NaN, and the other models, are computed
// element by element here.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/Accumulate.h"

#include "Aligned.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

namespace nvfp4::sim {
namespace {

constexpr float canonicalNan() { return std::bit_cast<float>(0x7fffffffu); }

/// Whether `code` is an infinity or NaN.
bool isSpecial(uint32_t code, const FloatFormat &format) {
  uint32_t mantissaMask = (1u << format.mantissaBits) - 1;
  uint32_t magnitudeMask =
      (1u << (format.mantissaBits + format.exponentBits)) - 1;
  uint32_t magnitude = code & magnitudeMask;
  if (format.ieee)
    return magnitude >= magnitudeMask - mantissaMask;
  return format.hasNan && magnitude == magnitudeMask;
}

/// For each row of `codes` codes whether an element or a scale is an infinity
/// or NaN.
std::vector<uint8_t> findSpecial(const MmaMatrix &matrix, unsigned codes,
                                 unsigned blocks) {
  std::vector<uint8_t> result(matrix.rows, 0);
  if (matrix.format.ieee || matrix.format.hasNan)
    for (size_t i = 0; i < result.size() * codes; ++i)
      if (isSpecial(matrix.code(i), matrix.format))
        result[i / codes] = 1;
  for (size_t i = 0; i < result.size() * blocks; ++i)
    if (matrix.scales[i].nan)
      result[i / blocks] = 1;
  return result;
}

bool anyOf(const std::vector<uint8_t> &flags) {
  return std::find(flags.begin(), flags.end(), 1) != flags.end();
}

/// The values of all codes, `codes` in a row.
std::vector<float> valuesOf(const MmaMatrix &matrix, unsigned codes) {
  std::vector<float> values(size_t{matrix.rows} * codes);
  for (size_t i = 0; i < values.size(); ++i) {
    auto value = static_cast<float>(decodeFloat(matrix.code(i), matrix.format));
    values[i] = matrix.negate ? -value : value;
  }
  return values;
}

double scaleValue(const BlockScale &s) {
  return s.nan ? std::nan("") : std::ldexp(s.significand, s.exponent - 3);
}

} // namespace

struct TileProduct::Impl {
  Impl(const MmaTile &tile, Accumulation mode, bool f16Result,
       VectorLevel level)
      : tile(tile), mode(mode), f16Result(f16Result), level(level) {
    unsigned blocks = tile.block ? tile.k / tile.block : 0;
    specialA = findSpecial(tile.a, tile.codesOfA(), blocks);
    specialB = findSpecial(tile.b, tile.k, blocks);
    anySpecialB = anyOf(specialB);
    if (mode != Accumulation::Aligned)
      return;
    if (tile.groupsOf16)
      fp4.emplace(tile);
    else
      products.emplace(tile, f16Result);
  }

  /// One result, in f64 or in order.
  float single(unsigned i, unsigned j, float c) {
    bool special = specialA[i] || specialB[j] || !std::isfinite(c);
    if (values.empty()) {
      values = valuesOf(tile.a, tile.codesOfA());
      columns = valuesOf(tile.b, tile.k);
    }
    bool inOrder = mode == Accumulation::SequentialF32 && !special;
    double sum = c;
    unsigned codes = tile.codesOfA();
    for (unsigned code = 0; code < codes; ++code) {
      unsigned k = tile.position(i, code);
      double term = static_cast<double>(values[size_t{i} * codes + code]) *
                    columns[size_t{j} * tile.k + k] * scaleOf(i, j, k);
      if (inOrder)
        c += static_cast<float>(term);
      else
        sum += term;
    }
    if (inOrder)
      return c;
    return special && sum != sum ? canonicalNan() : static_cast<float>(sum);
  }

  double scaleOf(unsigned i, unsigned j, unsigned k) const {
    if (!tile.block)
      return 1;
    size_t blocks = tile.k / tile.block, block = k / tile.block;
    return scaleValue(tile.a.scales[i * blocks + block]) *
           scaleValue(tile.b.scales[j * blocks + block]);
  }

  void addRow(unsigned i, float *d) {
    unsigned n = tile.b.rows;
    if (mode != Accumulation::Aligned || specialA[i]) {
      for (unsigned j = 0; j < n; ++j)
        d[j] = single(i, j, d[j]);
      return round(d);
    }
    bool special = anySpecialB;
    for (unsigned j = 0; j < n; ++j)
      special |= (std::bit_cast<uint32_t>(d[j]) >> 23 & 255) == 255;
    bool whole = n % aligned::lanes == 0;
    if (whole && !special) {
      addAligned(i, d);
      return round(d);
    }
    std::vector<float> row(size_t{aligned::blockCount(n)} * aligned::lanes);
    for (unsigned j = 0; j < n; ++j)
      row[j] = std::isfinite(d[j]) ? d[j] : 0.0f;
    addAligned(i, row.data());
    for (unsigned j = 0; j < n; ++j)
      d[j] = specialB[j] || !std::isfinite(d[j]) ? single(i, j, d[j]) : row[j];
    round(d);
  }

  void addAligned(unsigned i, float *d) const {
    if (fp4)
      aligned::addFp4Row(*fp4, i, d, level);
    else
      aligned::addProductRow(*products, i, d, level);
  }

  /// Results of the aligned model that are 0 in f16 are +0, as an H200's.
  void round(float *d) const {
    if (!f16Result)
      return;
    for (unsigned j = 0; j < tile.b.rows; ++j) {
      d[j] = halfToFloat(floatToHalf(d[j]));
      if (mode == Accumulation::Aligned)
        d[j] += 0.0f;
    }
  }

  const MmaTile &tile;
  const Accumulation mode;
  const bool f16Result;
  const VectorLevel level;
  std::vector<uint8_t> specialA, specialB;
  bool anySpecialB = false;
  std::optional<aligned::Fp4Operands> fp4;
  std::optional<aligned::ProductOperands> products;
  /// Element values, decoded when first needed.
  std::vector<float> values, columns;
};

TileProduct::TileProduct(const MmaTile &tile, Accumulation mode, bool f16Result,
                         VectorLevel level)
    : impl(std::make_unique<Impl>(tile, mode, f16Result, level)) {}
TileProduct::~TileProduct() = default;

void TileProduct::addRow(unsigned i, float *d) const { impl->addRow(i, d); }

void accumulate(const MmaTile &tile, Accumulation mode, bool f16Result,
                std::vector<float> &d) {
  TileProduct product(tile, mode, f16Result);
  for (unsigned i = 0; i < tile.a.rows; ++i)
    product.addRow(i, &d[size_t{i} * tile.b.rows]);
}

} // namespace nvfp4::sim
