//===- StrategySearch.cpp - the choice of a tile ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The candidates are few enough to look at all of them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/StrategySearch.h"

#include <algorithm>
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
      for (int64_t n : {64, 128, 192, 256})
        if (!isMentioned)
          add(n, ctas, /*swapAB=*/false, splitK);
      for (int64_t n : {8, 16, 32, 64, 128, 192, 256})
        if (isMentioned ? ctas == 2 && n == 64 : n >= 8 * ctas)
          add(n, ctas, /*swapAB=*/true, splitK);
    }
  }
  return tiles;
}

std::vector<Candidate>
nvfp4::strategy::searchStrategies(const Problem &problem,
                                  const Machine &machine,
                                  const SearchOptions &options) {
  std::vector<Candidate> candidates;
  double fastest = 0;
  for (const Tile &tile : enumerate(problem, options)) {
    Candidate candidate = {tile, findViolation(tile, problem, machine), {}};
    if (!candidate.violation) {
      candidate.tile = complete(tile, problem, machine);
      candidate.prediction = predict(candidate.tile, problem, machine);
      double total = candidate.prediction.total;
      fastest = fastest == 0 ? total : std::min(fastest, total);
    }
    candidates.push_back(std::move(candidate));
  }

  auto isClose = [&](const Candidate &c) {
    return !c.violation && c.prediction.total <= 1.01 * fastest;
  };
  // The chosen one first: least busy among the close ones.
  auto preference = [&](const Candidate &c) {
    return std::tuple(!isClose(c), c.prediction.busy, c.tile.ctas, c.tile.n);
  };
  auto chosen = std::min_element(candidates.begin(), candidates.end(),
                                 [&](const Candidate &a, const Candidate &b) {
                                   return preference(a) < preference(b);
                                 });
  std::rotate(candidates.begin(), chosen, chosen + 1);
  auto order = [](const Candidate &c) {
    return std::tuple(c.violation.has_value(), c.prediction.total,
                      c.tile.splitK, c.tile.ctas, c.tile.swapAB, c.tile.n,
                      c.tile.dynamicN);
  };
  std::sort(candidates.begin() + 1, candidates.end(),
            [&](const Candidate &a, const Candidate &b) {
              return order(a) < order(b);
            });
  return candidates;
}
