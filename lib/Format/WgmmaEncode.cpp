//===- WgmmaEncode.cpp - Weights laid out for Hopper ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is visited thread by thread, as its 128 threads will read it: 16 or
// 32 bytes of codes each, and 8 bytes of scales for every four threads.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaBlock.h"
#include "nvfp4/Format/WgmmaFaults.h"
#include "nvfp4/Format/WgmmaWeights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace nvfp4::format::wgmma {
namespace {

/// Columns that share a stored scale: those of a k16 step.
constexpr int64_t kStep = 16;

/// Sixteen columns of a block: how many there are and where they come from.
struct Source {
  int64_t column = 0, count = 0, scale = 0;
};

/// The factor of 16 columns of a row: NaN, anything since all elements are
/// zero, or the power of two `exponent`.
struct Factor {
  enum Kind : uint8_t { Zero, Nan, Power } kind = Zero;
  int16_t exponent = 0;
};

/// Two codes of E2M1 at their places in a register of the decoder to bf16.
uint32_t place(uint32_t low, uint32_t high) {
  return (low & 8) << 12 | (low & 7) << 6 | (high & 8) << 28 | (high & 7) << 22;
}

class Encoder {
public:
  Encoder(const Matrix &matrix, Multiplicand type,
          std::span<const Segment> segments, int64_t blocks)
      : matrix(matrix),
        coding{elementKind(matrix.format), scaleKind(matrix.format), type},
        blocks(blocks),
        rowBytes(format::rowBytes(matrix.format, matrix.columns)),
        sources(static_cast<size_t>(blocks) * kSteps) {
    int64_t block = blockSize(matrix.format);
    for (const Segment &segment : segments)
      for (int64_t i = 0; i < segment.count; i += kStep)
        sources[static_cast<size_t>((segment.target + i) / kStep)] = {
            segment.first + i, std::min(kStep, segment.count - i),
            segment.scale + i / block};
  }

  /// The two passes; empty, or what is wrong.
  std::string readScales();
  void write(uint8_t *out) const;
  float getFactor() const {
    return std::ldexp(1.0f, exponentShift - kResultExponent);
  }

private:
  uint8_t code(int64_t row, int64_t column) const {
    const uint8_t *line = matrix.codes + row * rowBytes;
    if (coding.element != ElementKind::E2M1)
      return line[column];
    return column % 2 ? line[column / 2] >> 4 : line[column / 2] & 15;
  }
  std::string readPower(int64_t row, const Source &source, Factor &factor);
  std::string chooseShift(int lowest, int highest);

  uint8_t storedScale(int64_t row, size_t step) const;
  /// Zero outside the matrix and where a stored scale stands for all of it.
  uint32_t codeOf(int64_t row, size_t step, int64_t column) const;
  void writeThread(uint8_t *block, int64_t row0, size_t step0,
                   int thread) const;

