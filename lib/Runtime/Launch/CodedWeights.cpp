//===- CodedWeights.cpp - Weights for kernels that decode them --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Re-laid out on the host, matrix by matrix, then copied.
//
//===----------------------------------------------------------------------===//

#include "CodedWeights.h"

#include "nvfp4/Format/WgmmaWeights.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace nvfp4::runtime;
using namespace nvfp4::format::wgmma;

static int64_t roundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/// Of one strip of rows, with K padded.
static int64_t getStripBytes(int64_t columns) {
  return std::max<int64_t>(roundUp(columns, 2 * kBlockColumns),
                           2 * kBlockColumns) /
         kBlockColumns * kBlockBytes;
}

int64_t CodedShape::getBytes() const {
  return roundUp(rows, kBlockRows) / kBlockRows * getStripBytes(columns);
}

bool nvfp4::runtime::encodeWeights(const CodedShape &shape,
                                   const uint8_t *values, const uint8_t *scales,
                                   uint8_t *out) {
  auto [rows, columns] = shape;
  std::fill_n(out, shape.getBytes(), 0);
  if (rows == 0 || columns == 0)
    return true;
  std::vector<uint8_t> packed(storageBytes(rows, columns));
  auto size = [](int64_t count) { return static_cast<size_t>(count); };
  if (!pack({values, size(rows * columns / 2)},
            {scales, size(rows * (columns / 16))}, rows, columns, packed))
    return false;
  int64_t strips = roundUp(rows, kBlockRows) / kBlockRows;
  int64_t bytes = storageBytes(kBlockRows, columns);
  for (int64_t strip = 0; strip < strips; ++strip)
    std::memcpy(out + strip * getStripBytes(columns),
                packed.data() + strip * bytes, bytes);
  return true;
}
