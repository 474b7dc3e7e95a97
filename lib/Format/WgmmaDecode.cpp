//===- WgmmaDecode.cpp - Weights laid out for Hopper, read back -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The registers of the decoder give the codes; the bytes of scales are read per
// row and k16 step, of which a block of 32 has two.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/WgmmaBlock.h"
#include "nvfp4/Format/WgmmaWeights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace nvfp4::format::wgmma {
namespace {

/// Columns that share a stored scale: those of a k16 step.
constexpr int64_t kStep = 16;
constexpr uint8_t kNanElement = 0x7F;

/// The scale of 16 columns, from a stored byte.
struct Factor {
  enum Kind : uint8_t { Zero, Nan, Finite, Invalid } kind = Invalid;
  /// As the format stores it.
  uint8_t scale = 0;
};

class Decoder {
public:
  Decoder(const Decoded &matrix, Multiplicand type, int64_t blocks,
          float factor)
      : matrix(matrix),
        coding{elementKind(matrix.format), scaleKind(matrix.format), type},
        blocks(blocks), factor(factor),
        rowBytes(format::rowBytes(matrix.format, matrix.columns)),
        stored(static_cast<size_t>(matrix.rows * blocks) * kSteps) {}

  std::string run(const uint8_t *in);

private:
  void readThread(const uint8_t *block, int64_t row0, int64_t column0,
                  int thread);
  void setCode(int64_t row, int64_t column, uint32_t code);
  uint8_t getCode(int64_t row, int64_t column) const;
  bool hasCodes(int64_t row, int64_t first, int64_t end) const;
  Factor getFactor(uint8_t byte) const;
  /// The scale of the block at `column` of a row; false if nothing has these
  /// bytes.
  bool readBlock(int64_t row, int64_t column);

