//===- StrategySearchTest.cpp - tests of the choice of a tile ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is chosen where the answer is known: few tokens, many tokens, pairs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/StrategySearch.h"
#include "nvfp4/KernelTarget/StrategyExplain.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace nvfp4::strategy;

namespace {

const Machine &kMachine = kB200;

Problem makeProblem(int64_t count, int64_t rows, int64_t n, int64_t k) {
  Problem problem;
  problem.groups = {{count, rows, n, k}};
  return problem;
}

Tile choose(const Problem &problem) {
  return searchStrategies(problem, kMachine).front().tile;
}

TEST(Search, PutsFewTokensOnN) {
  for (int64_t rows : {1, 8, 16}) {
    Tile tile = choose(makeProblem(32, rows, 4096, 7168));
    EXPECT_TRUE(tile.swapAB) << rows;
    EXPECT_GE(tile.n, rows);
    EXPECT_LE(tile.n, 32);
  }
}

TEST(Search, TakesWideTilesForManyTokens) {
  Tile tile = choose(makeProblem(8, 8192, 4096, 7168));
  EXPECT_EQ(tile.n, 256);
  EXPECT_EQ(tile.ctas, 2);
}

TEST(Search, ChosenIsLegalCompleteAndFastest) {
  for (int64_t rows : {1, 40, 200, 3000})
    for (int64_t k : {256, 2880, 7168}) {
      Problem problem = makeProblem(16, rows, 2880, k);
      auto candidates = searchStrategies(problem, kMachine);
      const Candidate &chosen = candidates.front();
      ASSERT_FALSE(chosen.violation);
      EXPECT_EQ(chosen.tile, complete(chosen.tile, problem, kMachine));
      EXPECT_FALSE(findViolation(chosen.tile, problem, kMachine));
      for (const Candidate &other : candidates)
        if (!other.violation) {
          EXPECT_LE(chosen.prediction.total, 1.01 * other.prediction.total);
        }
    }
}

TEST(Search, OffersKernelsOnlyWhatTheyHave) {
  Problem problem = makeProblem(1, 16, 512, 7168);
  problem.relaxed = problem.forKernels = problem.groupedK = true;
  bool isMentioned = false;
  for (const Candidate &candidate : searchStrategies(problem, kMachine)) {
    if (!candidate.violation) {
      EXPECT_EQ(candidate.tile.splitK, 1);
    } else if (candidate.violation->rule == Rule::Kernel) {
      isMentioned |= candidate.violation->text ==
                     "expected split_k = 1 for ragged_k, for which there are "
                     "kernels, but got 2";
    }
  }
  EXPECT_TRUE(isMentioned);
  // Rows of K are padded on the way to the device.
  problem = makeProblem(1, 16, 512, 72);
  EXPECT_TRUE(findOperandViolation(problem));
  problem.forKernels = true;
  EXPECT_FALSE(findOperandViolation(problem));
  // Odd ones too, and FP4 beside FP8.
  problem.groups.front().k = 71;
  EXPECT_FALSE(findOperandViolation(problem));
  problem.lhs = nvfp4::format::BlockFormat::MXFP8_E4M3;
  problem.rhs = nvfp4::format::BlockFormat::MXFP4;
  EXPECT_FALSE(findOperandViolation(problem));
}

TEST(Search, FindsNearestTilesWithKernels) {
  Problem problem = makeProblem(1, 16, 512, 7168);
  problem.forKernels = true;
  Tile tile = {.n = 24, .clusterM = 2, .swapAB = true, .dynamicN = true};
  EXPECT_TRUE(findViolation(tile, problem, kMachine));
  auto legal = findNearestLegal(tile, problem, kMachine);
  ASSERT_TRUE(legal);
  EXPECT_TRUE(legal->swapAB);
  EXPECT_EQ(legal->n, 16);
  EXPECT_EQ(legal->clusterM, 1);
  // Two accumulators of 256 columns share whole chunks of 32; no more than
  // half.
  tile = {.n = 256, .accumulatorStages = 2};
  EXPECT_FALSE(findViolation(tile, problem, kMachine));
  auto plan =
      planTensorMemory(complete(tile, problem, kMachine), problem, kMachine);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->overlapped);
  EXPECT_EQ(plan->accumulatorStride, 192);
  problem.epilogue.paired = true;
  problem.epilogue.gateGranularity = 64;
  plan = planTensorMemory(complete(tile, problem, kMachine), problem, kMachine);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->accumulatorStride, 128);
}

