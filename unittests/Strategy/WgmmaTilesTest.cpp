//===- WgmmaTilesTest.cpp - Which tile a product on an H200 gets ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the best tiles of benchmarks/results/h200.jsonl: the order of
// candidates, never their times.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"
#include "nvfp4/KernelTarget/StrategyExplain.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace nvfp4::strategy;

namespace {

Problem makeProblem(const std::vector<int64_t> &rows, int64_t n, int64_t k) {
  Problem problem;
  for (int64_t each : rows)
    problem.groups.push_back({1, each, n, k});
  return problem;
}

Tile getBest(const Problem &problem) {
  return rankWgmmaTiles(problem).front().tile;
}

TEST(WgmmaTiles, EvenPartsFillTheMachine) {
  // 3 x 128 rows of 384 and 1 x 128: 128 tiles for 132 SMs.
  Tile tile = getBest(makeProblem({128, 384}, 4096, 1536));
  EXPECT_EQ(tile.m, 128);
  EXPECT_EQ(tile.n, 128);
}

TEST(WgmmaTiles, FewRowsTakeManyColumns) {
  for (int64_t rows : {1, 4, 16, 32}) {
    Problem problem;
    problem.groups = {{128, rows, 5760, 2880}};
    EXPECT_EQ(getBest(problem).n, 256) << rows;
    EXPECT_LE(getBest(problem).m, 64) << rows;
  }
}

TEST(WgmmaTiles, ManyRowsTakeFewColumns) {
  Problem problem;
  problem.groups = {{128, 1024, 3072, 4096}};
  EXPECT_EQ(getBest(problem).n, 128);
  EXPECT_GE(getBest(problem).m, 192);
}

TEST(WgmmaTiles, DeepStagesNeedWholeOnes) {
  auto isDeep = [](const Candidate &each) {
    return each.tile.k == 256 && !each.violation;
  };
  for (int64_t k : {0, 2880, 128, 2944}) {
    auto candidates = rankWgmmaTiles(makeProblem({16}, 256, k));
    EXPECT_TRUE(std::none_of(candidates.begin(), candidates.end(), isDeep))
        << k;
  }
  Problem problem = makeProblem({16}, 256, 2048);
  auto candidates = rankWgmmaTiles(problem);
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), isDeep));
  problem.anyK = true;
  candidates = rankWgmmaTiles(problem);
  EXPECT_TRUE(std::none_of(candidates.begin(), candidates.end(), isDeep));
}

TEST(WgmmaTiles, TheWidestNeedsNarrowResults) {
  Problem problem = makeProblem({248}, 4096, 7168);
  auto isWidest = [](const Candidate &each) {
    return each.tile.m == 248 && !each.violation;
  };
  auto count = [&] {
    auto candidates = rankWgmmaTiles(problem);
    return std::count_if(candidates.begin(), candidates.end(), isWidest);
  };
  EXPECT_EQ(count(), 1);
  problem.epilogue.stagedBytes = 4;
  EXPECT_EQ(count(), 0);
}

TEST(WgmmaTiles, WeightsOfEightBitsLeaveRoomForFewerTiles) {
  // Stages of 248 rows, or of K = 256, take too much for three of them.
  Problem problem;
  problem.groups = {{128, 1024, 3072, 4096}};
  problem.lhs = problem.rhs = nvfp4::format::BlockFormat::MXFP8_E4M3;
  for (const Candidate &each : rankWgmmaTiles(problem)) {
    bool isSmall = each.tile.m < 248 && each.tile.k == 128;
    if (each.tile.hasSimpleLaunch() && each.tile.splitK == 1) {
      EXPECT_EQ(!each.violation, isSmall) << toString(each.tile);
    }
  }
  // Two stages fit all the same, so such a tile may be asked for.
  EXPECT_EQ(countWgmmaStages({.m = 248, .n = 128, .k = 128}, 4352, true), 2);
  EXPECT_EQ(countWgmmaStages({.m = 248, .n = 128, .k = 128}, 2304, true), 3);
  EXPECT_EQ(countWgmmaStages({.m = 248, .n = 128, .k = 128}, 2304, false), 2);
}

TEST(WgmmaTiles, DefaultIsByRowsOfAGroup) {
  // Many rows of many groups are few of each.
  Problem problem;
  problem.groups = {{128, 8, 3072, 4096}, {1, 24, 3072, 4096}};
  EXPECT_EQ(problem.getRowsPerGroup(), 9);
  EXPECT_EQ(getDefaultWgmmaTile(problem.getRowsPerGroup()).m, 96);
  EXPECT_EQ(getDefaultWgmmaTile(384).m, 192);
  EXPECT_EQ(Problem().getRowsPerGroup(), 0);
}

TEST(WgmmaTiles, LastRoundsAreShared) {
  // 1.5 rounds of tiles: less than two, but for a K too short to cut.
  auto getRounds = [](int64_t k) {
    auto candidates = rankWgmmaTiles(makeProblem({96 * 12}, 4096, k));
    auto found = std::find_if(candidates.begin(), candidates.end(),
                              [](const Candidate &each) {
                                return each.tile.m == 96 && each.tile.k == 128;
                              });
    return found->prediction.busy / static_cast<double>(k);
  };
  EXPECT_LT(getRounds(8192), 0.85 * getRounds(1920));
}

