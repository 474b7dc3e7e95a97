//===- IntegerProduct.cpp - integer matrix multiplication -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are formed in 64 bits, where they cannot overflow.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/IntegerProduct.h"

#include <algorithm>

namespace nvfp4::sim {

void addIntegerRow(const MmaTile &tile, const IntegerFormat &a,
                   const IntegerFormat &b, bool saturate, unsigned i,
                   int32_t *d) {
  unsigned codes = tile.codesOfA();
  const uint8_t *row = &tile.a.codes[size_t{i} * codes];
  for (unsigned j = 0; j < tile.b.rows; ++j) {
    const uint8_t *column = &tile.b.codes[size_t{j} * tile.k];
    int64_t sum = d[j];
    for (unsigned code = 0; code < codes; ++code)
      sum += a.value(row[code]) * b.value(column[tile.position(i, code)]);
    if (saturate)
      sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    d[j] = static_cast<int32_t>(static_cast<uint32_t>(sum));
  }
}

} // namespace nvfp4::sim