TEST(Search, SplitsKOnlyWhereSumsMayBeReordered) {
  Problem problem = makeProblem(1, 16, 512, 7168);
  EXPECT_EQ(choose(problem).splitK, 1);
  problem.relaxed = true;
  EXPECT_GT(choose(problem).splitK, 1);
}

TEST(Search, UsesDynamicNOnlyIfAllowed) {
  Problem problem;
  problem.groups = {{1, 250, 8192, 7168}, {63, 8, 8192, 7168}};
  EXPECT_FALSE(choose(problem).dynamicN);
  bool considered = false;
  for (const Candidate &candidate :
       searchStrategies(problem, kMachine, {.dynamicN = true}))
    considered |= candidate.tile.dynamicN && !candidate.violation;
  EXPECT_TRUE(considered);
}

TEST(Search, TriesClustersAndSchedulersWithThreeTiles) {
  Problem problem = makeProblem(8, 128, 4096, 7168);
  auto candidates = searchStrategies(problem, kMachine);
  EXPECT_TRUE(candidates.front().tile.hasSimpleLaunch());
  auto legal = [](Scheduler scheduler) {
    return [scheduler](const Candidate &c) {
      return !c.violation && c.tile.scheduler == scheduler;
    };
  };
  auto count = [&](auto matches) {
    return std::count_if(candidates.begin(), candidates.end(), matches);
  };
  auto isCluster = [](const Candidate &c) {
    return !c.violation && c.tile.clusterM * c.tile.clusterN == 2;
  };
  EXPECT_EQ(count(isCluster), 6);
  EXPECT_EQ(count(legal(Scheduler::DynamicCounter)), 3);
  EXPECT_EQ(count(legal(Scheduler::LaunchControl)), 3);
  // The tile that is chosen is among them.
  Tile tile = candidates.front().tile;
  tile.clusterM = 2;
  EXPECT_EQ(count([&](const Candidate &c) { return c.tile == tile; }), 1);

  // What no tile can is listed once.
  problem.extentsOnDevice = true;
  candidates = searchStrategies(problem, kMachine);
  EXPECT_EQ(count(legal(Scheduler::LaunchControl)), 0);
  EXPECT_EQ(count([](const Candidate &c) {
              return c.tile.scheduler == Scheduler::LaunchControl;
            }),
            1);
  problem.forKernels = true;
  candidates = searchStrategies(problem, kMachine);
  EXPECT_EQ(count([](const Candidate &c) {
              return !c.tile.hasSimpleLaunch() && c.violation;
            }),
            4);
  EXPECT_EQ(count([](const Candidate &c) {
              return !c.tile.hasSimpleLaunch() && !c.violation;
            }),
            0);
}

// L2 shares what a cluster would.
TEST(Search, NeverChoosesClusters) {
  for (int64_t count : {1, 8, 128})
    for (int64_t rows : {1, 16, 128, 1000, 8192})
      for (int64_t n : {128, 2880, 7168})
        for (int64_t k : {256, 2048, 7168}) {
          Tile tile = choose(makeProblem(count, rows, n, k));
          EXPECT_TRUE(tile.hasSimpleLaunch()) << toString(tile);
        }
}

// Half of the slots are dealt the long tiles only.
TEST(Search, FetchesTileNumbersWhereDealtOnesAreUneven) {
  Problem problem;
  for (int i = 0; i < 4; ++i)
    for (int64_t k : {16384, 256})
      problem.groups.push_back({1, 128, 37 * 256, k});
  auto best = [&] { return searchStrategies(problem, kMachine).front(); };
  Candidate launched = best();
  EXPECT_EQ(launched.tile.scheduler, Scheduler::LaunchControl);
  problem.extentsOnDevice = true;
  Candidate counted = best();
  EXPECT_EQ(counted.tile.scheduler, Scheduler::DynamicCounter);
  EXPECT_NEAR(counted.prediction.total - launched.prediction.total, 0.6, 1e-9);
  problem.forKernels = true;
  Candidate dealt = best();
  EXPECT_EQ(dealt.tile.scheduler, Scheduler::StaticPersistent);
  EXPECT_GT(dealt.prediction.total, 1.1 * counted.prediction.total);
}