  const Matrix &matrix;
  Coding coding;
  int64_t blocks, rowBytes;
  std::vector<Source> sources;
  /// For E8M0, by row and step.
  std::vector<Factor> factors;
  int exponentShift = 0;
};

std::string Encoder::readPower(int64_t row, const Source &source,
                               Factor &factor) {
  bool isFP4 = coding.element == ElementKind::E2M1;
  bool isE5M2 = coding.element == ElementKind::E5M2;
  bool isZero = true;
  int64_t infinite = -1;
  uint8_t byte = matrix.scales[row * matrix.scaleColumns + source.scale];
  bool isNan = byte == kPackedNan;
  for (int64_t i = 0; i < source.count; ++i) {
    uint8_t magnitude = code(row, source.column + i) & (isFP4 ? 7 : 0x7F);
    isZero &= magnitude == 0;
    if (isFP4)
      continue;
    isNan |= isE5M2 ? magnitude > 0x7C : magnitude == 0x7F;
    if (isE5M2 && magnitude == 0x7C && infinite < 0)
      infinite = source.column + i;
  }
  if (isNan)
    factor.kind = Factor::Nan;
  else if (infinite >= 0)
    return describeInfinity(row, infinite);
  else if (!isZero)
    factor = {Factor::Power, static_cast<int16_t>(byte - 127)};
  return {};
}

std::string Encoder::chooseShift(int lowest, int highest) {
  FieldRange range = getFieldRange(coding);
  if (highest + range.offset > range.high)
    exponentShift = highest + range.offset - range.high;
  else if (lowest + range.offset < range.low)
    exponentShift = lowest + range.offset - range.low;
  int spread = range.high - range.low;
  if (highest - lowest <= spread)
    return {};
  return describeSpread(spread, lowest, highest);
}

std::string Encoder::readScales() {
  if (coding.scale == ScaleKind::UE4M3) {
    for (int64_t row = 0; row < matrix.rows; ++row)
      for (const Source &source : sources)
        if (source.count &&
            matrix.scales[row * matrix.scaleColumns + source.scale] >= 0x80)
          return describeSign(row);
    return {};
  }
  factors.resize(static_cast<size_t>(matrix.rows) * sources.size());
  int lowest = 1 << 10, highest = -lowest;
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (size_t step = 0; step < sources.size(); ++step) {
      if (!sources[step].count)
        continue;
      Factor &factor =
          factors[static_cast<size_t>(row) * sources.size() + step];
      if (std::string error = readPower(row, sources[step], factor);
          !error.empty())
        return error;
      if (factor.kind != Factor::Power)
        continue;
      lowest = std::min<int>(lowest, factor.exponent);
      highest = std::max<int>(highest, factor.exponent);
    }
  return lowest <= highest ? chooseShift(lowest, highest) : std::string();
}

uint8_t Encoder::storedScale(int64_t row, size_t step) const {
  if (row >= matrix.rows || !sources[step].count)
    return 0;
  if (coding.scale == ScaleKind::UE4M3)
    return packScale(
        matrix.scales[row * matrix.scaleColumns + sources[step].scale]);
  FieldRange range = getFieldRange(coding);
  Factor factor = factors[static_cast<size_t>(row) * sources.size() + step];
  switch (factor.kind) {
  case Factor::Zero:
    return 0;
  case Factor::Nan:
    return getPackedNan(coding);
  case Factor::Power:
    break;
  }
  int field = factor.exponent + range.offset - exponentShift;
  return static_cast<uint8_t>(field << range.shift);
}

uint32_t Encoder::codeOf(int64_t row, size_t step, int64_t column) const {
  const Source &source = sources[step];
  if (row >= matrix.rows || column >= source.count)
    return 0;
  bool isMultiplied =
      coding.scale == ScaleKind::UE4M3
          ? matrix.scales[row * matrix.scaleColumns + source.scale] != 0
          : factors[static_cast<size_t>(row) * sources.size() + step].kind ==
                Factor::Power;
  return isMultiplied ? code(row, source.column + column) : 0;
}

void Encoder::writeThread(uint8_t *block, int64_t row0, size_t step0,
                          int thread) const {
  // The codes of each register, low half first.
  uint32_t codes[kSteps][4][2];
  for (int step = 0; step < kSteps; ++step)
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half)
        codes[step][i][half] =
            codeOf(row0 + rowOf(thread, i), step0 + static_cast<size_t>(step),
                   columnOf(thread, 0, i) + half);
  if (coding.element != ElementKind::E2M1) {
    for (int step = 0; step < kSteps; ++step)
      for (int i = 0; i < 2; ++i) {
        auto &above = codes[step][2 * i], &below = codes[step][2 * i + 1];
        storeWord(block + step / 2 * kCodeBytes + 16 * thread + step % 2 * 8 +
                      4 * i,
                  above[0] << 8 | above[1] << 24 | below[0] | below[1] << 16);
      }
    return;
  }
  if (coding.type == Multiplicand::F16) {
    for (int step = 0; step < kSteps; ++step) {
      uint32_t word = 0;
      for (int i = 0; i < 4; ++i)
        for (int half = 0; half < 2; ++half) {
          uint32_t c = codes[step][i][half];
          word |= ((c & 8) << 12 >> kF16Shifts[i][0] |
                   (c & 7) << 9 >> kF16Shifts[i][1])
                  << (16 * half);
        }
      storeWord(block + 16 * thread + 4 * step, word);
    }
    return;
  }
  for (int pair = 0; pair < 2; ++pair) {
    auto at = [&](int step, int i) {
      auto &two = codes[2 * pair + step][i];
      return place(two[0], two[1]);
    };
    uint32_t pool = std::rotr(at(0, 3), kPoolRotations[0]) |
                    std::rotr(at(1, 3), kPoolRotations[1]);
    uint32_t x = pool & kPoolMask;
    uint32_t y = std::rotr(pool & ~kPoolMask, kPoolShift);
    for (int i = 0; i < 3; ++i) {
      x |= std::rotr(at(0, i), kRotations[i]);
      y |= std::rotr(at(1, i), kRotations[i]);
    }
    storeWord(block + 16 * thread + 8 * pair, x);
    storeWord(block + 16 * thread + 8 * pair + 4, y);
  }
}

void Encoder::write(uint8_t *out) const {
  uint8_t *block = out;
  for (int64_t row0 = 0; row0 < matrix.rows; row0 += kBlockRows)
    for (int64_t b = 0; b < blocks; ++b, block += coding.blockBytes()) {
      auto step0 = static_cast<size_t>(b) * kSteps;
      for (int thread = 0; thread < kThreads; ++thread) {
        writeThread(block, row0, step0, thread);
        for (int pair = 0; pair < 2; ++pair) {
          int64_t row = row0 + rowOf(thread, 0);
          size_t step = step0 + 2 * static_cast<size_t>(pair);
          storeWord(
              block + coding.codeBytes() + scaleOffset(thread, pair),
              packScales({storedScale(row, step), storedScale(row + 8, step),
                          storedScale(row, step + 1),
                          storedScale(row + 8, step + 1)}));
        }
      }
    }
}

} // namespace

std::string encode(const Matrix &matrix, Multiplicand type,
                   std::span<const Segment> segments, int64_t blocks,
                   uint8_t *out, float &factor) {
  Encoder encoder(matrix, type, segments, blocks);
  if (std::string error = encoder.readScales(); !error.empty())
    return error;
  encoder.write(out);
  factor = encoder.getFactor();
  return {};
}

} // namespace nvfp4::format::wgmma
