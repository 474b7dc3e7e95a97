//===- CpuIsa.cpp - Instruction sets of the host ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction set by which compiled code chooses its kernels: the fastest
// of this CPU, or what NVFP4_CPU_ISA says as far as the CPU has it.
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "nvfp4/Runtime/PairSpeed.h"
#include "nvfp4/Runtime/TilePermission.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace nvfp4::runtime;

static constexpr const char *kNames[] = {"generic", "avx2", "avx512vnni",
                                         "avx512bf16", "amx"};
static constexpr int kVNNI = 2, kBF16 = 3, kAMX = 4;

/// Whether the CPU has tiles with products of bf16 and the system saves them.
static bool hasTiles() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  constexpr unsigned bf16 = 1u << 22, fp16 = 1u << 23, tile = 1u << 24;
  constexpr unsigned all = bf16 | fp16 | tile;
  if ((d & all) != all)
    return false;
  // AVX-512, which has been found, implies that XGETBV is there.
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned saved = 3u << 17;
  return (low & saved) == saved;
#else
  return false;
#endif
}

static int detect() {
#if defined(__x86_64__)
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
  if (!avx2)
    return 0;
  bool avx512 = __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512vbmi") &&
                __builtin_cpu_supports("avx512vnni");
  if (!avx512)
    return 1;
  if (!__builtin_cpu_supports("avx512bf16"))
    return kVNNI;
  return hasTiles() ? kAMX : kBF16;
#else
  return 0;
#endif
}

extern "C" const char *nvfp4_cpu_isa_name(int isa) {
  return isa >= 0 && isa < static_cast<int>(std::size(kNames)) ? kNames[isa]
                                                               : nullptr;
}

extern "C" nvfp4_status nvfp4_choose_cpu_isa(int *isa) try {
  static const int best = detect();
  if (!isa)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a place for the instruction set, but got null");
  // Asked for only where it is used.
  auto mayUseTiles = [] {
    static std::atomic<int> tiles = -1;
    if (best == kAMX && tiles < 0)
      tiles = requestTiles();
    return tiles > 0;
  };
  auto chooseBest = [&] {
    if (mayUseTiles())
      return kAMX;
    // CPUID takes microseconds in a virtual machine.
    static const int withoutTiles =
        best >= kBF16 ? (hasFastPairs() ? kBF16 : kVNNI) : best;
    return withoutTiles;
  };
  const char *wanted = std::getenv("NVFP4_CPU_ISA");
  if (!wanted || !*wanted) {
    *isa = chooseBest();
    return NVFP4_OK;
  }
  auto found =
      std::find(std::begin(kNames), std::end(kNames), std::string_view(wanted));
  if (found == std::end(kNames)) {
    *isa = 0;
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected generic, avx2, avx512vnni, avx512bf16 or amx in "
                "NVFP4_CPU_ISA, but got '" +
                    std::string(wanted) + "'");
  }
  int level = static_cast<int>(found - std::begin(kNames));
  *isa = level < kAMX ? std::min(best, level) : chooseBest();
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" int nvfp4_cpu_isa(void) {
  int isa = 0;
  nvfp4_choose_cpu_isa(&isa);
  return isa;
}
