//===- WgmmaWeights.cpp - NVFP4 weights laid out for Hopper -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is visited thread by thread, as its 128 threads will read it: 16
// bytes of codes each, and 8 bytes of scales for every four threads.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaWeights.h"

#include "nvfp4/Format/Packing.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace nvfp4::format::wgmma {
namespace {

constexpr int kThreads = 128;
constexpr int kSteps = 4;
constexpr uint8_t kPackedNan = 0xFF;
constexpr uint8_t kScaleNan = 0x7F;

/// Two codes at their places in a register of the decoder.
uint32_t place(uint32_t low, uint32_t high) {
  return (low & 8) << 12 | (low & 7) << 6 | (high & 8) << 28 | (high & 7) << 22;
}

/// The codes of a register of the decoder, `half` 0 or 1.
uint8_t displaced(uint32_t value, int half) {
  value >>= 16 * half;
  return static_cast<uint8_t>((value >> 12 & 8) | (value >> 6 & 7));
}

/// Four registers of wgmma's A operand, two codes in each.
struct Step {
  uint32_t registers[4];
};

void packSteps(const Step &first, const Step &second, uint32_t &x,
               uint32_t &y) {
  uint32_t pool = std::rotr(first.registers[3], kPoolRotations[0]) |
                  std::rotr(second.registers[3], kPoolRotations[1]);
  x = pool & kPoolMask;
  y = std::rotr(pool & ~kPoolMask, kPoolShift);
  for (int i = 0; i < 3; ++i) {
    x |= std::rotr(first.registers[i], kRotations[i]);
    y |= std::rotr(second.registers[i], kRotations[i]);
  }
}

void unpackSteps(uint32_t x, uint32_t y, Step &first, Step &second) {
  uint32_t pool = (x & kPoolMask) | (std::rotl(y, kPoolShift) & ~kPoolMask);
  for (int i = 0; i < 3; ++i) {
    first.registers[i] = std::rotl(x, kRotations[i]) & kValueMask;
    second.registers[i] = std::rotl(y, kRotations[i]) & kValueMask;
  }
  first.registers[3] = std::rotl(pool, kPoolRotations[0]) & kValueMask;
  second.registers[3] = std::rotl(pool, kPoolRotations[1]) & kValueMask;
}

/// Row of register `i` of `thread`, and column of its low half in `step`.
int64_t rowOf(int thread, int i) {
  return thread / 32 * 16 + thread % 32 / 4 + (i & 1) * 8;
}
int64_t columnOf(int thread, int step, int i) {
  return step * 16 + thread % 4 * 2 + (i & 2) * 4;
}

uint32_t loadWord(const uint8_t *from) {
  return static_cast<uint32_t>(from[0]) | static_cast<uint32_t>(from[1]) << 8 |
         static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}

void storeWord(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    to[i] = static_cast<uint8_t>(word >> (8 * i));
}

/// The bytes of a word of scales: rows q and q + 8 of two steps.
struct ScaleWord {
  uint8_t first, firstBelow, second, secondBelow;
};

uint32_t packScales(ScaleWord s) {
  uint32_t bytes = s.first | static_cast<uint32_t>(s.secondBelow) << 8 |
                   static_cast<uint32_t>(s.firstBelow) << 16 |
                   static_cast<uint32_t>(s.second) << 24;
  return std::rotl(bytes, 4);
}

ScaleWord unpackScales(uint32_t word) {
  uint32_t bytes = std::rotr(word, 4);
  return {static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes >> 16),
          static_cast<uint8_t>(bytes >> 24), static_cast<uint8_t>(bytes >> 8)};
}

/// The byte offset of the scale word of `thread` for steps 2 * pair and
/// 2 * pair + 1 in a block.
int64_t scaleOffset(int thread, int pair) {
  return kCodeBytes + thread / 4 * 8 + pair * 4;
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
  if (std::any_of(scales.begin(), scales.end(),
                  [](uint8_t scale) { return scale >= 0x80; }))
    return false;
  auto scaleAt = [&](int64_t row, int64_t column) -> uint8_t {
    return row < rows && column < columns
               ? scales[static_cast<size_t>((row * columns + column) / 16)]
               : 0;
  };
  auto codeAt = [&](int64_t row, int64_t column) -> uint8_t {
    return scaleAt(row, column) != 0 ? getNibble(codes, row * columns + column)
                                     : 0;
  };
  uint8_t *block = out.data();
  for (int64_t row0 = 0; row0 < rows; row0 += kBlockRows)
    for (int64_t column0 = 0; column0 < columns;
         column0 += kBlockColumns, block += kBlockBytes)
      for (int thread = 0; thread < kThreads; ++thread) {
        Step steps[kSteps];
        for (int step = 0; step < kSteps; ++step)
          for (int i = 0; i < 4; ++i) {
            int64_t row = row0 + rowOf(thread, i);
            int64_t column = column0 + columnOf(thread, step, i);
            steps[step].registers[i] =
                place(codeAt(row, column), codeAt(row, column + 1));
          }
        for (int pair = 0; pair < 2; ++pair) {
          uint32_t x, y;
          packSteps(steps[2 * pair], steps[2 * pair + 1], x, y);
          storeWord(block + 16 * thread + 8 * pair, x);
          storeWord(block + 16 * thread + 8 * pair + 4, y);
          int64_t row = row0 + rowOf(thread, 0);
          int64_t column = column0 + 32 * pair;
          storeWord(block + scaleOffset(thread, pair),
                    packScales({packScale(scaleAt(row, column)),
                                packScale(scaleAt(row + 8, column)),
                                packScale(scaleAt(row, column + 16)),
                                packScale(scaleAt(row + 8, column + 16))}));
        }
      }
  return true;
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
          ScaleWord word =
              unpackScales(loadWord(block + scaleOffset(thread, pair)));
          int64_t row = row0 + rowOf(thread, 0), column = column0 + 32 * pair;
          setScale(row, column, word.first);
          setScale(row + 8, column, word.firstBelow);
          setScale(row, column + 16, word.second);
          setScale(row + 8, column + 16, word.secondBelow);
        }
}

} // namespace nvfp4::format::wgmma
