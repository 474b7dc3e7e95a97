//===- Hadamard.h - the 16-point Hadamard transform -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x * diag(s) * H16 (* 1/4), with the Sylvester matrix H16[i][j] =
// (-1)^popcount(i & j) and signs s. Applied along the reduction dimension of
// both operands of a product, the normalised form leaves the product unchanged;
// the plain form multiplies it by 16.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_HADAMARD_H
#define NVFP4_FORMAT_HADAMARD_H

#include <cstdint>
#include <span>

namespace nvfp4::format {

/// The sign mask of Transformer Engine's random Hadamard transform.
inline constexpr uint16_t kHadamardMaskTE = 0xd7e8;

/// Which of the conventions of 16-point transforms is meant.
struct HadamardParams {
  /// Multiply by 1/4, which makes the matrix orthogonal.
  bool normalized = true;
  /// Bit i set negates input i before the transform.
  uint16_t signMask = 0;
};

/// Transforms 16 values in place. Sums are formed by butterflies at distance
/// 1, 2, 4, 8, each addition rounded in T; the factor 1/4 comes last.
template <typename T>
constexpr void hadamard16(std::span<T, 16> x, HadamardParams params) {
  for (unsigned i = 0; i < 16; ++i)
    if ((params.signMask >> i & 1) != 0)
      x[i] = -x[i];
  for (unsigned distance = 1; distance < 16; distance *= 2) {
    for (unsigned i = 0; i < 16; ++i) {
      if ((i & distance) != 0)
        continue;
      T low = x[i];
      T high = x[i + distance];
      x[i] = low + high;
      x[i + distance] = low - high;
    }
  }
  if (params.normalized)
    for (unsigned i = 0; i < 16; ++i)
      x[i] = x[i] * T(0.25);
}

/// Transforms consecutive runs of 16 values in place; false when the length is
/// not a multiple of 16.
template <typename T>
[[nodiscard]] constexpr bool hadamard16Rows(std::span<T> x,
                                            HadamardParams params) {
  if (x.size() % 16 != 0)
    return false;
  for (uint64_t i = 0; i < x.size(); i += 16)
    hadamard16(std::span<T, 16>(x.data() + i, 16), params);
  return true;
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_HADAMARD_H
