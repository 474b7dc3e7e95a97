//===- RoofBenchmark.cpp - What this CPU can do -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of one exact block of 16 for one row and 16 columns, in
// registers: four vpdpbusd and two FMA, one for each scale, for 512 operations.
// It is the shortest sequence known for this instruction set: two instructions
// a cycle make 170.7 operations. The same for AVX2: for 8 columns four
// vpmaddubsw, three sums, vpmaddwd, a sum and two FMA. For rows of bf16,
// products of pairs by vdpbf16ps, and of single elements by FMA, of which the
// faster counts. And how fast memory is read, by one and by two threads: front
// to back, with and without asking for lines ahead, and 16 pages at a time; the
// fastest counts.
//
//===----------------------------------------------------------------------===//

#include "WholeCore.h"

#include "benchmark/benchmark.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

using namespace nvfp4;

namespace {
constexpr int64_t kSteps = 20000, kChains = 8;
/// Block sums are the bits of this number plus the sum: kSumOffset of
/// KernelSpec.h, which needs LLVM.
constexpr float kSumOffset = 0x1.8p23f;

/// Hides from the compiler what a register holds.
#define NVFP4_OPAQUE(x) asm volatile("" : "+v"(x))

/// Of all chains, so that none is dead.
template <typename Vector, size_t count>
float addLanes(const Vector (&sums)[count]) {
  float lanes[count * (sizeof(Vector) / sizeof(float))];
  std::memcpy(lanes, sums, sizeof(sums));
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0f);
}

__attribute__((target("avx512f,avx512vnni"))) float runChains() {
  __m512 sums[kChains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512i rows = _mm512_set1_epi8(3), weights = _mm512_set1_epi8(1);
  __m512 rowScale = _mm512_set1_ps(0.5f), weightScale = _mm512_set1_ps(0.25f);
  __m512 offset = _mm512_set1_ps(-0.25f * kSumOffset);
  const __m512i start = _mm512_castps_si512(_mm512_set1_ps(kSumOffset));
  for (int64_t step = 0; step < kSteps; ++step) {
    NVFP4_OPAQUE(rows);
    NVFP4_OPAQUE(weights);
    for (__m512 &sum : sums) {
      NVFP4_OPAQUE(rowScale);
      __m512i block = start;
      NVFP4_OPAQUE(block);
      for (int dot = 0; dot < 4; ++dot) {
        block = _mm512_dpbusd_epi32(block, rows, weights);
        NVFP4_OPAQUE(block);
      }
      __m512 scaled =
          _mm512_fmadd_ps(_mm512_castsi512_ps(block), weightScale, offset);
      sum = _mm512_fmadd_ps(scaled, rowScale, sum);
    }
  }
  return addLanes(sums);
}

/// Two chains of each, for what waits longest.
__attribute__((target("avx512f,avx512bf16"))) float runPairChains() {
  __m512 sums[2 * kChains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512i rows = _mm512_set1_epi32(0x3F803F80), weights = rows;
  for (int64_t step = 0; step < kSteps; ++step) {
    NVFP4_OPAQUE(rows);
    NVFP4_OPAQUE(weights);
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(rows),
                             reinterpret_cast<__m512bh>(weights));
      NVFP4_OPAQUE(sum);
    }
  }
  return addLanes(sums);
}

__attribute__((target("avx512f"))) float runFmaChains() {
  __m512 sums[2 * kChains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  __m512 rows = _mm512_set1_ps(0.5f), weights = _mm512_set1_ps(0.25f);
  for (int64_t step = 0; step < kSteps; ++step) {
    NVFP4_OPAQUE(rows);
    NVFP4_OPAQUE(weights);
    for (__m512 &sum : sums) {
      sum = _mm512_fmadd_ps(rows, weights, sum);
      NVFP4_OPAQUE(sum);
    }
  }
  return addLanes(sums);
}

__attribute__((target("avx2,fma"))) float runAvx2Chains() {
  __m256 sums[kChains];
  for (__m256 &sum : sums)
    sum = _mm256_setzero_ps();
  __m256i rows = _mm256_set1_epi8(3), weights = _mm256_set1_epi8(1);
  __m256 rowScale = _mm256_set1_ps(0.5f), weightScale = _mm256_set1_ps(0.25f);
  __m256 offset = _mm256_set1_ps(-0.25f * kSumOffset);
  const __m256i start = _mm256_castps_si256(_mm256_set1_ps(kSumOffset));
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t step = 0; step < kSteps; ++step)
    for (__m256 &sum : sums) {
      NVFP4_OPAQUE(rowScale);
      __m256i words = _mm256_setzero_si256(), bias = start;
      for (int dot = 0; dot < 4; ++dot) {
        NVFP4_OPAQUE(rows);
        __m256i pairs = _mm256_maddubs_epi16(weights, rows);
        words = dot ? _mm256_add_epi16(words, pairs) : pairs;
      }
      NVFP4_OPAQUE(bias);
      __m256i block = _mm256_add_epi32(_mm256_madd_epi16(words, ones), bias);
      __m256 scaled =
          _mm256_fmadd_ps(_mm256_castsi256_ps(block), weightScale, offset);
      sum = _mm256_fmadd_ps(scaled, rowScale, sum);
    }
  return addLanes(sums);
}

