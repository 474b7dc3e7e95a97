//===- AlignedLanes.h - vectors of eight lanes -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiler vectors, for the bodies of the inner loops: each body is inlined
// into one function for each instruction set. Nothing here may become a real
// call, because vectors are passed differently by instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNEDLANES_H
#define NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNEDLANES_H

#include "../VectorTarget.h"
#include "Aligned.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace nvfp4::sim::aligned {

using Ints = int32_t __attribute__((vector_size(32), may_alias));
using Floats = float __attribute__((vector_size(32), may_alias));
using Longs = int64_t __attribute__((vector_size(64), may_alias));
using Doubles = double __attribute__((vector_size(64), may_alias));

NVFP4_SIM_INLINE Ints load(const Block<int32_t> &block) {
  return *reinterpret_cast<const Ints *>(block.lane);
}
NVFP4_SIM_INLINE Doubles load(const Block<double> &block) {
  return *reinterpret_cast<const Doubles *>(block.lane);
}
NVFP4_SIM_INLINE Ints larger(Ints a, Ints b) { return a > b ? a : b; }

/// Exponents of finite f32 values, -126 for zeros and subnormal ones.
NVFP4_SIM_INLINE Ints exponentsOf(Floats values) {
  Ints field = (Ints)values >> 23 & 255;
  return larger(field, field * 0 + 1) - 127;
}

/// 2^e.
NVFP4_SIM_INLINE Doubles powersOfTwo(Ints e) {
  return (Doubles)(__builtin_convertvector(e + 1023, Longs) << 52);
}

NVFP4_SIM_INLINE Longs truncated(Doubles x) {
  return __builtin_convertvector(x, Longs);
}

/// sum * scale truncated toward zero to f32. Beyond the range: infinity from
/// 2^128 on if `overflows`, else the largest finite value.
NVFP4_SIM_INLINE Floats truncatedToFloat(Longs sum, Doubles scale,
                                         bool overflows) {
  Doubles exact = __builtin_convertvector(sum, Doubles) * scale;
  Floats nearest = __builtin_convertvector(exact, Floats);
  // One step back where rounding to nearest went away from zero.
  Longs magnitude = (Longs)exact & INT64_MAX;
  Longs rounded = (Longs) __builtin_convertvector(nearest, Doubles) & INT64_MAX;
  const int64_t kept = overflows ? int64_t{1151} << 52 : INT64_MAX;
  Ints away =
      __builtin_convertvector((rounded > magnitude) & (magnitude < kept), Ints);
  return (Floats)((Ints)nearest + away);
}

/// The function of `level`. Off x86 all three are the same code.
template <typename Row>
Row rowOf(VectorLevel level, Row portable, Row avx2, Row avx512) {
  switch (level) {
  case VectorLevel::Avx512:
    return avx512;
  case VectorLevel::Avx2:
    return avx2;
  case VectorLevel::Portable:
    break;
  }
  return portable;
}

/// `result`, which is sum * scale cut to f32, with its last bit set where bits
/// were lost.
NVFP4_SIM_INLINE Floats oddWhereInexact(Floats result, Longs sum,
                                        Doubles scale) {
  Doubles exact = __builtin_convertvector(sum, Doubles) * scale;
  Longs lost = __builtin_convertvector(result, Doubles) != exact;
  return (Floats)((Ints)result | (__builtin_convertvector(lost, Ints) & 1));
}

} // namespace nvfp4::sim::aligned

#endif // NVFP4_LIB_SIMULATOR_TENSORCORE_ALIGNEDLANES_H
