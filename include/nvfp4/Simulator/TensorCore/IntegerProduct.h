//===- IntegerProduct.h - integer matrix multiplication ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integer kinds of the tensor cores: exact products of 8-bit or 4-bit
// elements, added to 32 bits that wrap around or saturate.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_INTEGERPRODUCT_H
#define NVFP4_SIMULATOR_TENSORCORE_INTEGERPRODUCT_H

#include "nvfp4/Simulator/TensorCore/Accumulate.h"

namespace nvfp4::sim {

/// How the codes of an operand are read.
struct IntegerFormat {
  unsigned bits = 8;
  bool isSigned = true;

  int32_t value(uint8_t code) const {
    unsigned unused = 32 - bits;
    return isSigned ? static_cast<int32_t>(uint32_t{code} << unused) >>
                          static_cast<int>(unused)
                    : code;
  }
};

/// D[i] += A[i] * B^T for row `i` of A; `d` has b.rows values. The codes take a
/// byte each. With `saturate` the sum of all products and d is clamped,
/// otherwise it wraps around.
void addIntegerRow(const MmaTile &tile, const IntegerFormat &a,
                   const IntegerFormat &b, bool saturate, unsigned i,
                   int32_t *d);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_INTEGERPRODUCT_H
