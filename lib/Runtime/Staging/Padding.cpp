//===- Padding.cpp - Padding that kernels multiply --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last tile of a row of scales and the last byte of a row of values may
// have parts that belong to nobody. Kernels read them, so they must be zero.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_staging.h"

#include <algorithm>
#include <cstring>

/// Copies rows, and lets `mend` change each.
template <typename Callable>
static void copyRows(const void *source, int64_t rows, int64_t rowBytes,
                     void *target, int64_t pitch, Callable mend) {
  for (int64_t row = 0; row < rows; ++row) {
    auto *to = static_cast<uint8_t *>(target) + row * pitch;
    if (rowBytes > 0)
      std::memcpy(to, static_cast<const uint8_t *>(source) + row * rowBytes,
                  static_cast<size_t>(rowBytes));
    std::memset(to + rowBytes, 0, static_cast<size_t>(pitch - rowBytes));
    if (rowBytes > 0)
      mend(to);
  }
}

extern "C" int32_t nvfp4_stage_padded_scales(const char *, const void *scales,
                                             int64_t rows, int64_t rowBytes,
                                             int64_t columns, void *target,
                                             int64_t pitch) {
  constexpr int64_t tileColumns = 4, tileBytes = 512;
  int64_t padding = std::clamp<int64_t>(
      rowBytes / tileBytes * tileColumns - columns, 0, tileColumns - 1);
  copyRows(scales, rows, rowBytes, target, pitch, [&](uint8_t *line) {
    uint8_t *tile = line + rowBytes - tileBytes;
    for (int64_t row = 0; row < tileBytes; row += tileColumns)
      std::memset(tile + row + tileColumns - padding, 0,
                  static_cast<size_t>(padding));
  });
  return 1;
}

extern "C" int32_t nvfp4_stage_odd_values(const char *, const void *values,
                                          int64_t rows, int64_t rowBytes,
                                          void *target, int64_t pitch) {
  copyRows(values, rows, rowBytes, target, pitch,
           [&](uint8_t *line) { line[rowBytes - 1] &= 15; });
  return 1;
}
