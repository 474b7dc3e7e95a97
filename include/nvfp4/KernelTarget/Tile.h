//===- Tile.h - how a product is cut ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ twin of #grouped_scaled_gemm.strategy, for code that links no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_TILE_H
#define NVFP4_KERNELTARGET_TILE_H

#include "nvfp4/KernelTarget/Enums.h"

#include <cstdint>
#include <string>

namespace nvfp4::strategy {

/// Parameters as the attribute documents them. 0 in `stages`,
/// `accumulatorStages`, `scaleStages` or `epilogueN` leaves the choice open.
struct Tile {
  int64_t m = 128;
  int64_t n = 128;
  int64_t k = 256;
  int64_t stages = 0;
  int64_t ctas = 1;
  int64_t clusterM = 1;
  int64_t clusterN = 1;
  int64_t splitK = 1;
  bool swapAB = false;
  bool dynamicN = false;
  Scheduler scheduler = Scheduler::StaticPersistent;
  int64_t accumulatorStages = 0;
  int64_t scaleStages = 0;
  int64_t epilogueN = 0;

  /// A CTA or a pair computes a tile without others, and tiles are dealt in
  /// advance.
  bool hasSimpleLaunch() const {
    return clusterM == 1 && clusterN == 1 &&
           scheduler == Scheduler::StaticPersistent;
  }

  friend bool operator==(const Tile &, const Tile &) = default;
};

/// The text of the attribute without its prefix: `<m = 128, n = 64, ...>`.
/// Parameters that are 0 or have their default are left out.
std::string toString(const Tile &tile);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_TILE_H
