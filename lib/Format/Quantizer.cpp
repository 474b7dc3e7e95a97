//===- Quantizer.cpp - whole matrices and parameter checks ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks matrices block by block and puts codes and scales in their layouts.
// Everything is checked before the first byte is written.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Quantizer.h"

#include "nvfp4/Format/Packing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace nvfp4::format {
namespace {

std::string quoted(std::string_view text) {
  std::string result(1, '\'');
  result.append(text).append(1, '\'');
  return result;
}

std::string mismatch(std::string_view what, int64_t expected, int64_t got) {
  return std::string(what) + ": expected " + std::to_string(expected) +
         ", but got " + std::to_string(got);
}

/// a * b, or the largest int64 when it does not fit; a, b >= 0.
int64_t saturatingProduct(int64_t a, int64_t b) {
  constexpr int64_t limit = std::numeric_limits<int64_t>::max();
  return b != 0 && a > limit / b ? limit : a * b;
}

/// Checks what quantising and dequantising have in common.
std::string checkStorage(BlockFormat format, int64_t rows, int64_t columns,
                         uint64_t codeBytes, const ScaleMatrix &scaleMatrix,
                         uint64_t scaleBytes) {
  if (rows < 0 || columns < 0)
    return "expected extents that are not negative, but got " +
           std::to_string(rows) + " x " + std::to_string(columns);
  int64_t bytes = saturatingProduct(rows, rowBytes(format, columns));
  if (codeBytes != static_cast<uint64_t>(bytes))
    return mismatch("bytes of codes", bytes, static_cast<int64_t>(codeBytes));
  if (scaleMatrix.rows != rows)
    return mismatch("rows of scales", rows, scaleMatrix.rows);
  int64_t blocks = scaleColumns(format, columns);
  if (scaleMatrix.columns != blocks)
    return mismatch("columns of scales", blocks, scaleMatrix.columns);
  if (!scaleMatrix.isRepresentable())
    return "expected a scale matrix of at most 2^62 bytes";
  if (scaleBytes != static_cast<uint64_t>(scaleMatrix.totalBytes()))
    return mismatch("bytes of scales", scaleMatrix.totalBytes(),
                    static_cast<int64_t>(scaleBytes));
  return {};
}

/// Blocks of 32 at most.
using BlockValues = std::array<float, 32>;

/// Copies block `block` of row `i`; returns how many values it has.
uint64_t loadBlock(const MatrixView &x, int64_t i, int64_t block, int size,
                   BlockValues &values) {
  int64_t first = block * size;
  int64_t count = std::min<int64_t>(size, x.columns - first);
  for (int64_t k = 0; k < count; ++k)
    values[static_cast<uint64_t>(k)] = x.at(i, first + k);
  return static_cast<uint64_t>(count);
}

/// A over `size` rows from `firstRow` on, rows past the end counting as zero.
float squareAmax(const MatrixView &x, int64_t firstRow, int64_t block, int size,
                 bool ignoreNaN) {
  float amax = 0.0f;
  BlockValues values;
  int64_t end = std::min(firstRow + size, x.rows);
  for (int64_t i = firstRow; i < end; ++i) {
    uint64_t count = loadBlock(x, i, block, size, values);
    float one = blockAmax(std::span(values).first(count), ignoreNaN);
    if (isNaN(one))
      return one;
    amax = std::max(amax, one);
  }
  return amax;
}

void storeCodes(BlockFormat format, std::span<const uint8_t> codes,
                std::span<uint8_t> row, int64_t firstColumn) {
  uint64_t start = static_cast<uint64_t>(firstColumn);
  // Block sizes are even, so a block starts on a byte.
  if (elementBits(format) == 4)
    packNibbles(codes,
                row.subspan(start / 2, codes.size() / 2 + codes.size() % 2));
  else
    std::copy(codes.begin(), codes.end(), row.begin() + firstColumn);
}

} // namespace

std::string checkQuantizer(Quantizer q, const QuantizeParams &params) {
  const QuantizerTraits &facts = traits(q);
  if (!supports(q, params.format))
    return "quantizer " + quoted(stringify(facts.quantizer)) +
           " expected a format with " + (facts.emitsUE4M3 ? "UE4M3" : "E8M0") +
           " scales, but got " + quoted(stringify(params.format));
  float global = params.globalScale;
  if (!(global > 0.0f) || !std::isfinite(global))
    return "expected a global scale that is finite and positive, but got " +
           std::to_string(global);
  bool oneLevel =
      facts.global == GlobalScaleKind::None ||
      (q == Quantizer::TE && scaleKind(params.format) == ScaleKind::E8M0);
  if (oneLevel && global != 1.0f)
    return "quantizer " + quoted(stringify(facts.quantizer)) +
           " expected global scale 1 for " + quoted(stringify(params.format)) +
           ", which has one level of scales, but got " + std::to_string(global);
  if (!(params.amaxFloor >= 0.0f) || !std::isfinite(params.amaxFloor))
    return "expected an amax floor that is finite and not negative, but got " +
           std::to_string(params.amaxFloor);
  if (params.rounding != ElementRounding::NearestEven &&
      elementKind(params.format) != ElementKind::E2M1)
    return "expected round to nearest even for the 8-bit elements of " +
           quoted(stringify(params.format));
  return {};
}

