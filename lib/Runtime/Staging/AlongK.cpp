//===- AlongK.cpp - Operands whose groups lie along K -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups along K may begin at any element, even within a byte or a block, where
// TMA copies nothing from. Each group is moved to stages of its own, with zeros
// after it. Where it goes follows from where it begins, without a sum over the
// groups before, so that a kernel needs its offsets alone.
//
//===----------------------------------------------------------------------===//

#include "../Violation.h"
#include "Groups.h"

#include "nvfp4/Runtime/nvfp4_staging.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::runtime;
using nvfp4::format::wgmma::Segment;

/// `count` values of 4 bits from number `begin` on, to the start of `out`.
static void copyNibbles(const uint8_t *row, int64_t begin, int64_t count,
                        uint8_t *out) {
  const uint8_t *from = row + begin / 2;
  if (begin % 2 == 0) {
    std::memcpy(out, from, static_cast<size_t>(count / 2));
    if (count % 2)
      out[count / 2] = from[count / 2] & 15;
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    out[i / 2] = from[i / 2] >> 4;
    if (i + 1 < count)
      out[i / 2] |= static_cast<uint8_t>(from[i / 2 + 1] << 4);
  }
}

extern "C" int32_t nvfp4_stage_values(const char *, int32_t elementBits,
                                      const void *values, int64_t rows,
                                      int64_t columns, int32_t form,
                                      const void *offsets, int32_t bits,
                                      int64_t count, int64_t align,
                                      int64_t stage, void *target,
                                      int64_t pitch) try {
  StagedGroups groups{form, offsets, bits, count, align, stage};
  int64_t rowBytes = (columns * elementBits + 7) / 8;
  auto segments = groups.getSegments(columns, 1, columns, false);
  for (int64_t row = 0; row < rows; ++row) {
    const auto *from = static_cast<const uint8_t *>(values) + row * rowBytes;
    uint8_t *line = static_cast<uint8_t *>(target) + row * pitch;
    std::memset(line, 0, static_cast<size_t>(pitch));
    for (const Segment &segment : segments) {
      uint8_t *to = line + segment.target * elementBits / 8;
      if (elementBits == 4)
        copyNibbles(from, segment.first, segment.count, to);
      else
        std::memcpy(to, from + segment.first,
                    static_cast<size_t>(segment.count));
    }
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t
nvfp4_stage_scales(const char *, const void *scales, int64_t rows,
                   int64_t columns, int64_t scaleColumns, int64_t block,
                   int32_t isCompact, int32_t form, const void *offsets,
                   int32_t bits, int64_t count, int64_t align, int64_t stage,
                   void *target, int64_t pitch) try {
  constexpr int64_t tileRows = 128, tileColumns = 4, tileBytes = 512;
  StagedGroups groups{form, offsets, bits, count, align, stage};
  auto segments =
      groups.getSegments(columns, block, scaleColumns, isCompact != 0);
  auto *out = static_cast<uint8_t *>(target);
  for (int64_t tile = 0; tile < (rows + tileRows - 1) / tileRows; ++tile)
    std::memset(out + tile * pitch, 0, static_cast<size_t>(pitch));
  for (int64_t row = 0; row < rows; ++row)
    for (const Segment &segment : segments) {
      const auto *from = static_cast<const uint8_t *>(scales) +
                         row * scaleColumns + segment.scale;
      uint8_t *to = out + row / tileRows * pitch + row % 32 * 16 +
                    row % tileRows / 32 * 4;
      int64_t first = segment.target / block;
      int64_t last = first + (segment.count + block - 1) / block;
      for (int64_t i = first; i < last; ++i)
        to[i / tileColumns * tileBytes + i % tileColumns] = from[i - first];
    }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
