//===- Versions.h - Tiles for ranges of rows --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose number of rows is known only when it is launched is compiled
// in a few versions, each with the tile that is best for a range of rows.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_VERSIONS_H
#define NVFP4_KERNELTARGET_VERSIONS_H

#include "nvfp4/KernelTarget/KernelTarget.h"

namespace nvfp4::strategy {

/// One kernel of a product.
struct Version {
  Tile tile;
  /// It is for up to so many rows of all groups, and more than the version
  /// before it; INT64_MAX in the last one.
  int64_t mostRows;
  /// A number of rows in the middle of its range.
  int64_t expectedRows;
};

/// What the versions cost: a time over that of the best tile, less 1, by the
/// model, over numbers of rows at equal ratios from 1 to 2^18.
struct VersionRegret {
  double mean;
  double worst;
};

/// A product with so many rows in all.
using ProblemOfRows = std::function<Problem(int64_t rows)>;

/// At most `most` (1 or more) versions, in ascending order of rows: as few as
/// are near the best tile everywhere. Empty if no tile is legal, or if the
/// model does not cover the product. `regret` may be null.
std::vector<Version> chooseVersions(const KernelTarget &target,
                                    const ProblemOfRows &describe, int64_t most,
                                    VersionRegret *regret = nullptr);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_VERSIONS_H
