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

#ifndef NVFP4_STRATEGY_WGMMA_WGMMATILES_H
#define NVFP4_STRATEGY_WGMMA_WGMMATILES_H

#include "nvfp4/KernelTarget/Candidate.h"
#include "nvfp4/KernelTarget/Problem.h"

#include <optional>
#include <vector>

namespace nvfp4::strategy {

/// Microseconds that the data sheet allows, as benchmarks/h200 counts them:
/// every byte once, with rows in 16 bits, and every product.
Floor computeWgmmaFloor(const Problem &problem);

/// K of a group as far as it is known: 0 or one that 256 does not divide if
/// there is one.
std::optional<int64_t> getKnownK(const Problem &problem);

/// Why there is no kernel of `tile` for a product whose K is `k`, or not known
/// before the launch, and whose tiles begin at multiples of `rowBlock` rows.
/// Says nothing of stages.
std::optional<Violation> findWgmmaViolation(const Tile &tile,
                                            std::optional<int64_t> k,
                                            int64_t rowBlock = 1);

/// The tile that kernels have and that differs least from `tile` in n, then in
/// m. Its stages are those of `tile`.
Tile findNearestWgmmaTile(const Tile &tile, std::optional<int64_t> k,
                          int64_t rowBlock = 1);

/// The tile with why it is illegal, or its predicted times. These include its
/// start, and DRAM its latency.
Candidate examineWgmmaTile(const Tile &tile, const Problem &problem);

/// Shared memory of a block. Results are staged there on the way to global
/// memory: so many rows of a warpgroup's 64 columns at a time, each in so many
/// bytes. Narrow ones are in 16 bits and nothing but products times factors.
constexpr int64_t kWgmmaSharedBytes = 232448, kWgmmaStagedRows = 32;
constexpr int64_t kWgmmaRowBytes = 272, kWgmmaNarrowRowBytes = 144;

/// Bytes of a stage of `tile`, whose weights take `blockBytes` for each block
/// of 64 x 64 (format::wgmma::Coding), and how many of them fit into shared
/// memory beside staged results, all of which are narrow or none.
int64_t getWgmmaStageBytes(const Tile &tile, int64_t blockBytes);
int64_t countWgmmaStages(const Tile &tile, int64_t blockBytes, bool areNarrow);

/// Every candidate for `problem` as `KernelTarget::rankTiles` returns them. Of
/// equally fast ones the one with the smaller tile comes first. The launches
/// that kernels for sm_90a do not have are listed once, with the chosen tile.
std::vector<Candidate> rankWgmmaTiles(const Problem &problem);

/// The most that a tile of a kernel without a strategy has, whose groups have
/// so many rows each.
Tile getDefaultWgmmaTile(int64_t rowsPerGroup);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_WGMMA_WGMMATILES_H
