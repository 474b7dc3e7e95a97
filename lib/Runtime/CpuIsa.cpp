//===- CpuIsa.cpp - Instruction sets of the host ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction set by which compiled code chooses its kernels: the best of
// this CPU, which NVFP4_CPU_ISA may lower but never raise.
//
//===----------------------------------------------------------------------===//

#include "Error.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace nvfp4::runtime;

static constexpr const char *kNames[] = {"generic", "avx2", "avx512vnni",
                                         "avx512bf16"};

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
  return __builtin_cpu_supports("avx512bf16") ? 3 : 2;
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
  *isa = best;
  const char *wanted = std::getenv("NVFP4_CPU_ISA");
  if (!wanted || !*wanted)
    return NVFP4_OK;
  auto found =
      std::find(std::begin(kNames), std::end(kNames), std::string_view(wanted));
  if (found == std::end(kNames)) {
    *isa = 0;
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected generic, avx2, avx512vnni or avx512bf16 in "
                "NVFP4_CPU_ISA, but got '" +
                    std::string(wanted) + "'");
  }
  *isa = std::min(best, static_cast<int>(found - std::begin(kNames)));
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" int nvfp4_cpu_isa(void) {
  int isa = 0;
  nvfp4_choose_cpu_isa(&isa);
  return isa;
}
