//===- Rows.cpp - Rows of A for kernels that multiply 16 bits ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements times their scales, which bf16 holds: at most four significant bits
// each, six with UE4M3. A product outside the range of its exponents is an
// error, but only in rows that the kernel reads.
//
//===----------------------------------------------------------------------===//

#include "../Violation.h"
#include "Groups.h"

#include "nvfp4/Format/Float16.h"
#include "nvfp4/Runtime/nvfp4_staging.h"

#include <cmath>
#include <cstring>

using namespace nvfp4;
using namespace nvfp4::runtime;

namespace {
constexpr uint16_t kNan = 0x7FC0;
/// Stands for numbers that bf16 does not hold; no element decodes to it.
constexpr uint16_t kOutside = 0x7FC1;

/// Elements under a scale, made when the scale is first seen.
class RowDecoder {
public:
  explicit RowDecoder(format::BlockFormat format)
      : format(format), codes(format::elementBits(format) == 4 ? 16 : 256),
        table(256 * codes), isMade(256) {}

  const uint16_t *getElements(uint8_t scale) {
    uint16_t *elements = table.data() + scale * codes;
    if (!isMade[scale])
      for (size_t code = 0; code < codes; ++code)
        elements[code] = convert(
            format::dequantize(format, static_cast<uint8_t>(code), scale));
    isMade[scale] = true;
    return elements;
  }

private:
  static uint16_t convert(double value) {
    if (std::isnan(value))
      return kNan;
    double magnitude = std::fabs(value);
    if (magnitude != 0 && !std::isinf(magnitude) &&
        (magnitude < 0x1p-126 || magnitude >= 0x1p128))
      return kOutside;
    return format::f32ToBF16(static_cast<float>(value));
  }

  format::BlockFormat format;
  size_t codes;
  std::vector<uint16_t> table;
  std::vector<bool> isMade;
};

/// The operand as nvfp4_stage_rows was given it.
struct Rows {
  const uint8_t *values, *scales;
  int64_t scaleColumns, columns;
};

/// Row `row` to `out`; returns a column that bf16 does not hold, or -1.
int64_t decodeRow(RowDecoder &decoder, format::BlockFormat format,
                  const Rows &rows, int64_t row,
                  std::span<const format::wgmma::Segment> segments,
                  uint16_t *out) {
  const uint8_t *line =
      rows.values + row * format::rowBytes(format, rows.columns);
  const uint8_t *scales = rows.scales + row * rows.scaleColumns;
  bool isFP4 = format::elementBits(format) == 4;
  int64_t block = format::blockSize(format), outside = -1;
  for (const format::wgmma::Segment &segment : segments)
    for (int64_t i = 0; i < segment.count; ++i) {
      const uint16_t *elements =
          decoder.getElements(scales[segment.scale + i / block]);
      int64_t column = segment.first + i;
      uint8_t code =
          isFP4 ? line[column / 2] >> (column % 2 * 4) & 15 : line[column];
      uint16_t element = elements[code];
      out[segment.target + i] = element;
      if (element == kOutside && outside < 0)
        outside = column;
    }
  return outside;
}
} // namespace

extern "C" int32_t nvfp4_stage_rows(const char *where, int32_t format,
                                    const void *values, const void *scales,
                                    int64_t scaleColumns, int32_t isCompact,
                                    int64_t matrices, int64_t rows,
                                    int64_t columns, int32_t form,
                                    const void *offsets, int32_t bits,
                                    int64_t count, int64_t align, int64_t stage,
                                    void *target, int64_t pitch) try {
  StagedGroups groups{form, offsets, bits, count, align, stage};
  Rows all{static_cast<const uint8_t *>(values),
           static_cast<const uint8_t *>(scales), scaleColumns, columns};
  auto lineOf = [&](int64_t row) {
    return reinterpret_cast<uint16_t *>(static_cast<char *>(target) +
                                        row * pitch);
  };
  for (int64_t row = 0; row < matrices * rows; ++row)
    std::memset(lineOf(row), 0, static_cast<size_t>(pitch));
  if (format < 0) {
    auto segments = groups.getSegments(columns, 1, columns, false);
    for (int64_t row = 0; row < matrices * rows; ++row)
      for (const auto &segment : segments)
        std::memcpy(lineOf(row) + segment.target,
                    all.values + 2 * (row * columns + segment.first),
                    static_cast<size_t>(2 * segment.count));
    return 1;
  }
  auto kind = static_cast<format::BlockFormat>(format);
  auto segments = groups.getSegments(columns, format::blockSize(kind),
                                     scaleColumns, isCompact != 0);
  RowDecoder decoder(kind);
  for (int64_t row = 0; row < matrices * rows; ++row) {
    int64_t outside = decodeRow(decoder, kind, all, row, segments, lineOf(row));
    if (outside < 0 || !groups.hasRow(row, rows))
      continue;
    recordViolation(std::string(where) +
                        ": expected rows of lhs that bf16 holds, from 2^-126 "
                        "to below 2^128, but got another number in row " +
                        std::to_string(row) + ", column " +
                        std::to_string(outside),
                    NVFP4_DEVICE_ERROR);
    return 0;
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
