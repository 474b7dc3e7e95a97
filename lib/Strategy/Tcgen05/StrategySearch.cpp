//===- StrategySearch.cpp - the choice of a tile ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The candidates are few enough to look at all of them. Clusters and schedulers
// would multiply them, so only the most promising are varied.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/StrategySearch.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace nvfp4::strategy;

/// The tiles to look at, legal or not.
static std::vector<Tile> enumerate(const Problem &problem,
                                   const SearchOptions &options) {
  std::vector<Tile> tiles;
  auto add = [&](int64_t n, int64_t ctas, bool swapAB, int64_t splitK) {
    Tile tile = {.m = 128 * ctas,
                 .n = n,
                 .k = getTileK(problem),
                 .ctas = ctas,
                 .splitK = splitK,
                 .swapAB = swapAB};
    tiles.push_back(tile);
    if (swapAB && options.dynamicN) {
      tile.dynamicN = true;
      tiles.push_back(tile);
    }
  };
  for (int64_t splitK : {1, 2, 4, 8}) {
    // One line in the explanation says that sums may not be reordered.
    bool isMentioned = splitK > 1 && !problem.relaxed;
    if (isMentioned && splitK > 2)
      break;
    for (int64_t ctas : {1, 2}) {
      // Rows without scales have no kernel for pairs or for weights on N: one
      // candidate of each tells --explain why.
      bool isOne = problem.unscaledRows;
      if (isOne && ctas == 2) {
        if (splitK == 1)
          add(128, ctas, /*swapAB=*/true, splitK);
        break;
      }
      for (int64_t n : {64, 128, 192, 256})
        if (!isMentioned && (!isOne || (n == 128 && splitK == 1)))
          add(n, ctas, /*swapAB=*/false, splitK);
      for (int64_t n : {8, 16, 32, 64, 128, 192, 256})
        if (isMentioned ? ctas == (isOne ? 1 : 2) && n == 64
                        : n >= (isOne ? 16 : 8) * ctas)
          add(n, ctas, /*swapAB=*/true, splitK);
    }
  }
  return tiles;
}

/// The same tile, launched in other ways.
static std::vector<Tile> vary(const Tile &tile) {
  std::vector<Tile> tiles(4, tile);
  tiles[0].clusterM = 2;
  tiles[1].clusterN = 2;
  tiles[2].scheduler = Scheduler::DynamicCounter;
  tiles[3].scheduler = Scheduler::LaunchControl;
  return tiles;
}

Candidate nvfp4::strategy::examine(const Tile &tile, const Problem &problem,
                                   const Machine &machine) {
  Candidate candidate = {tile, findViolation(tile, problem, machine), {}};
  if (!candidate.violation) {
    candidate.tile = complete(tile, problem, machine);
    candidate.prediction = predict(candidate.tile, problem, machine);
  }
  return candidate;
}

/// The chosen one first: the simplest and least busy among the close ones.
static void putBestFirst(std::vector<Candidate> &candidates) {
  double fastest = std::numeric_limits<double>::max();
  for (const Candidate &c : candidates)
    if (!c.violation)
      fastest = std::min(fastest, c.prediction.total);
  auto preference = [&](const Candidate &c) {
    bool isClose = !c.violation && c.prediction.total <= 1.01 * fastest;
    return std::tuple(!isClose, !c.tile.hasSimpleLaunch(), c.prediction.busy,
                      c.tile.ctas, c.tile.n, c.prediction.total);
  };
  auto chosen = std::min_element(candidates.begin(), candidates.end(),
                                 [&](const Candidate &a, const Candidate &b) {
                                   return preference(a) < preference(b);
                                 });
  std::rotate(candidates.begin(), chosen, chosen + 1);
}

/// The tiles to launch in other ways as well, of candidates with the best one
/// first.
static std::vector<Tile>
chooseToVary(const std::vector<Candidate> &candidates) {
  constexpr size_t kMost = 3;
  // Another launch can at best leave no slot idle. Equals stay in order.
  auto key = [](const Candidate *c) {
    const Prediction &own = c->prediction;
    return std::tuple(own.fixed + std::max(own.busy * (1 - own.idle), own.dram),
                      c);
  };
  std::vector<const Candidate *> legal;
  for (const Candidate &c : candidates)
    if (!c.violation)
      legal.push_back(&c);
  if (legal.empty())
    return {};
  std::sort(
      legal.begin() + 1, legal.end(),
      [&](const Candidate *a, const Candidate *b) { return key(a) < key(b); });
  std::vector<Tile> tiles;
  for (size_t i = 0; i < std::min(kMost, legal.size()); ++i)
    tiles.push_back(legal[i]->tile);
  return tiles;
}

std::vector<Candidate>
nvfp4::strategy::searchStrategies(const Problem &problem,
                                  const Machine &machine,
                                  const SearchOptions &options) {
  std::vector<Candidate> candidates;
  for (const Tile &tile : enumerate(problem, options))
    candidates.push_back(examine(tile, problem, machine));
  putBestFirst(candidates);
  bool isFirst = true;
  for (const Tile &tile : chooseToVary(candidates)) {
    for (const Tile &other : vary(tile)) {
      Candidate candidate = examine(other, problem, machine);
      if (!candidate.violation || isFirst)
        candidates.push_back(std::move(candidate));
    }
    isFirst = false;
  }
  putBestFirst(candidates);

  auto order = [](const Candidate &c) {
    return std::tuple(c.violation.has_value(), c.prediction.total,
                      c.tile.splitK, c.tile.ctas, c.tile.swapAB, c.tile.n,
                      c.tile.dynamicN, c.tile.clusterM, c.tile.clusterN,
                      c.tile.scheduler);
  };
  std::sort(candidates.begin() + 1, candidates.end(),
            [&](const Candidate &a, const Candidate &b) {
              return order(a) < order(b);
            });
  return candidates;
}
