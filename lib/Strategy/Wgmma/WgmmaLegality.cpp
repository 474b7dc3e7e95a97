//===- WgmmaLegality.cpp - Which tiles have kernels on sm_90a ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convert-gsg-to-warpspec makes kernels of, whatever the rows. Stages
// depend on formats and results and are checked where they are placed.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

#include <algorithm>
#include <cstdlib>

using namespace nvfp4::strategy;

/// Most rows of a tile of so many columns: for 128 of them registers would do
/// for more, but no shared memory for three stages.
static int64_t getMostRows(int64_t n) { return n == 256 ? 96 : 248; }

static bool areRowsLegal(int64_t m, int64_t n) {
  bool hasSteps = m <= 64 || n == 256 || m % 16 == 0;
  return m >= 8 && m <= getMostRows(n) && m % 8 == 0 &&
         (hasSteps || m == getMostRows(n));
}

/// Even K = 0 has a stage, and operands are laid out for one of 128.
static bool isDepthLegal(int64_t tileK, std::optional<int64_t> k) {
  return tileK == 128 || (tileK == 256 && k && *k > 0 && *k % 256 == 0);
}

int64_t nvfp4::strategy::getWgmmaStageBytes(const Tile &tile,
                                            int64_t blockBytes) {
  int64_t weights = tile.n / 64 * (tile.k / 64) * blockBytes;
  return weights + 2 * tile.m * tile.k;
}

int64_t nvfp4::strategy::countWgmmaStages(const Tile &tile, int64_t blockBytes,
                                          bool areNarrow) {
  // Barriers, the ring of tiles and alignment have a KiB.
  constexpr int64_t kOther = 1024;
  int64_t rowBytes = areNarrow ? kWgmmaNarrowRowBytes : kWgmmaRowBytes;
  int64_t staged = tile.n / 64 * kWgmmaStagedRows * rowBytes;
  return (kWgmmaSharedBytes - kOther - staged) /
         getWgmmaStageBytes(tile, blockBytes);
}

std::optional<Violation>
nvfp4::strategy::findWgmmaViolation(const Tile &tile, std::optional<int64_t> k,
                                    int64_t rowBlock) {
  auto refuse = [](Rule rule, const std::string &expected,
                   const std::string &got) {
    return Violation{rule, "expected " + expected + ", but got " + got};
  };
  auto str = [](int64_t value) { return std::to_string(value); };
  const std::string kernels = ", for which there are kernels";
  if (tile.ctas != 1)
    return refuse(Rule::Kernel, "ctas = 1" + kernels, str(tile.ctas));
  if (tile.clusterM != 1)
    return refuse(Rule::Kernel, "cluster_m = 1" + kernels, str(tile.clusterM));
  if (tile.clusterN != 1)
    return refuse(Rule::Kernel, "cluster_n = 1" + kernels, str(tile.clusterN));
  if (tile.splitK != 1)
    return refuse(Rule::Kernel,
                  "split_k = 1" + kernels +
                      " that cut K themselves with determinism = relaxed",
                  str(tile.splitK));
  if (tile.scheduler != Scheduler::StaticPersistent)
    return refuse(Rule::Kernel, "scheduler static_persistent" + kernels,
                  std::string(stringify(tile.scheduler)));
  if (tile.dynamicN)
    return refuse(Rule::Kernel, "dynamic_n = false" + kernels, "true");
  if (tile.n != 128 && tile.n != 256)
    return refuse(Rule::Shape, "n = 128 or 256", str(tile.n));
  if (!areRowsLegal(tile.m, tile.n))
    return refuse(Rule::Shape,
                  tile.n == 256 ? "m a multiple of 8 up to 96 for n = 256"
                                : "m a multiple of 8 up to 64, a multiple of "
                                  "16 up to 240, or 248 for n = 128",
                  str(tile.m));
  if (tile.m % rowBlock != 0)
    return refuse(Rule::Kernel,
                  "m a multiple of " + str(rowBlock) +
                      ", of which blocks along rows are",
                  str(tile.m));
  if (!isDepthLegal(tile.k, k))
    return refuse(
        Rule::Shape,
        "k = 128, or 256 if K is known to be a positive multiple of it",
        str(tile.k) + (tile.k != 256 ? ""
                       : k           ? " with K = " + str(*k)
                                     : " with a K that is not known"));
  return std::nullopt;
}

Tile nvfp4::strategy::findNearestWgmmaTile(const Tile &tile,
                                           std::optional<int64_t> k,
                                           int64_t rowBlock) {
  int64_t step = std::max<int64_t>(8, rowBlock);
  Tile legal = {
      .m = step, .n = tile.n > 192 ? 256 : 128, .stages = tile.stages};
  for (int64_t m = step; m <= getMostRows(legal.n); m += step)
    if (areRowsLegal(m, legal.n) &&
        std::abs(tile.m - m) < std::abs(tile.m - legal.m))
      legal.m = m;
  legal.k = tile.k > 192 && isDepthLegal(256, k) ? 256 : 128;
  return legal;
}