TEST(Explain, SaysWhyLaunchesLost) {
  Problem problem = makeProblem(8, 128, 4096, 7168);
  auto explained = [&] {
    return explain(searchStrategies(problem, kMachine),
                   computeFloor(problem, kMachine), "sm_100a");
  };
  std::string text = explained();
  for (const char *part :
       {" cluster 2x1 ", " cluster 1x2 ", " dynamic_counter ",
        "every slot waits for the number of its first tile",
        "us: clusters are filled up with tiles of nobody",
        "as fast, but L2 shares these loads without a cluster",
        "as fast, but static_persistent fetches no tile numbers"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  problem.forKernels = true;
  text = explained();
  for (const char *part :
       {"illegal: expected cluster_m = 1, for which there are kernels, but "
        "got 2",
        "illegal: expected cluster_n = 1, for which there are kernels, but "
        "got 2",
        "illegal: expected scheduler static_persistent, for which there are "
        "kernels, but got dynamic_counter",
        "illegal: expected scheduler static_persistent, for which there are "
        "kernels, but got launch_control"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

TEST(Explain, TellsFetchesOfTileNumbersApart) {
  auto get = [](const std::vector<Candidate> &candidates, Tile tile,
                Scheduler scheduler) {
    tile.scheduler = scheduler;
    for (const Candidate &candidate : candidates)
      if (candidate.tile == tile)
        return candidate;
    ADD_FAILURE() << "expected " << toString(tile);
    return candidates.front();
  };
  // Long enough for the first number to be less than 1 % of all.
  Problem uneven;
  for (int i = 0; i < 8; ++i)
    for (int64_t k : {16384, 256})
      uneven.groups.push_back({1, 128, 37 * 256, k});
  auto candidates = searchStrategies(uneven, kMachine);
  const Candidate &winner = candidates.front();
  ASSERT_EQ(winner.tile.scheduler, Scheduler::LaunchControl);
  ASSERT_GT(winner.prediction.total, 60);
  Candidate counted = get(candidates, winner.tile, Scheduler::DynamicCounter);
  std::string text = explainLoss(counted, winner);
  EXPECT_EQ(text.find("as fast, but every slot waits for the number of its "
                      "first tile"),
            0u)
      << text;

  // Tiles that take less time than a fetch wait for each.
  candidates = searchStrategies(makeProblem(256, 8, 16384, 256), kMachine);
  counted = get(candidates, candidates.front().tile, Scheduler::DynamicCounter);
  text = explainLoss(counted, candidates.front());
  EXPECT_NE(text.find("us: bound by the fetches of tile numbers"),
            std::string::npos)
      << text;
}

TEST(Explain, SaysWhyEveryCandidateLost) {
  Problem problem = makeProblem(8, 128, 4096, 7168);
  auto candidates = searchStrategies(problem, kMachine);
  for (const Candidate &candidate : candidates)
    EXPECT_FALSE(explainLoss(candidate, candidates.front()).empty());
  std::string text =
      explain(candidates, computeFloor(problem, kMachine), "sm_100a");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<ptrdiff_t>(candidates.size()) + 1);
  EXPECT_NE(text.find("chosen; "), std::string::npos);
  EXPECT_NE(text.find("illegal: expected split_k = 1"), std::string::npos);
  EXPECT_NE(text.find("predictions, not measurements"), std::string::npos);
}

TEST(Search, ChoosesWeightsOnMBesideUnscaledRows) {
  Problem problem = makeProblem(32, 64, 5760, 2880);
  problem.unscaledRows = problem.forKernels = true;
  int64_t pairs = 0;
  for (const Candidate &candidate : searchStrategies(problem, kMachine)) {
    pairs += candidate.tile.ctas == 2;
    EXPECT_TRUE(candidate.violation || candidate.tile.swapAB);
  }
  EXPECT_EQ(pairs, 1);
  EXPECT_EQ(choose(problem).n, 64);
  problem.groups.front().rows = 4096;
  EXPECT_EQ(choose(problem).n, 256);
}

} // namespace
