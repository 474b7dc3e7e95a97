//===- MmaTile.h - operands of one tile -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The codes and scales that one instruction multiplies, and the instruction
// sets that the loops over them exist for.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_MMATILE_H
#define NVFP4_SIMULATOR_TENSORCORE_MMATILE_H

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <cstdint>
#include <vector>

namespace nvfp4::sim {

/// One scale: significand / 8 * 2^exponent.
struct BlockScale {
  int8_t significand = 8;
  int16_t exponent = 0;
  bool nan = false;
};
BlockScale decodeScaleUE4M3(uint8_t code);
BlockScale decodeScaleUE8M0(uint8_t code);

/// Bytes a code of `format` takes in MmaMatrix: 1, 2, or 4 for tf32.
constexpr unsigned codeBytes(const FloatFormat &format) {
  unsigned bits = 1 + format.exponentBits + format.mantissaBits;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}

/// One operand, row-major: rows of K codes, and for each row its scales (one
/// for each block of K; none when not scaled).
struct MmaMatrix {
  unsigned rows = 0;
  FloatFormat format{};
  /// All elements are multiplied by -1.
  bool negate = false;
  /// rows * k codes of codeBytes(format) bytes each.
  std::vector<uint8_t> codes;
  std::vector<BlockScale> scales;

  /// Makes room for `count` rows of `k` codes.
  void resize(unsigned count, unsigned k) {
    rows = count;
    codes.resize(size_t{count} * k * codeBytes(format));
  }
  uint32_t code(size_t i) const;
  void setCode(size_t i, uint32_t code);
};

/// Operands of one tile.
struct MmaTile {
  unsigned k = 0;
  MmaMatrix a;
  MmaMatrix b;
  /// Where A is sparse: for each of its codes, k / 2 in a row, the position
  /// along K. Elements of B that no code of a row meets are not multiplied, NaN
  /// or not. Empty for a dense A.
  std::vector<uint16_t> positions;
  /// Elements that share a scale; 0 without scales.
  unsigned block = 0;
  /// fp4 kinds: exact dot products of 16 codes of A are what is aligned.
  bool groupsOf16 = false;
  /// Other kinds, aligned model: fraction bits that terms are truncated to, and
  /// mantissa bits of the results; 13 and 13 for fp8 of wgmma.
  int fraction = 25;
  int resultMantissa = 23;

  /// Codes in a row of A.
  unsigned codesOfA() const { return positions.empty() ? k : k / 2; }
  /// Position along K of code `i` of row `row` of A.
  unsigned position(unsigned row, unsigned i) const {
    return positions.empty() ? i : positions[size_t{row} * (k / 2) + i];
  }
};

/// Instruction sets of the aligned model's inner loops. All give the same
/// bits.
enum class VectorLevel : uint8_t { Portable, Avx2, Avx512 };
/// The best level of this processor.
VectorLevel bestVectorLevel();

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_MMATILE_H
