//===- Accumulate.h - matrix multiplication with selectable accumulation --===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D = A * B^T + C for one instruction's tile, in the accumulation models of
// docs/Simulator.md. Operands are decoded elements; layouts are elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H
#define NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H

#include "nvfp4/Simulator/Machine/Launch.h"
#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <vector>

namespace nvfp4::sim {

/// value = significand * 2^(exponent - mantissaBits of the format). Infinities
/// and NaN have `special` set and are evaluated from `value`.
struct Element {
  int16_t significand = 0;
  int16_t exponent = 0;
  bool special = false;
  float value = 0;
};

/// Decodes element codes.
Element decodeElement(uint32_t code, const FloatFormat &format, bool negate);

/// One scale: significand / 8 * 2^exponent.
struct BlockScale {
  int8_t significand = 8;
  int16_t exponent = 0;
  bool nan = false;
};
BlockScale decodeScaleUE4M3(uint8_t code);
BlockScale decodeScaleUE8M0(uint8_t code);

/// Operands of one tile, row-major: a[rows * k], b[columns * k], and scales for
/// each `block` elements of K (empty when not scaled).
struct MmaTile {
  unsigned rows = 0;
  unsigned columns = 0;
  unsigned k = 0;
  unsigned aMantissa = 0;
  unsigned bMantissa = 0;
  std::vector<Element> a;
  std::vector<Element> b;
  unsigned block = 0;
  std::vector<BlockScale> aScale;
  std::vector<BlockScale> bScale;
  /// fp4 kinds: exact dot products of 16 elements are what is aligned.
  bool groupsOf16 = false;
};

/// Adds the products to `d` (rows * columns, the accumulator as f32 values).
/// With `f16Result` each result is rounded to f16.
void accumulate(const MmaTile &tile, Accumulation mode, bool f16Result,
                std::vector<float> &d);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H
