//===- WgmmaTiles.h - Tiles of kernels for sm_90a ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tile a product on an H200 should have, by times that were measured on
// one: docs/Rationale/Hopper.md.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_WGMMATILES_H
#define NVFP4_STRATEGY_WGMMATILES_H

#include "nvfp4/Strategy/Problem.h"
#include "nvfp4/Strategy/Tile.h"

#include <string>

namespace nvfp4::strategy {

/// A tile of rows m by columns n, and what is predicted of it.
struct WgmmaCandidate {
  Tile tile;
  /// Microseconds: of all, of the busiest SM, and of memory.
  double total, busy, dram;
  /// Tiles for each SM.
  double waves;
};

/// All tiles that kernels can have, the best first; never empty. Tiles with
/// k = 256 are among them if K of every group is a multiple of it.
std::vector<WgmmaCandidate> rankWgmmaTiles(const Problem &problem);

/// The most that a tile of a kernel without a strategy has, where so many rows
/// of all groups are expected; 0 for no hint.
Tile getDefaultWgmmaTile(int64_t expectedRows);

/// A table of them, a line each.
std::string explainWgmmaTiles(const std::vector<WgmmaCandidate> &candidates);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_WGMMATILES_H