  const Decoded &matrix;
  Coding coding;
  int64_t blocks;
  float factor;
  int64_t rowBytes;
  /// Bytes of scales by row and step.
  std::vector<uint8_t> stored;
  /// The power of two that encode took out of the scales.
  int exponentShift = 0;
};

void Decoder::setCode(int64_t row, int64_t column, uint32_t code) {
  if (row >= matrix.rows || column >= matrix.columns)
    return;
  uint8_t *line = matrix.codes + row * rowBytes;
  if (coding.element != ElementKind::E2M1)
    line[column] = static_cast<uint8_t>(code);
  else
    line[column / 2] |= static_cast<uint8_t>(code << (column % 2 * 4));
}

uint8_t Decoder::getCode(int64_t row, int64_t column) const {
  const uint8_t *line = matrix.codes + row * rowBytes;
  if (coding.element != ElementKind::E2M1)
    return line[column];
  return line[column / 2] >> (column % 2 * 4) & 15;
}

bool Decoder::hasCodes(int64_t row, int64_t first, int64_t end) const {
  for (int64_t column = first; column < end; ++column)
    if (getCode(row, column))
      return true;
  return false;
}

void Decoder::readThread(const uint8_t *block, int64_t row0, int64_t column0,
                         int thread) {
  auto set = [&](int step, int i, int half, uint32_t code) {
    setCode(row0 + rowOf(thread, i), column0 + columnOf(thread, step, i) + half,
            code);
  };
  if (coding.element != ElementKind::E2M1) {
    for (int step = 0; step < kSteps; ++step)
      for (int i = 0; i < 2; ++i) {
        uint32_t word = loadWord(block + step / 2 * kCodeBytes + 16 * thread +
                                 step % 2 * 8 + 4 * i);
        set(step, 2 * i, 0, word >> 8 & 0xFF);
        set(step, 2 * i, 1, word >> 24);
        set(step, 2 * i + 1, 0, word & 0xFF);
        set(step, 2 * i + 1, 1, word >> 16 & 0xFF);
      }
    return;
  }
  std::array<uint32_t, kSteps> words;
  for (int step = 0; step < kSteps; ++step)
    words[step] = loadWord(block + 16 * thread + 4 * step);
  if (coding.type == Multiplicand::F16) {
    for (int step = 0; step < kSteps; ++step)
      for (int i = 0; i < 4; ++i)
        for (int half = 0; half < 2; ++half) {
          uint32_t bits = words[step] >> (16 * half) & 0xFFFF;
          uint32_t sign = bits << kF16Shifts[i][0] >> 12 & 8;
          set(step, i, half, sign | (bits << kF16Shifts[i][1] >> 9 & 7));
        }
    return;
  }
  for (int step = 0; step < kSteps; ++step) {
    uint32_t x = words[step / 2 * 2], y = words[step / 2 * 2 + 1];
    uint32_t pool = (x & kPoolMask) | (std::rotl(y, kPoolShift) & ~kPoolMask);
    for (int i = 0; i < 4; ++i) {
      uint32_t value = i < 3 ? std::rotl(words[step], kRotations[i])
                             : std::rotl(pool, kPoolRotations[step % 2]);
      for (int half = 0; half < 2; ++half) {
        uint32_t bits = value >> (16 * half);
        set(step, i, half, (bits >> 12 & 8) | (bits >> 6 & 7));
      }
    }
  }
}

Factor Decoder::getFactor(uint8_t byte) const {
  if (byte == 0)
    return {Factor::Zero, 0};
  if (coding.scale == ScaleKind::UE4M3) {
    uint8_t scale = unpackScale(byte);
    return {packScale(scale) == byte ? Factor::Finite : Factor::Invalid, scale};
  }
  if (byte == getPackedNan(coding))
    return {Factor::Nan, kPackedNan};
  FieldRange range = getFieldRange(coding);
  int scale = (byte >> range.shift) - range.offset + exponentShift + 127;
  if (byte % (1 << range.shift) || scale < 0 || scale >= kPackedNan)
    return {};
  return {Factor::Finite, static_cast<uint8_t>(scale)};
}

bool Decoder::readBlock(int64_t row, int64_t column) {
  int64_t size = blockSize(matrix.format);
  int64_t end = std::min(column + size, matrix.columns);
  bool isFP4 = coding.element == ElementKind::E2M1;
  bool hasZero = false, hasNan = false, isFinite = false;
  uint8_t scale = 0;
  for (int64_t at = column; at < end; at += kStep) {
    Factor factor = getFactor(
        stored[static_cast<size_t>(row * blocks * kSteps + at / kStep)]);
    int64_t last = std::min(at + kStep, end);
    switch (factor.kind) {
    case Factor::Invalid:
      return false;
    case Factor::Zero:
      hasZero = true;
      break;
    case Factor::Nan:
      hasNan = true;
      break;
    case Factor::Finite:
      if (isFinite && scale != factor.scale)
        return false;
      isFinite = true;
      scale = factor.scale;
      continue;
    }
    // Zeros, and what is NaN as a whole, have no codes.
    if (hasCodes(row, at, last))
      return false;
  }
  bool isWholeNan = hasNan && !hasZero && !isFinite;
  // A part that is NaN is so by its elements.
  if (hasNan && !isWholeNan) {
    if (isFP4)
      return false;
    for (int64_t at = column; at < end; at += kStep)
      if (getFactor(
              stored[static_cast<size_t>(row * blocks * kSteps + at / kStep)])
              .kind == Factor::Nan)
        for (int64_t k = at; k < std::min(at + kStep, end); ++k)
          setCode(row, k, kNanElement);
  }
  if (isWholeNan)
    scale = kPackedNan;
  else if (!isFinite)
    scale = paddingScale(coding.scale);
  matrix.scales[row * scaleColumns(matrix.format, matrix.columns) +
                column / size] = scale;
  return true;
}

std::string Decoder::run(const uint8_t *in) {
  std::string error = checkFactor(coding.scale, factor);
  if (!error.empty())
    return error;
  exponentShift = std::ilogb(factor) + kResultExponent;
  std::fill_n(matrix.codes, matrix.rows * rowBytes, uint8_t{0});
  const uint8_t *block = in;
  for (int64_t row0 = 0; row0 < matrix.rows; row0 += kBlockRows)
    for (int64_t b = 0; b < blocks; ++b, block += coding.blockBytes())
      for (int thread = 0; thread < kThreads; ++thread) {
        readThread(block, row0, b * kBlockColumns, thread);
        for (int pair = 0; pair < 2; ++pair) {
          ScaleWord word = unpackScales(
              loadWord(block + coding.codeBytes() + scaleOffset(thread, pair)));
          int64_t row = row0 + rowOf(thread, 0);
          auto set = [&](int64_t row, int step, uint8_t byte) {
            if (row < matrix.rows)
              stored[static_cast<size_t>((row * blocks + b) * kSteps + step)] =
                  byte;
          };
          set(row, 2 * pair, word.first);
          set(row + 8, 2 * pair, word.firstBelow);
          set(row, 2 * pair + 1, word.second);
          set(row + 8, 2 * pair + 1, word.secondBelow);
        }
      }
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns;
         column += blockSize(matrix.format))
      if (!readBlock(row, column))
        return "expected weights as relayout_weights lays them out, but got "
               "others in row " +
               std::to_string(row) + ", column " + std::to_string(column);
  return {};
}

} // namespace

std::string checkFactor(ScaleKind scale, float factor) {
  int exponent = 0;
  bool isE8M0 = scale != ScaleKind::UE4M3;
  if (isE8M0 ? std::isfinite(factor) && std::frexp(factor, &exponent) == 0.5f
             : factor == 128)
    return {};
  char got[32];
  std::snprintf(got, sizeof got, "%g", static_cast<double>(factor));
  return std::string("expected ") + (isE8M0 ? "a power of two" : "128") +
         " as the factor of a matrix of weights, but got " + got;
}

std::string decode(const uint8_t *in, Multiplicand type, int64_t blocks,
                   float factor, const Decoded &matrix) {
  return Decoder(matrix, type, blocks, factor).run(in);
}

} // namespace nvfp4::format::wgmma
