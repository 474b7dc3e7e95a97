//===- IntrinsicsTile.cpp - A tile written by hand --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets of 32 columns, chunks of 512 of K: scales as f32 and weights as unsigned
// bytes go to a buffer that fits the first-level cache, and tiles of 8 rows run
// over it with 16 accumulators in registers.
//
//===----------------------------------------------------------------------===//

#include "IntrinsicsTile.h"

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include <algorithm>
#include <immintrin.h>

#define NVFP4_TARGET                                                           \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,"         \
                        "avx512vbmi,avx512vnni")))

namespace {
constexpr int64_t kPanel = 64, kSet = 32, kRows = 8, kChunk = 512;
/// Values, minus 12 times their sum plus the bits of kSumOffset,
/// and the scale of one row and block.
constexpr int64_t kRowBlock = 16 + 4 + 4;

/// 2 * e2m1 + 12, four times.
alignas(64) constexpr uint8_t kTable[64] = {
    12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0,
    12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0,
    12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0,
    12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/// 16 bytes of each of 16 columns; result d has bytes 4d to 4d + 3 of a column
/// in its lane.
NVFP4_TARGET inline __attribute__((always_inline)) void
transpose(const uint8_t *from, const int64_t *offsets, __m512i out[4]) {
  __m512i row[4];
  for (int i = 0; i < 4; ++i) {
    auto load = [&](int column) NVFP4_TARGET {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i *>(from + offsets[column]));
    };
    __m512i all = _mm512_castsi128_si512(load(i));
    all = _mm512_inserti32x4(all, load(4 + i), 1);
    all = _mm512_inserti32x4(all, load(8 + i), 2);
    row[i] = _mm512_inserti32x4(all, load(12 + i), 3);
  }
  __m512i low01 = _mm512_unpacklo_epi32(row[0], row[1]);
  __m512i high01 = _mm512_unpackhi_epi32(row[0], row[1]);
  __m512i low23 = _mm512_unpacklo_epi32(row[2], row[3]);
  __m512i high23 = _mm512_unpackhi_epi32(row[2], row[3]);
  out[0] = _mm512_unpacklo_epi64(low01, low23);
  out[1] = _mm512_unpackhi_epi64(low01, low23);
  out[2] = _mm512_unpacklo_epi64(high01, high23);
  out[3] = _mm512_unpackhi_epi64(high01, high23);
}

/// A line of each of 16 columns every four steps, a quarter of them a step.
NVFP4_TARGET inline __attribute__((always_inline)) void
prefetch(const uint8_t *from, const int64_t *offsets, int64_t step) {
  const int64_t *own = offsets + 4 * (step & 3);
  for (int i = 0; i < 4; ++i)
    _mm_prefetch(reinterpret_cast<const char *>(from + own[i]), _MM_HINT_T0);
}

/// f32 [block][32 columns] of blocks in multiples of 16.
NVFP4_TARGET void decodeScales(const uint8_t *from, const int64_t *offsets,
                               int64_t blocks, float *panel) {
  const __m512 bias = _mm512_set1_ps(0x1p120f);
  for (int64_t block = 0; block < blocks; block += 16)
    for (int64_t group = 0; group < 2; ++group) {
      __m512i words[4];
      transpose(from + block, offsets + 16 * group, words);
      for (int w = 0; w < 4; ++w)
        for (int s = 0; s < 4; ++s) {
          __m512i code = _mm512_and_si512(_mm512_srli_epi32(words[w], 8 * s),
                                          _mm512_set1_epi32(0x7F));
          __m512 scale = _mm512_mul_ps(
              _mm512_castsi512_ps(_mm512_slli_epi32(code, 20)), bias);
          _mm512_storeu_ps(panel + (block + 4 * w + s) * kSet + 16 * group,
                           scale);
        }
    }
}

/// [block][16 columns twice][four bytes of K four times].
NVFP4_TARGET void decodeWeights(const uint8_t *from, const int64_t *offsets,
                                const uint8_t *next, const int64_t *nextOffsets,
                                int64_t steps, uint8_t *panel) {
  const __m512i table = _mm512_load_si512(kTable);
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t group = 0; group < 2; ++group) {
      prefetch(next + 16 * (step & ~int64_t(3)), nextOffsets + 16 * group,
               step);
      __m512i dwords[4];
      transpose(from + 16 * step, offsets + 16 * group, dwords);
      for (int d = 0; d < 4; ++d) {
        uint8_t *to =
            panel + 1024 * step + 512 * (d / 2) + 256 * group + 128 * (d % 2);
        _mm512_storeu_si512(to, _mm512_permutexvar_epi8(dwords[d], table));
        _mm512_storeu_si512(
            to + 64,
            _mm512_permutexvar_epi8(_mm512_srli_epi16(dwords[d], 4), table));
      }
    }
}