float encodeScaleFor(float amax, float maxScale) {
  float numerator = maxScale * kE2M1Max;
  float scale = numerator / amax;
  if (isNaN(scale) || amax == 0.0f || scale == 0.0f)
    return 1.0f;
  return std::min(scale, std::numeric_limits<float>::max());
}

std::string quantizeMatrix(Quantizer q, const QuantizeParams &params,
                           const MatrixView &x, std::span<uint8_t> codes,
                           const ScaleMatrix &scaleMatrix,
                           std::span<uint8_t> scales, ScaleExtent extent) {
  BlockFormat format = params.format;
  if (std::string error = checkQuantizer(q, params); !error.empty())
    return error;
  if (std::string error = checkStorage(format, x.rows, x.columns, codes.size(),
                                       scaleMatrix, scales.size());
      !error.empty())
    return error;
  if (extent == ScaleExtent::Square && q == Quantizer::FourOverSix)
    return "expected scales of one row for quantizer 'four_over_six', but got "
           "squares";

  int size = blockSize(format);
  int64_t stride = rowBytes(format, x.columns);
  int64_t blocks = scaleMatrix.columns;
  bool square = extent == ScaleExtent::Square;
  bool ignoreNaN = traits(q).amaxIgnoresNaN;
  std::fill(scales.begin(), scales.end(), paddingScale(scaleKind(format)));
  std::vector<float> amax(static_cast<size_t>(square ? blocks : 0));
  BlockValues values;
  std::array<uint8_t, 32> blockCodes;
  for (int64_t i = 0; i < x.rows; ++i) {
    std::span<uint8_t> row = codes.subspan(static_cast<uint64_t>(i * stride),
                                           static_cast<uint64_t>(stride));
    for (int64_t block = 0; block < blocks; ++block) {
      uint64_t count = loadBlock(x, i, block, size, values);
      std::span<const float> in = std::span(values).first(count);
      std::span<uint8_t> out = std::span(blockCodes).first(count);
      uint64_t index = static_cast<uint64_t>(i * x.columns + block * size);
      uint8_t byte = 0;
      if (square) {
        float &shared = amax[static_cast<uint64_t>(block)];
        if (i % size == 0)
          shared = squareAmax(x, i, block, size, ignoreNaN);
        byte = quantizeBlockWithAmax(q, params, shared, in, out, index);
      } else {
        byte = quantizeBlock(q, params, in, out, index);
      }
      storeCodes(format, out, row, block * size);
      scales[static_cast<uint64_t>(scaleMatrix.offset(i, block))] = byte;
    }
  }
  return {};
}

std::string dequantizeMatrix(BlockFormat format, int64_t rows, int64_t columns,
                             std::span<const uint8_t> codes,
                             const ScaleMatrix &scaleMatrix,
                             std::span<const uint8_t> scales, float multiplier,
                             std::span<double> out) {
  if (std::string error = checkStorage(format, rows, columns, codes.size(),
                                       scaleMatrix, scales.size());
      !error.empty())
    return error;
  int64_t elements = saturatingProduct(rows, columns);
  if (out.size() != static_cast<uint64_t>(elements))
    return mismatch("elements of the result", elements,
                    static_cast<int64_t>(out.size()));
  int size = blockSize(format);
  int64_t stride = rowBytes(format, columns);
  double factor = 0;
  for (int64_t i = 0; i < rows; ++i) {
    std::span<const uint8_t> row = codes.subspan(
        static_cast<uint64_t>(i * stride), static_cast<uint64_t>(stride));
    for (int64_t k = 0; k < columns; ++k) {
      // The scale changes at block borders only.
      if (k % size == 0)
        factor =
            static_cast<double>(multiplier) *
            decodeScale(
                scaleKind(format),
                scales[static_cast<uint64_t>(scaleMatrix.offset(i, k / size))]);
      uint8_t code = elementBits(format) == 4 ? getNibble(row, k)
                                              : row[static_cast<uint64_t>(k)];
      out[static_cast<uint64_t>(i * columns + k)] =
          decodeElement(elementKind(format), code) * factor;
    }
  }
  return {};
}

} // namespace nvfp4::format
