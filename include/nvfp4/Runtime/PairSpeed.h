//===- PairSpeed.h - whether vdpbf16ps is worth it --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vdpbf16ps does the work of two f32 fma. The CPUs of Intel that were measured
// run it a quarter as often as an fma, so that two fma are twice as fast; those
// of AMD are taken to run it as often (docs/Rationale/CpuRows.md). Shared by
// the compiler, which runs what it compiles, and the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_RUNTIME_PAIRSPEED_H
#define NVFP4_RUNTIME_PAIRSPEED_H

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nvfp4::runtime {

/// Whether kernels with vdpbf16ps are the faster ones here; the CPU has to have
/// it.
inline bool hasFastPairs() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // The first letters of "GenuineIntel".
  return __get_cpuid(0, &a, &b, &c, &d) && b != signature_INTEL_ebx;
#else
  return false;
#endif
}

} // namespace nvfp4::runtime

#endif // NVFP4_RUNTIME_PAIRSPEED_H