TEST(WgmmaTiles, FewTilesAreInPartsIfSumsMayBe) {
  Problem problem = makeProblem({16}, 4096, 7168);
  double whole = rankWgmmaTiles(problem).front().prediction.total;
  problem.relaxed = true;
  EXPECT_LT(rankWgmmaTiles(problem).front().prediction.total, 0.6 * whole);
  problem.groups.front().k = 512;
  problem.relaxed = false;
  whole = rankWgmmaTiles(problem).front().prediction.total;
  problem.relaxed = true;
  EXPECT_EQ(rankWgmmaTiles(problem).front().prediction.total, whole);
}

TEST(WgmmaTiles, NoRowsHaveATile) {
  EXPECT_FALSE(rankWgmmaTiles(makeProblem({0, 0}, 256, 256)).empty());
  EXPECT_FALSE(rankWgmmaTiles(Problem()).empty());
}

TEST(WgmmaTiles, FloorIsThatOfTheBenchmark) {
  // GPU MODE 1 and 4, and gpt-oss with 16 tokens, as h200.jsonl has them.
  auto getFloor = [](const std::vector<int64_t> &rows, int64_t n, int64_t k) {
    return computeWgmmaFloor(makeProblem(rows, n, k));
  };
  Floor floor = getFloor({80, 176, 128, 72, 64, 248, 96, 160}, 4096, 7168);
  EXPECT_NEAR(floor.math, 76.99, 0.01);
  EXPECT_LT(floor.memory, floor.math);
  floor = getFloor({128, 384}, 4096, 1536);
  EXPECT_NEAR(floor.getTotal(), 8.25, 0.01);
  floor = getFloor(std::vector<int64_t>(50, 1), 5760, 2880);
  EXPECT_GT(floor.memory, floor.math);
  EXPECT_NEAR(floor.memory, 50 * (5760. * 2880 * 9 / 16 + 2 * 8640) / 4.8e6,
              0.01);
}

TEST(WgmmaTiles, LimitsAreWhatIsLargest) {
  auto getLimit = [](const std::vector<int64_t> &rows, int64_t n, int64_t k) {
    return rankWgmmaTiles(makeProblem(rows, n, k)).front().prediction.limit;
  };
  EXPECT_EQ(getLimit({16}, 512, 256), Limit::Fixed);
  EXPECT_EQ(getLimit({1, 1, 1, 1}, 65536, 7168), Limit::DRAM);
  EXPECT_EQ(getLimit({8192}, 8192, 8192), Limit::Product);
  EXPECT_EQ(getLimit({8}, 1 << 20, 128), Limit::Epilogue);
  Problem stored = makeProblem({8192}, 8192, 256);
  stored.epilogue.storedBits = 64;
  EXPECT_EQ(rankWgmmaTiles(stored).front().prediction.limit, Limit::DRAM);
  // Narrow tiles of many columns wait for decoded weights.
  auto candidates = rankWgmmaTiles(makeProblem({8192}, 8192, 8192));
  auto narrow =
      std::find_if(candidates.begin(), candidates.end(),
                   [](const Candidate &each) { return each.tile.m == 32; });
  EXPECT_EQ(narrow->prediction.limit, Limit::Decode);
}

TEST(WgmmaTiles, ExplanationHasALineForEach) {
  Problem problem = makeProblem({64}, 4096, 7000);
  problem.epilogue.stagedBytes = 4;
  auto candidates = rankWgmmaTiles(problem);
  std::string text = explain(candidates, computeWgmmaFloor(problem), "sm_90a");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<int64_t>(candidates.size() + 1));
  EXPECT_NE(text.find("x256x128"), std::string::npos);
  for (const char *reason :
       {"floor ", " on sm_90a; predictions", "chosen; bound by",
        " us: bound by ", "but got 256 with K = 7000",
        "expected results of at most 16 bits beside 3 stages of m = 248, but "
        "got 32",
        "expected cluster_m = 1, for which there are kernels, but got 2",
        "but got launch_control"})
    EXPECT_NE(text.find(reason), std::string::npos) << reason << "\n" << text;
}

/// What is named as the nearest is legal, and as near as a legal tile is.
TEST(WgmmaTiles, NearestTileIsLegal) {
  Tile odd = {.m = 100,
              .n = 100,
              .k = 192,
              .stages = 9,
              .ctas = 2,
              .clusterM = 16,
              .splitK = 3,
              .dynamicN = true,
              .scheduler = Scheduler::LaunchControl};
  for (int64_t m : {int64_t(1), int64_t(70), int64_t(500), INT64_MAX})
    for (int64_t n : {int64_t(1), int64_t(192), int64_t(200), INT64_MAX})
      for (int64_t k : {int64_t(64), int64_t(256), INT64_MAX})
        for (std::optional<int64_t> all :
             {std::optional<int64_t>(), std::optional<int64_t>(0),
              std::optional<int64_t>(2880), std::optional<int64_t>(2048)}) {
          Tile tile = odd;
          tile.m = m;
          tile.n = n;
          tile.k = k;
          EXPECT_TRUE(findWgmmaViolation(tile, all));
          Tile legal = findNearestWgmmaTile(tile, all);
          EXPECT_FALSE(findWgmmaViolation(legal, all)) << toString(legal);
          EXPECT_EQ(findNearestWgmmaTile(legal, all), legal);
        }
}

} // namespace
