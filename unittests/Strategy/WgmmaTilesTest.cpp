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

#include "nvfp4/Strategy/WgmmaTiles.h"

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
  auto isDeep = [](const WgmmaCandidate &each) { return each.tile.k == 256; };
  for (int64_t k : {2880, 128, 2944}) {
    auto candidates = rankWgmmaTiles(makeProblem({16}, 256, k));
    EXPECT_TRUE(std::none_of(candidates.begin(), candidates.end(), isDeep))
        << k;
  }
  auto candidates = rankWgmmaTiles(makeProblem({16}, 256, 2048));
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), isDeep));
}

TEST(WgmmaTiles, TheWidestNeedsNarrowResults) {
  Problem problem = makeProblem({248}, 4096, 7168);
  auto isWidest = [](const WgmmaCandidate &each) { return each.tile.m == 248; };
  auto count = [&] {
    auto candidates = rankWgmmaTiles(problem);
    return std::count_if(candidates.begin(), candidates.end(), isWidest);
  };
  EXPECT_EQ(count(), 1);
  problem.epilogue.stagedBytes = 4;
  EXPECT_EQ(count(), 0);
}

TEST(WgmmaTiles, LastRoundsAreShared) {
  // 1.5 rounds of tiles: less than two, but for a K too short to cut.
  auto getRounds = [](int64_t k) {
    auto candidates = rankWgmmaTiles(makeProblem({96 * 12}, 4096, k));
    auto found = std::find_if(candidates.begin(), candidates.end(),
                              [](const WgmmaCandidate &each) {
                                return each.tile.m == 96 && each.tile.k == 128;
                              });
    return found->busy / static_cast<double>(k);
  };
  EXPECT_LT(getRounds(8192), 0.85 * getRounds(1920));
}

TEST(WgmmaTiles, FewTilesAreInPartsIfSumsMayBe) {
  Problem problem = makeProblem({16}, 4096, 7168);
  double whole = rankWgmmaTiles(problem).front().total;
  problem.relaxed = true;
  EXPECT_LT(rankWgmmaTiles(problem).front().total, 0.6 * whole);
  problem.groups.front().k = 512;
  problem.relaxed = false;
  whole = rankWgmmaTiles(problem).front().total;
  problem.relaxed = true;
  EXPECT_EQ(rankWgmmaTiles(problem).front().total, whole);
}

TEST(WgmmaTiles, NoRowsHaveATile) {
  EXPECT_FALSE(rankWgmmaTiles(makeProblem({0, 0}, 256, 256)).empty());
  EXPECT_FALSE(rankWgmmaTiles(Problem()).empty());
}

TEST(WgmmaTiles, ExplanationHasALineForEach) {
  auto candidates = rankWgmmaTiles(makeProblem({64}, 4096, 7168));
  std::string text = explainWgmmaTiles(candidates);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<int64_t>(candidates.size()));
  EXPECT_NE(text.find("x256x128"), std::string::npos);
}

} // namespace