/// On as many threads as the benchmark asks for.
template <typename Run> void runShared(benchmark::State &state, Run run) {
  const int threads = static_cast<int>(state.range(0));
  bench::measure(state, threads, [&] {
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back([&, thread] { run(thread); });
    run(0);
    for (std::thread &other : others)
      other.join();
  });
}

template <typename Run>
void runRoof(benchmark::State &state, Run run, double operations) {
  // Long enough for what it takes to start a thread not to count.
  const int rounds = state.range(0) == 1 ? 1 : 40;
  runShared(state, [&](int) {
    for (int round = 0; round < rounds; ++round)
      benchmark::DoNotOptimize(run());
  });
  state.counters["gflops"] =
      benchmark::Counter(operations * 1e-9 * kSteps * kChains * rounds *
                             static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate);
}

constexpr size_t kReadBytes = size_t(256) << 20;

/// Reads all of it; `ahead` bytes are asked for early, 0 for none.
template <size_t ahead>
__attribute__((target("avx2"))) void readMemory(const char *data,
                                                size_t bytes) {
  __m256i all[4] = {};
  for (size_t at = 0; at < bytes; at += 128) {
    if (ahead)
      for (size_t line = 0; line < 128; line += 64)
        _mm_prefetch(data + at + ahead + line, _MM_HINT_T1);
    for (size_t i = 0; i < 4; ++i)
      all[i] = _mm256_or_si256(
          all[i], _mm256_load_si256(
                      reinterpret_cast<const __m256i *>(data + at + 32 * i)));
  }
  for (__m256i &part : all)
    NVFP4_OPAQUE(part);
}

/// Reads all of it, 16 pages side by side: CPUs that fetch ahead do so for each
/// page, and of one they fetch few lines.
__attribute__((target("avx2"))) void readPages(const char *data, size_t bytes) {
  constexpr size_t page = 4096, pages = 16;
  __m256i all[2] = {};
  for (size_t at = 0; at < bytes; at += pages * page)
    for (size_t line = 0; line < page; line += 64)
      for (size_t i = 0; i < pages; ++i)
        for (size_t half = 0; half < 2; ++half)
          all[half] = _mm256_or_si256(
              all[half], _mm256_load_si256(reinterpret_cast<const __m256i *>(
                             data + at + i * page + line + 32 * half)));
  for (__m256i &part : all)
    NVFP4_OPAQUE(part);
}

using Read = void (*)(const char *data, size_t bytes);

void runRead(benchmark::State &state, Read read) {
  const auto threads = static_cast<size_t>(state.range(0));
  // The hints go past the end.
  static std::vector<char> memory(kReadBytes + 8192, 1);
  const char *data = memory.data() +
                     (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096);
  const size_t part = kReadBytes / threads;
  runShared(state, [&](int thread) {
    read(data + static_cast<size_t>(thread) * part, part);
  });
  state.counters["gbs"] =
      benchmark::Counter(1e-9 * static_cast<double>(kReadBytes),
                         benchmark::Counter::kIsIterationInvariantRate);
}
} // namespace

int main(int argc, char **argv) {
  auto add = [](const char *name, auto run) {
    return benchmark::RegisterBenchmark(name, run)
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime();
  };
  if (__builtin_cpu_supports("avx512vnni"))
    add("int8_roof",
        [](benchmark::State &state) { runRoof(state, runChains, 512); })
        ->Arg(1)
        ->Arg(2)
        ->ArgName("threads");
  else
    std::fprintf(stderr, "this CPU has no AVX-512 VNNI\n");
  // 16 chains of 16 columns: 64 and 32 operations an instruction.
  if (__builtin_cpu_supports("avx512bf16"))
    add("bf16_roof_pairs",
        [](benchmark::State &state) { runRoof(state, runPairChains, 128); })
        ->Arg(1)
        ->ArgName("threads");
  if (__builtin_cpu_supports("avx512f"))
    add("bf16_roof_fma",
        [](benchmark::State &state) { runRoof(state, runFmaChains, 64); })
        ->Arg(1)
        ->ArgName("threads");
  if (__builtin_cpu_supports("avx2")) {
    add("int8_roof_avx2",
        [](benchmark::State &state) { runRoof(state, runAvx2Chains, 256); })
        ->Arg(1)
        ->ArgName("threads");
    for (auto [name, read] :
         std::initializer_list<std::pair<const char *, Read>>{
             {"dram_read_ahead0", readMemory<0>},
             {"dram_read_ahead2048", readMemory<2048>},
             {"dram_read_ahead4096", readMemory<4096>},
             {"dram_read_pages16", readPages}})
      add(name,
          [read = read](benchmark::State &state) { runRead(state, read); })
          ->Arg(1)
          ->Arg(2)
          ->ArgName("threads");
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
