//===- IntrinsicsTile.h - A tile written by hand ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The NVFP4 kernel for AVX-512 VNNI as a person would write it with intrinsics,
// for comparison with the compiled one: the same shapes, layouts and bits.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_BENCHMARKS_CPU_INTRINSICSTILE_H
#define NVFP4_BENCHMARKS_CPU_INTRINSICSTILE_H

#include <cstdint>

namespace nvfp4::bench {

/// True if this CPU runs intrinsicsTile.
bool hasIntrinsicsTile();

/// As `gemmTile` of Kernels.h for NVFP4 with linear scales, for whole panels of
/// 64 columns, rows in multiples of 8, K in multiples of 256, finite scales and
/// phase 0. The scratch memory is the function's own.
void intrinsicsTile(const void *prepared, int64_t rows, int64_t k,
                    const void *data, const void *scales,
                    const int64_t *columnData, const int64_t *columnScales,
                    const int64_t *nextColumnData,
                    const int64_t *nextColumnScales, float *accumulator);

} // namespace nvfp4::bench

#endif // NVFP4_BENCHMARKS_CPU_INTRINSICSTILE_H
