//===- ScaleLayout.cpp - scale re-layout and group starts -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of ScaleLayout.h that walk whole matrices or all groups.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/ScaleLayout.h"

#include <algorithm>

namespace nvfp4::format {

bool relayoutScales(const ScaleMatrix &from, std::span<const uint8_t> in,
                    const ScaleMatrix &to, std::span<uint8_t> out,
                    uint8_t padding) {
  if (from.rows != to.rows || from.columns != to.columns ||
      !from.isRepresentable() || !to.isRepresentable() ||
      in.size() != static_cast<uint64_t>(from.totalBytes()) ||
      out.size() != static_cast<uint64_t>(to.totalBytes()))
    return false;
  std::fill(out.begin(), out.end(), padding);
  int64_t fromStride = from.wordStride();
  int64_t toStride = to.wordStride();
  for (int64_t i = 0; i < from.rows; ++i) {
    int64_t source = from.rowBase(i);
    int64_t target = to.rowBase(i);
    for (int64_t j = 0; j < from.columns; ++j) {
      int64_t word = j / 4;
      out[static_cast<uint64_t>(target + word * toStride + j % 4)] =
          in[static_cast<uint64_t>(source + word * fromStride + j % 4)];
    }
  }
  return true;
}

int64_t groupStartRows(GroupStart rule, ScaleLayout layout,
                       std::span<const int64_t> firstRow,
                       std::span<const int64_t> rowCount,
                       std::span<int64_t> starts) {
  assert(firstRow.size() == rowCount.size() &&
         starts.size() == rowCount.size());
  int64_t alignment = rowAlignment(layout);
  int64_t packed = 0;
  int64_t end = 0;
  for (uint64_t g = 0; g < rowCount.size(); ++g) {
    int64_t padded = roundUp(rowCount[g], alignment);
    switch (rule) {
    case GroupStart::Whole:
      starts[g] = firstRow[g];
      break;
    case GroupStart::Compact:
      starts[g] = packed;
      break;
    case GroupStart::UpperBound:
      starts[g] =
          upperBoundStart(firstRow[g], static_cast<int64_t>(g), alignment);
      break;
    }
    packed += padded;
    if (rowCount[g] != 0)
      end = std::max(end, starts[g] + padded);
  }
  return roundUp(end, alignment);
}

int64_t groupStartScaleColumns(ScaleLayout layout, int64_t blockSize,
                               std::span<const int64_t> groupK,
                               std::span<int64_t> starts) {
  assert(starts.size() == groupK.size() && blockSize > 0);
  int64_t next = 0;
  for (uint64_t g = 0; g < groupK.size(); ++g) {
    starts[g] = next;
    int64_t columns = groupK[g] / blockSize + (groupK[g] % blockSize != 0);
    next += roundUp(columns, columnAlignment(layout));
  }
  return next;
}

} // namespace nvfp4::format
