//===- Aligned.h - inner loops of the aligned accumulation model ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row of A times eight columns of B at a time. A term is a real number that
// f64 holds exactly; aligning it to 2^largest at `fraction` bits is a product
// with a power of two and a truncation to an integer. Sums of at most 33 such
// integers below 2^47 are exact, so instruction sets cannot differ.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNED_H
#define NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNED_H

#include "nvfp4/Simulator/TensorCore/MmaTile.h"

#include <cstddef>

namespace nvfp4::sim::aligned {

/// Columns that are computed together.
constexpr unsigned lanes = 8;
/// Exponent of a zero: it never is the largest.
constexpr int32_t zeroExponent = -10000;

template <typename T> struct alignas(lanes * sizeof(T)) Block {
  T lane[lanes];
};

inline unsigned blockCount(unsigned columns) {
  return (columns + lanes - 1) / lanes;
}

/// Operands of the fp4 kinds: K in groups of 16 elements, or 32 where A is
/// sparse and half of them are zeros.
struct Fp4Operands {
  unsigned groups = 4;
  unsigned wordsOfGroup = 4;
  unsigned blocks = 0;
  /// A: twice the value plus 12, rows * K; scale / 4 and its exponent, rows *
  /// groups.
  std::vector<uint8_t> a;
  std::vector<double> aScale;
  std::vector<int32_t> aExponent;
  /// B by block: for each 4 elements of K, the four of each column, as twice
  /// the value; then by group what undoes the bias of A, scale and exponent.
  std::vector<Block<int32_t>> b;
  std::vector<Block<int32_t>> bBias;
  std::vector<Block<double>> bScale;
  std::vector<Block<int32_t>> bExponent;

  explicit Fp4Operands(const MmaTile &tile);
};

/// Operands of the other kinds.
struct ProductOperands {
  unsigned k = 0;
  /// Codes in a row of A, and their positions along K (MmaTile).
  unsigned codes = 0;
  const std::vector<uint16_t> &positions;
  unsigned blocks = 0;
  /// Fraction bits of aligned terms, and what a product is shifted up to have
  /// as many.
  int fraction = 25;
  int left = 0;
  /// Bits of an f32 result that are cleared.
  int cleared = 0;
  /// Accumulators and results are f16; results are odd where bits were lost,
  /// for the rounding that follows.
  bool sticky = false;
  /// Products without scales overflow to infinity, as an H200's do. For scaled
  /// ones there is only the published model, which truncates.
  bool overflows = true;
  /// A by code: magnitude, sign (0 or -1) and exponent; exponent of the row's
  /// scale.
  std::vector<int32_t> aMagnitude, aSign, aExponent, aScale;
  /// B by block and element of K, and scale by block.
  std::vector<Block<int32_t>> bMagnitude, bSign, bExponent, bScale;

  ProductOperands(const MmaTile &tile, bool f16Result);
};

/// Adds row `i` to the accumulators of all blocks; `d` has room for whole
/// blocks, which must hold finite values.
void addFp4Row(const Fp4Operands &operands, unsigned i, float *d,
               VectorLevel level);
void addProductRow(const ProductOperands &operands, unsigned i, float *d,
                   VectorLevel level);

} // namespace nvfp4::sim::aligned

#endif // NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNED_H
