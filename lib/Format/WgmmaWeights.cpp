//===- WgmmaWeights.cpp - Scales and blocks of NVFP4 for Hopper -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole matrix in one piece, and back again.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaWeights.h"
#include "nvfp4/Format/WgmmaBlock.h"

#include "nvfp4/Format/Packing.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace nvfp4::format::wgmma {
namespace {

constexpr uint8_t kScaleNan = 0x7F;

/// The codes of a register of the decoder, `half` 0 or 1.
uint8_t displaced(uint32_t value, int half) {
  value >>= 16 * half;
  return static_cast<uint8_t>((value >> 12 & 8) | (value >> 6 & 7));
}

/// Four registers of wgmma's A operand, two codes in each.
struct Step {
  uint32_t registers[4];
};

void unpackSteps(uint32_t x, uint32_t y, Step &first, Step &second) {
  uint32_t pool = (x & kPoolMask) | (std::rotl(y, kPoolShift) & ~kPoolMask);
  for (int i = 0; i < 3; ++i) {
    first.registers[i] = std::rotl(x, kRotations[i]) & kValueMask;
    second.registers[i] = std::rotl(y, kRotations[i]) & kValueMask;
  }
  first.registers[3] = std::rotl(pool, kPoolRotations[0]) & kValueMask;
  second.registers[3] = std::rotl(pool, kPoolRotations[1]) & kValueMask;
}

int64_t blocks(int64_t extent, int64_t size) {
  return (extent + size - 1) / size;
}

} // namespace

uint8_t packScale(uint8_t scale) {
  assert(scale < 0x80 && "expected an unsigned scale");
  if (scale == 0)
    return 0;
  if (scale == kScaleNan)
    return kPackedNan;
  uint32_t exponent = scale >> 3, mantissa = scale & 7;
  if (exponent != 0)
    return static_cast<uint8_t>((exponent + 15) << 3 | mantissa);
  // m * 2^-9 is 2^(top - 9) times a mantissa of three bits.
  auto top = static_cast<uint32_t>(std::bit_width(mantissa)) - 1;
  return static_cast<uint8_t>((13 + top) << 3 | (mantissa << (3 - top) & 7));
}

uint8_t unpackScale(uint8_t byte) {
  for (int scale = 0; scale < kScaleNan; ++scale)
    if (packScale(static_cast<uint8_t>(scale)) == byte)
      return static_cast<uint8_t>(scale);
  return kScaleNan;
}

int64_t storageBytes(int64_t rows, int64_t columns) {
  return blocks(rows, kBlockRows) * blocks(columns, kBlockColumns) *
         kBlockBytes;
}

bool pack(std::span<const uint8_t> codes, std::span<const uint8_t> scales,
          int64_t rows, int64_t columns, std::span<uint8_t> out) {
  assert(columns % 16 == 0);
  assert(std::ssize(codes) == rows * columns / 2);
  assert(std::ssize(scales) == rows * columns / 16);
  assert(std::ssize(out) == storageBytes(rows, columns));
  Matrix matrix{BlockFormat::NVFP4, codes.data(), scales.data(), rows, columns,
                columns / 16};
  Segment all{0, columns, 0, 0};
  float factor = 0;
  return encode(matrix, Multiplicand::BF16, {&all, 1},
                blocks(columns, kBlockColumns), out.data(), factor)
      .empty();
}

void unpack(std::span<const uint8_t> in, int64_t rows, int64_t columns,
            std::span<uint8_t> codes, std::span<uint8_t> scales) {
  assert(columns % 16 == 0);
  assert(std::ssize(codes) == rows * columns / 2);
  assert(std::ssize(scales) == rows * columns / 16);
  assert(std::ssize(in) == storageBytes(rows, columns));
  auto setScale = [&](int64_t row, int64_t column, uint8_t byte) {
    if (row < rows && column < columns)
      scales[static_cast<size_t>((row * columns + column) / 16)] =
          unpackScale(byte);
  };
  const uint8_t *block = in.data();
  for (int64_t row0 = 0; row0 < rows; row0 += kBlockRows)
    for (int64_t column0 = 0; column0 < columns;
         column0 += kBlockColumns, block += kBlockBytes)
      for (int thread = 0; thread < kThreads; ++thread)
        for (int pair = 0; pair < 2; ++pair) {
          Step steps[2];
          unpackSteps(loadWord(block + 16 * thread + 8 * pair),
                      loadWord(block + 16 * thread + 8 * pair + 4), steps[0],
                      steps[1]);
          for (int step = 0; step < 2; ++step)
            for (int i = 0; i < 4; ++i)
              for (int half = 0; half < 2; ++half) {
                int64_t row = row0 + rowOf(thread, i);
                int64_t column =
                    column0 + columnOf(thread, 2 * pair + step, i) + half;
                if (row < rows && column < columns)
                  setNibble(codes, row * columns + column,
                            displaced(steps[step].registers[i], half));
              }
          ScaleWord word = unpackScales(
              loadWord(block + kCodeBytes + scaleOffset(thread, pair)));
          int64_t row = row0 + rowOf(thread, 0), column = column0 + 32 * pair;
          setScale(row, column, word.first);
          setScale(row + 8, column, word.firstBelow);
          setScale(row, column + 16, word.second);
          setScale(row + 8, column + 16, word.secondBelow);
        }
}

} // namespace nvfp4::format::wgmma
