//===- VersionsTest.cpp - Tiles for ranges of rows ------------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What versions lose is counted again here, from the predictions alone.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/Versions.h"
#include "nvfp4/Strategy/KernelTargets.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>

using namespace nvfp4::strategy;

namespace {

const KernelTarget &getTarget(const char *name) {
  registerKernelTargets();
  return *findKernelTarget(name);
}

ProblemOfRows spread(int64_t groups, int64_t n, int64_t k) {
  return [=](int64_t rows) {
    Problem problem;
    problem.groups = spreadRows(rows, groups, n, k);
    problem.extentsOnDevice = problem.forKernels = true;
    return problem;
  };
}

/// What the version for `rows` loses to the best tile.
double getLoss(const KernelTarget &target, const ProblemOfRows &describe,
               const std::vector<Version> &versions, int64_t rows) {
  for (const Version &version : versions) {
    if (rows > version.mostRows)
      continue;
    Problem problem = describe(rows);
    Candidate own = target.examine(version.tile, problem);
    EXPECT_FALSE(own.violation) << own.violation->text;
    double best = target.rankTiles(problem).front().prediction.total;
    return std::max(own.prediction.total / best - 1, 0.0);
  }
  ADD_FAILURE() << "no version for " << rows << " rows";
  return 0;
}

struct Layer {
  const char *target;
  int64_t groups, n, k;
};

// None of these layers set a constant of the search.
const Layer kLayers[] = {
    {"sm_90a", 128, 3072, 4096},  {"sm_90a", 8, 28672, 4096},
    {"sm_90a", 60, 2816, 2048},   {"sm_90a", 1, 4096, 14336},
    {"sm_100a", 128, 3072, 4096}, {"sm_100a", 8, 4096, 7168},
    {"sm_103a", 256, 4096, 7168}};

TEST(Versions, CoverAllRowsInAscendingOrder) {
  for (const Layer &layer : kLayers)
    for (int64_t most : {1, 2, 4, 1000}) {
      auto describe = spread(layer.groups, layer.n, layer.k);
      std::vector<Version> versions =
          chooseVersions(getTarget(layer.target), describe, most);
      ASSERT_FALSE(versions.empty());
      EXPECT_LE(int64_t(versions.size()), most);
      EXPECT_EQ(versions.back().mostRows, std::numeric_limits<int64_t>::max());
      int64_t before = 0;
      for (size_t i = 0; i < versions.size(); ++i) {
        EXPECT_GT(versions[i].expectedRows, before);
        EXPECT_LE(versions[i].expectedRows, versions[i].mostRows);
        before = versions[i].mostRows;
        if (i > 0) {
          EXPECT_FALSE(versions[i].tile == versions[i - 1].tile);
        }
      }
    }
}

TEST(Versions, RegretIsWhatTilesLose) {
  for (const Layer &layer : kLayers) {
    const KernelTarget &target = getTarget(layer.target);
    auto describe = spread(layer.groups, layer.n, layer.k);
    VersionRegret regret = {};
    std::vector<Version> versions =
        chooseVersions(target, describe, 4, &regret);
    double sum = 0, worst = 0;
    int count = 0;
    for (int64_t power = 1; power <= int64_t(1) << 18; power *= 2)
      for (int64_t rows : {power, power + power / 2}) {
        if (rows > int64_t(1) << 18 ||
            (rows == power && power / 2 * 3 == rows) ||
            (power == 1 && count == 1))
          continue;
        double loss = getLoss(target, describe, versions, rows);
        sum += loss;
        worst = std::max(worst, loss);
        ++count;
      }
    EXPECT_NEAR(regret.mean, sum / count, 1e-9) << layer.target << layer.n;
    EXPECT_NEAR(regret.worst, worst, 1e-9) << layer.target << layer.n;
  }
}

TEST(Versions, TwoAreTheBestTwo) {
  const KernelTarget &target = getTarget("sm_90a");
  auto describe = spread(128, 3072, 4096);
  VersionRegret regret = {};
  chooseVersions(target, describe, 2, &regret);
  // Every pair of tiles at every border between the same numbers of rows.
  std::vector<int64_t> rows = {1};
  for (int64_t power = 2; power <= int64_t(1) << 18; power *= 2) {
    rows.push_back(power);
    if (power < int64_t(1) << 18)
      rows.push_back(power / 2 * 3);
  }
  std::vector<Tile> tiles;
  for (const Candidate &each : target.rankTiles(describe(4096)))
    if (!each.violation)
      tiles.push_back(each.tile);
  double best = std::numeric_limits<double>::infinity();
  for (size_t border = 1; border < rows.size(); ++border)
    for (const Tile &few : tiles)
      for (const Tile &many : tiles) {
        double sum = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          Problem problem = describe(rows[i]);
          sum += target.examine(i < border ? few : many, problem)
                         .prediction.total /
                     target.rankTiles(problem).front().prediction.total -
                 1;
        }
        best = std::min(best, sum / double(rows.size()));
      }
  EXPECT_NEAR(regret.mean, best, 1e-9);
}

TEST(Versions, MoreLoseLess) {
  for (const Layer &layer : kLayers) {
    auto describe = spread(layer.groups, layer.n, layer.k);
    double before = std::numeric_limits<double>::infinity();
    for (int64_t most : {1, 2, 3, 4}) {
      VersionRegret regret = {};
      chooseVersions(getTarget(layer.target), describe, most, &regret);
      EXPECT_LE(regret.mean, before + 1e-12);
      before = regret.mean;
    }
    EXPECT_LE(before, 0.03) << layer.target << layer.n;
  }
}

TEST(Versions, NoneWhereTheModelHasNoTimes) {
  auto describe = [](int64_t rows) {
    Problem problem;
    problem.groups = {{2, rows, 256, 256}};
    problem.groupedK = true;
    return problem;
  };
  EXPECT_TRUE(chooseVersions(getTarget("sm_90a"), describe, 4).empty());
}

} // namespace