NVFP4_TARGET void multiply(const uint8_t *rows, int64_t blocks,
                           const float *scales, const uint8_t *panel,
                           float *accumulator) {
  __m512 acc[kRows][2];
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < 2; ++g)
      acc[r][g] = _mm512_loadu_ps(accumulator + r * kPanel + 16 * g);
  for (int64_t block = 0; block < blocks; ++block) {
    __m512i weights[2][4];
    for (int g = 0; g < 2; ++g)
      for (int d = 0; d < 4; ++d)
        weights[g][d] = _mm512_loadu_si512(panel + 256 * g + 64 * d);
    __m512 scale[2] = {_mm512_loadu_ps(scales), _mm512_loadu_ps(scales + 16)};
    const __m512 minusOffset = _mm512_set1_ps(-nvfp4::gsg::cpu::kSumOffset);
    __m512 offset[2] = {_mm512_mul_ps(scale[0], minusOffset),
                        _mm512_mul_ps(scale[1], minusOffset)};
    const auto *values = reinterpret_cast<const int32_t *>(rows);
    const auto *bias = reinterpret_cast<const int32_t *>(rows + 16 * kRows);
    const auto *rowScale = reinterpret_cast<const float *>(rows + 20 * kRows);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      for (int g = 0; g < 2; ++g) {
        __m512i sum = _mm512_set1_epi32(bias[r]);
        for (int d = 0; d < 4; ++d)
          sum = _mm512_dpbusd_epi32(sum, weights[g][d],
                                    _mm512_set1_epi32(values[4 * r + d]));
        __m512 scaled =
            _mm512_fmadd_ps(_mm512_castsi512_ps(sum), scale[g], offset[g]);
        acc[r][g] =
            _mm512_fmadd_ps(scaled, _mm512_set1_ps(rowScale[r]), acc[r][g]);
      }
    rows += kRows * kRowBlock;
    panel += 512;
    scales += kSet;
  }
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < 2; ++g)
      _mm512_storeu_ps(accumulator + r * kPanel + 16 * g, acc[r][g]);
}
} // namespace

bool nvfp4::bench::hasIntrinsicsTile() {
  return __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

void nvfp4::bench::intrinsicsTile(const void *prepared, int64_t rows, int64_t k,
                                  const void *data, const void *scales,
                                  const int64_t *columnData,
                                  const int64_t *columnScales,
                                  const int64_t *nextColumnData,
                                  const int64_t *, float *accumulator) {
  alignas(64) static thread_local uint8_t panel[kSet * kChunk];
  alignas(64) static thread_local float scalePanel[kSet * kChunk / 16];
  const auto *rowBytes = static_cast<const uint8_t *>(prepared);
  const auto *weightBytes = static_cast<const uint8_t *>(data);
  const auto *scaleBytes = static_cast<const uint8_t *>(scales);
  std::fill_n(accumulator, rows * kPanel, 0.0f);
  for (int64_t set = 0; set < kPanel; set += kSet)
    for (int64_t first = 0; first < k; first += kChunk) {
      int64_t size = std::min(kChunk, k - first);
      const int64_t *next =
          set + kSet < kPanel ? columnData + set + kSet : nextColumnData;
      decodeScales(scaleBytes + first / 16, columnScales + set, size / 16,
                   scalePanel);
      decodeWeights(weightBytes + first / 2, columnData + set,
                    weightBytes + first / 2, next, size / 32, panel);
      for (int64_t row = 0; row < rows; row += kRows)
        multiply(rowBytes + (row * (k / 16) + kRows * (first / 16)) * kRowBlock,
                 size / 16, scalePanel, panel,
                 accumulator + row * kPanel + set);
    }
}
