//===- RoofBenchmark.cpp - what the int8 units of this CPU can do ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of one exact block of 16 for one row and 16 columns, in
// registers: four vpdpbusd, a conversion, the product of the scales and an FMA
// for 512 operations. No NVFP4 product on this instruction set is faster.
//
//===----------------------------------------------------------------------===//

#include "benchmark/benchmark.h"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <immintrin.h>

namespace {
constexpr int64_t kSteps = 20000, kChains = 8;

/// Hides from the compiler what a register holds.
#define NVFP4_OPAQUE(x) asm volatile("" : "+v"(x))

using Words = int32_t __attribute__((vector_size(64)));

/// _mm512_cvtepi32_ps, about which g++ warns.
__attribute__((target("avx512f"), always_inline)) inline __m512
toFloat(__m512i block) {
  return __builtin_convertvector(reinterpret_cast<Words>(block), __m512);
}

__attribute__((target("avx512f,avx512vnni"))) float runChains() {
  __m512 sums[kChains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512i rows = _mm512_set1_epi8(3), weights = _mm512_set1_epi8(1);
  __m512 rowScale = _mm512_set1_ps(0.5f), weightScale = _mm512_set1_ps(0.25f);
  for (int64_t step = 0; step < kSteps; ++step) {
    NVFP4_OPAQUE(rows);
    NVFP4_OPAQUE(weights);
    for (__m512 &sum : sums) {
      NVFP4_OPAQUE(rowScale);
      __m512i block = _mm512_setzero_si512();
      NVFP4_OPAQUE(block);
      for (int dot = 0; dot < 4; ++dot) {
        block = _mm512_dpbusd_epi32(block, rows, weights);
        NVFP4_OPAQUE(block);
      }
      __m512 scale = _mm512_mul_ps(rowScale, weightScale);
      sum = _mm512_fmadd_ps(toFloat(block), scale, sum);
    }
  }
  float total = 0, lanes[16];
  for (__m512 &sum : sums) {
    _mm512_storeu_ps(lanes, sum);
    for (float lane : lanes)
      total += lane;
  }
  return total;
}

/// Time of this thread, which others on the machine do not take away.
double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

void runRoof(benchmark::State &state) {
  for (auto _ : state) {
    double start = cpuSeconds();
    benchmark::DoNotOptimize(runChains());
    state.SetIterationTime(cpuSeconds() - start);
  }
  state.counters["gflops"] = benchmark::Counter(
      512e-9 * kSteps * kChains, benchmark::Counter::kIsIterationInvariantRate);
}
} // namespace

int main(int argc, char **argv) {
  if (__builtin_cpu_supports("avx512vnni"))
    benchmark::RegisterBenchmark("int8_roof/threads:1", runRoof)
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime();
  else
    std::fprintf(stderr, "this CPU has no AVX-512 VNNI\n");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
