//===- Versions.cpp - Tiles for ranges of rows ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of rows are cut into ranges by dynamic programming: what a range
// costs is the least sum, over its numbers, of what a tile loses to the best
// one there.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/Versions.h"

#include <algorithm>
#include <limits>

using namespace nvfp4::strategy;

namespace {
/// 1, 2, 3, 4, 6, 8, 12 ... 2^18.
std::vector<int64_t> listRows() {
  std::vector<int64_t> rows = {1};
  for (int64_t power = 2; power <= int64_t(1) << 18; power *= 2) {
    rows.push_back(power);
    if (power < int64_t(1) << 18)
      rows.push_back(power + power / 2);
  }
  return rows;
}

/// What one more version must save, in the sum of what tiles lose: kernels take
/// time to compile and room.
constexpr double kWorth = 0.02;
constexpr double kIllegal = 1e9;

struct Range {
  /// Of the range and all before it.
  double cost = std::numeric_limits<double>::infinity();
  size_t first = 0, tile = 0;
};
} // namespace

std::vector<Version>
nvfp4::strategy::chooseVersions(const KernelTarget &target,
                                const ProblemOfRows &describe, int64_t most,
                                VersionRegret *regret) {
  std::vector<int64_t> rows = listRows();
  std::vector<Problem> problems;
  std::vector<Tile> tiles;
  std::vector<double> best;
  for (int64_t number : rows) {
    problems.push_back(describe(number));
    if (!target.explainNoModel(problems.back()).empty())
      return {};
    Candidate first = target.rankTiles(problems.back()).front();
    if (first.violation)
      return {};
    best.push_back(first.prediction.total);
    if (std::find(tiles.begin(), tiles.end(), first.tile) == tiles.end())
      tiles.push_back(first.tile);
  }

  // What a tile loses at each number of rows, and the sums of what it loses up
  // to there.
  size_t numRows = rows.size();
  std::vector<std::vector<double>> lost(tiles.size()), sums(tiles.size());
  for (size_t t = 0; t < tiles.size(); ++t) {
    sums[t].push_back(0);
    for (size_t i = 0; i < numRows; ++i) {
      Candidate each = target.examine(tiles[t], problems[i]);
      // The chosen tile need not be the fastest by a hair.
      lost[t].push_back(
          each.violation ? kIllegal
                         : std::max(each.prediction.total / best[i] - 1, 0.0));
      sums[t].push_back(sums[t].back() + lost[t].back());
    }
  }

  // ranges[v][i]: the last of v + 1 ranges that end before number i.
  std::vector<std::vector<Range>> ranges;
  for (size_t v = 0; v < std::min(static_cast<size_t>(most), numRows); ++v) {
    ranges.emplace_back(numRows + 1);
    for (size_t end = 1; end <= numRows; ++end)
      for (size_t first = 0; first < end; ++first) {
        if ((v == 0) != (first == 0))
          continue;
        double before = v == 0 ? 0 : ranges[v - 1][first].cost;
        for (size_t t = 0; t < tiles.size(); ++t) {
          double cost = before + sums[t][end] - sums[t][first];
          if (cost < ranges[v][end].cost)
            ranges[v][end] = {cost, first, t};
        }
      }
  }
  size_t chosen = 0;
  for (size_t v = 1; v < ranges.size(); ++v)
    if (ranges[v][numRows].cost + kWorth * double(v - chosen) <
        ranges[chosen][numRows].cost)
      chosen = v;

  std::vector<Version> versions;
  VersionRegret found = {ranges[chosen][numRows].cost / double(numRows), 0};
  size_t end = numRows;
  for (size_t v = chosen + 1; v-- > 0;) {
    const Range &range = ranges[v][end];
    for (size_t i = range.first; i < end; ++i)
      found.worst = std::max(found.worst, lost[range.tile][i]);
    // Between two numbers, the nearer one decides.
    int64_t last = end == numRows ? std::numeric_limits<int64_t>::max()
                                  : (rows[end - 1] + rows[end]) / 2;
    versions.push_back(
        {tiles[range.tile], last, rows[(range.first + end - 1) / 2]});
    end = range.first;
  }
  std::reverse(versions.begin(), versions.end());
  if (regret)
    *regret = found;
  return versions;
}
