//===- Groups.h - Groups of a product on the host ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows a product reads, and where groups along K go when each begins at
// a stage of its own. The kernel computes the same places from the offsets.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_STAGING_GROUPS_H
#define NVFP4_LIB_RUNTIME_STAGING_GROUPS_H

#include "nvfp4/Format/WgmmaWeights.h"

#include <cstdint>
#include <vector>

namespace nvfp4::runtime {

/// What the calls of nvfp4_staging.h are given.
struct StagedGroups {
  int32_t form = 0;
  const void *offsets = nullptr;
  int32_t bits = 32;
  int64_t count = 0, align = 1;
  /// Columns of a stage along K.
  int64_t stage = 128;

  bool isAlongK() const;
  /// Stages of a row of `columns`: at least one.
  int64_t getStages(int64_t columns) const;
  /// Whether row `row` of all matrices of `rows` each is in a group.
  bool hasRow(int64_t row, int64_t rows) const;
  /// The pieces of a row: where each group begins at a stage of its own, group
  /// g goes to stage start / stage + g. Scales start where the group does, or
  /// after those of the groups before it if `isCompact`; columns that have none
  /// among `scaleColumns` of them, because of offsets that nobody checked, are
  /// left out.
  std::vector<format::wgmma::Segment> getSegments(int64_t columns,
                                                  int64_t blockSize,
                                                  int64_t scaleColumns,
                                                  bool isCompact) const;

private:
  int64_t at(int64_t index) const;
  /// Begin and end of group `g` of what is cut.
  std::pair<int64_t, int64_t> getRange(int64_t g, int64_t extent) const;
  int64_t countGroups() const;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_STAGING_GROUPS_H
