//===- Groups.cpp - Groups of a product on the host -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets are cut to what there is, as kernels do.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "nvfp4/Runtime/nvfp4_staging.h"

#include <algorithm>
#include <cstring>

using namespace nvfp4::runtime;
using nvfp4::format::wgmma::Segment;

static int64_t ceilDiv(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

bool StagedGroups::isAlongK() const {
  return form == NVFP4_STAGE_K_ENDS || form == NVFP4_STAGE_K_STARTS;
}

int64_t StagedGroups::countGroups() const {
  bool isStarts =
      form == NVFP4_STAGE_ROW_STARTS || form == NVFP4_STAGE_K_STARTS;
  return std::max<int64_t>(count - isStarts, 0);
}

int64_t StagedGroups::getStages(int64_t columns) const {
  int64_t stages = ceilDiv(columns, stage);
  return isAlongK() ? stages + countGroups() : std::max<int64_t>(stages, 1);
}

int64_t StagedGroups::at(int64_t index) const {
  const char *from = static_cast<const char *>(offsets) + index * bits / 8;
  if (bits == 64) {
    int64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  int32_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::pair<int64_t, int64_t> StagedGroups::getRange(int64_t g,
                                                   int64_t extent) const {
  auto cut = [&](int64_t index) {
    return std::clamp<int64_t>(at(index), 0, extent);
  };
  if (form == NVFP4_STAGE_ROW_STARTS || form == NVFP4_STAGE_K_STARTS)
    return {cut(g), cut(g + 1)};
  return {g == 0 ? 0 : ceilDiv(cut(g - 1), align) * align, cut(g)};
}

bool StagedGroups::hasRow(int64_t row, int64_t rows) const {
  if (form == NVFP4_STAGE_COUNTS)
    return row % rows < at(row / rows);
  if (form != NVFP4_STAGE_ROW_ENDS && form != NVFP4_STAGE_ROW_STARTS)
    return true;
  for (int64_t g = 0; g < countGroups(); ++g) {
    auto [begin, end] = getRange(g, rows);
    if (row >= begin && row < end)
      return true;
  }
  return false;
}

std::vector<Segment> StagedGroups::getSegments(int64_t columns,
                                               int64_t blockSize,
                                               int64_t scaleColumns,
                                               bool isCompact) const {
  if (!isAlongK())
    return {{0, columns, 0, 0}};
  std::vector<Segment> segments;
  int64_t scale = 0;
  for (int64_t g = 0; g < countGroups(); ++g) {
    auto [begin, end] = getRange(g, columns);
    if (begin >= end)
      continue;
    int64_t first = isCompact ? scale : begin / blockSize;
    int64_t room = std::max<int64_t>(scaleColumns - first, 0) * blockSize;
    if (room > 0)
      segments.push_back({begin, std::min(end - begin, room), first,
                          (begin / stage + g) * stage});
    scale += ceilDiv(end - begin, blockSize);
  }
  return segments;
}
