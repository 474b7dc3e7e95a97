//===- WgmmaTiles.h - Tiles of kernels for sm_90a ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tiles kernels have, and which of them a product on an H200 should have,
// by times that were measured on one: docs/Rationale/Hopper.md.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_WGMMATILES_H
#define NVFP4_STRATEGY_WGMMATILES_H

#include "nvfp4/Strategy/StrategySearch.h"

#include <optional>

namespace nvfp4::strategy {

/// Microseconds that the data sheet allows, as benchmarks/h200 counts them:
/// every byte once, with rows in 16 bits, and every product.
Floor computeWgmmaFloor(const Problem &problem);

/// Why there is no kernel of `tile` for a product whose K is `k`, or not known
/// before the launch. Says nothing of stages.
std::optional<Violation> findWgmmaViolation(const Tile &tile,
                                            std::optional<int64_t> k);

/// The tile that kernels have and that differs least from `tile` in n, then in
/// m. Its stages are those of `tile`.
Tile findNearestWgmmaTile(const Tile &tile, std::optional<int64_t> k);

/// The tile with why it is illegal, or its predicted times. These include its
/// start, and DRAM its latency.
Candidate examineWgmmaTile(const Tile &tile, const Problem &problem);

/// Every candidate for `problem` as `searchStrategies` returns them. Of equally
/// fast ones the one with the smaller tile comes first. The launches that
/// kernels for sm_90a do not have are listed once, with the chosen tile.
std::vector<Candidate> rankWgmmaTiles(const Problem &problem);

/// The most that a tile of a kernel without a strategy has, where so many rows
/// of all groups are expected; 0 for no hint.
Tile getDefaultWgmmaTile(int64_t expectedRows);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_WGMMATILES_H
