//===- StrategyCostTest.cpp - tests of the cost model -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden times come from programs that share nothing with the library: one
// walks over the tiles one by one, the other is the published table of issue
// intervals.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/StrategyCost.h"

#include "nvfp4/Strategy/Tcgen05/Budget.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>

using namespace nvfp4::strategy;
using nvfp4::format::BlockFormat;

namespace {

const Machine &kMachine = kB200;

/// The grouped shapes of the GPU MODE competition.
Problem makeGrouped(const std::string &name) {
  struct Shape {
    std::vector<int64_t> rows;
    int64_t n, k;
  };
  const std::map<std::string, Shape> kShapes = {
      {"gm1", {{80, 176, 128, 72, 64, 248, 96, 160}, 4096, 7168}},
      {"gm2", {{40, 76, 168, 72, 164, 148, 196, 160}, 7168, 2048}},
      {"gm3", {{192, 320}, 3072, 4096}},
      {"gm4", {{128, 384}, 4096, 1536}}};
  const Shape &shape = kShapes.at(name);
  Problem problem;
  for (int64_t rows : shape.rows)
    problem.groups.push_back({1, rows, shape.n, shape.k});
  return problem;
}

// The floors of the problem statement with its 7.68 TB/s, which counts the same
// bytes.
TEST(Floor, IsThatOfTheCompetition) {
  const std::pair<const char *, double> kPublished[] = {
      {"gm1", 18.833}, {"gm2", 10.667}, {"gm3", 2.406}, {"gm4", 1.525}};
  for (auto [name, microseconds] : kPublished) {
    Machine machine = kMachine;
    machine.peakDram = 7.68e12;
    machine.peakFp4 = 6.90e15;
    EXPECT_NEAR(computeFloor(makeGrouped(name), machine).getTotal(),
                microseconds, 0.0006)
        << name;
  }
}

TEST(Floor, IsBoundByProductsForManyRows) {
  Problem problem;
  problem.groups = {{1, 8192, 8192, 8192}};
  Floor floor = computeFloor(problem, kMachine);
  EXPECT_NEAR(floor.math, 2.0 * 8192 * 8192 * 8192 / 9.0e9, 1e-9);
  EXPECT_GT(floor.math, floor.memory);
  problem.lhs = problem.rhs = BlockFormat::MXFP8_E4M3;
  EXPECT_NEAR(computeFloor(problem, kMachine).math, 2 * floor.math, 1e-9);
  problem.unscaledRows = true;
  EXPECT_NEAR(computeFloor(problem, kMachine).math, 4 * floor.math, 1e-9);
  EXPECT_EQ(storedRowBits(problem), 16);
}

// A narrow tile waits for its weights, a wide one for its rows, of which 128
// columns of the result share one load.
TEST(Predict, DecodesWeightsBesideUnscaledRows) {
  Problem problem;
  problem.groups = {{1, 8192, 8192, 8192}};
  problem.unscaledRows = true;
  auto getLimit = [&](int64_t n) {
    Tile tile = {.m = 128, .n = n, .k = 128, .swapAB = true};
    return predict(complete(tile, problem, kMachine), problem, kMachine).limit;
  };
  EXPECT_EQ(getLimit(16), Limit::Decode);
  EXPECT_EQ(getLimit(256), Limit::Fill);
}

// Cycles that others measured, in the steady state of SS products.
TEST(IssueInterval, IsNearTheMeasuredOnes) {
  struct Row {
    int64_t m, ctas, n;
    double cycles;
  };
  const Row kMeasured[] = {
      {128, 1, 64, 48.2},  {128, 1, 80, 52.2},  {128, 1, 96, 56.2},
      {128, 1, 112, 60.2}, {128, 1, 128, 64.2}, {128, 1, 256, 128.2},
      {256, 2, 64, 43.5},  {256, 2, 80, 46.2},  {256, 2, 96, 49.5},
      {256, 2, 112, 56.2}, {256, 2, 128, 64.2}, {256, 2, 256, 128.2}};
  // The fit is the straight lines; between them it misses the corner at 80 to
  // 96 by up to 2 cycles.
  for (const Row &row : kMeasured)
    EXPECT_NEAR(issueInterval(row.m, row.n, row.ctas), row.cycles, 2.1)
        << row.m << "x" << row.n;
}

TEST(DramRate, InterpolatesTheMeasuredRates) {
  EXPECT_DOUBLE_EQ(dramRate(kMachine, 32768), 5.8e12);
  EXPECT_DOUBLE_EQ(dramRate(kMachine, 49152), (5.8e12 + 7.15e12) / 2);
  EXPECT_DOUBLE_EQ(dramRate(kMachine, 1e9), 7.2e12);
  EXPECT_DOUBLE_EQ(dramRate(kMachine, 256), 0.083e12);
}

struct Golden {
  const char *shape;
  int64_t m, n, ctas, stages;
  bool swapAB, dynamicN;
  double total, busy, dram;
  int64_t tiles;
  int64_t clusterM = 1, clusterN = 1;
  Scheduler scheduler = Scheduler::StaticPersistent;
};

class Predict : public testing::TestWithParam<Golden> {};

TEST_P(Predict, IsTheGoldenTime) {
  const Golden &golden = GetParam();
  Tile tile = {.m = golden.m,
               .n = golden.n,
               .stages = golden.stages,
               .ctas = golden.ctas,
               .clusterM = golden.clusterM,
               .clusterN = golden.clusterN,
               .swapAB = golden.swapAB,
               .dynamicN = golden.dynamicN,
               .scheduler = golden.scheduler,
               .accumulatorStages = 2,
               .scaleStages = 1,
               .epilogueN = 32};
  Prediction own = predict(tile, makeGrouped(golden.shape), kMachine);
  EXPECT_NEAR(own.total, golden.total, 1e-8);
  EXPECT_NEAR(own.busy, golden.busy, 1e-8);
  EXPECT_NEAR(own.dram, golden.dram, 1e-8);
  EXPECT_EQ(own.tiles, golden.tiles);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Predict,
    testing::Values(Golden{"gm1", 128, 128, 1, 5, false, false, 38.958138947,
                           34.458138947, 20.088604444, 352},
                    Golden{"gm1", 128, 256, 1, 4, true, true, 35.920946117,
                           30.948513684, 20.106057619, 256},
                    Golden{"gm1", 256, 256, 2, 5, true, true, 27.660062817,
                           22.653035789, 20.095145833, 128},
                    Golden{"gm1", 256, 128, 2, 7, true, false, 31.300774737,
                           26.800774737, 20.088604444, 176},
                    Golden{"gm1", 128, 192, 1, 5, false, false, 34.083499744,
                           29.353229474, 20.088604444, 242},
                    Golden{"gm2", 128, 128, 1, 5, false, false, 20.908637594,
                           16.408637594, 11.377777778, 728},
                    Golden{"gm2", 128, 256, 1, 4, true, true, 18.529888624,
                           13.765023759, 11.412451023, 448},
                    Golden{"gm2", 256, 256, 2, 5, true, true, 16.193309291,
                           10.939091729, 11.393849832, 224},
                    Golden{"gm2", 256, 128, 2, 7, true, false, 17.262273684,
                           12.762273684, 11.377777778, 364},
                    Golden{"gm2", 128, 192, 1, 5, false, false, 21.503544255,
                           16.773273985, 11.377777778, 494},
                    Golden{"gm3", 128, 128, 1, 5, false, false, 11.063455038,
                           6.563455038, 2.566826667, 120},
                    Golden{"gm3", 128, 256, 1, 4, true, true, 14.852209583,
                           9.845182556, 2.577590818, 72},
                    Golden{"gm3", 256, 256, 2, 5, true, true, 11.935118456,
                           6.928091429, 2.579505118, 36},
                    Golden{"gm3", 256, 128, 2, 7, true, false, 9.604909474,
                           5.104909474, 2.566826667, 60},
                    Golden{"gm3", 128, 192, 1, 5, false, false, 13.116907263,
                           8.386636992, 2.567850819, 80},
                    Golden{"gm4", 128, 128, 1, 5, false, false, 6.961295639,
                           2.461295639, 1.627022222, 128},
                    Golden{"gm4", 128, 256, 1, 4, true, true, 8.698970486,
                           3.691943459, 1.633152675, 96},
                    Golden{"gm4", 256, 256, 2, 5, true, true, 7.605061313,
                           2.598034286, 1.633614322, 48},
                    Golden{"gm4", 256, 128, 2, 7, true, false, 6.414341053,
                           1.914341053, 1.627022222, 64},
                    Golden{"gm4", 128, 192, 1, 5, false, false, 7.875259142,
                           3.144988872, 1.627022222, 88}));

// The same tiles in clusters and with other schedulers.
constexpr Scheduler kDealt = Scheduler::StaticPersistent,
                    kCounter = Scheduler::DynamicCounter,
                    kControl = Scheduler::LaunchControl;

INSTANTIATE_TEST_SUITE_P(
    Launches, Predict,
    testing::Values(Golden{"gm1", 128, 128, 1, 5, false, false, 51.074517073,
                           46.574517073, 20.088604444, 512, 2, 1, kDealt},
                    Golden{"gm1", 128, 128, 1, 5, false, false, 39.430887805,
                           34.930887805, 20.088604444, 352, 1, 2, kDealt},
                    Golden{"gm1", 128, 128, 1, 5, false, false, 51.074517073,
                           46.574517073, 20.088604444, 512, 2, 2, kDealt},
                    Golden{"gm1", 256, 256, 2, 5, true, true, 46.406597759,
                           41.399570732, 20.095145833, 256, 1, 2, kDealt},
                    Golden{"gm2", 128, 64, 1, 7, false, false, 100.942181818,
                           96.442181818, 11.377777778, 3584, 4, 1, kDealt},
                    Golden{"gm3", 256, 128, 2, 7, true, false, 9.674946341,
                           5.174946341, 2.566826667, 60, 2, 1, kDealt},
                    Golden{"gm1", 256, 256, 2, 5, true, true, 25.707608080,
                           20.100581053, 20.095145833, 128, 1, 1, kCounter},
                    Golden{"gm1", 256, 256, 2, 5, true, true, 25.107608080,
                           20.100581053, 20.095145833, 128, 1, 1, kControl},
                    Golden{"gm1", 128, 256, 1, 4, true, true, 52.517251945,
                           47.544819512, 20.106057619, 512, 1, 2, kControl},
                    Golden{"gm2", 256, 256, 2, 5, true, true, 16.793309291,
                           10.209818947, 11.393849832, 224, 1, 1, kCounter}));

/// The longest list of a schedule, one tile after another.
double packNaively(const std::vector<TileRun> &runs, size_t slots,
                   bool isDealt) {
  std::vector<double> load(slots);
  size_t next = 0;
  for (const TileRun &run : runs)
    for (int64_t i = 0; i < run.count; ++i, ++next)
      *(isDealt ? load.begin() + static_cast<ptrdiff_t>(next % slots)
                : std::min_element(load.begin(), load.end())) += run.cycles;
  return *std::max_element(load.begin(), load.end());
}

TEST(Packing, EqualsOneTileAfterAnother) {
  const std::vector<std::vector<TileRun>> kCases = {
      {{1, 5}},
      {{7, 3}, {100, 1}, {3, 9}},
      {{1000, 2}, {1, 700}, {999, 3}},
      {{1, 7000}, {999, 3}, {5000, 2}},
      {{12, 8}, {12, 7}, {12, 6}, {13, 1}},
      {{5, 100}, {200, 1}}};
  for (const std::vector<TileRun> &runs : kCases)
    for (int64_t slots : {1, 3, 12, 74, 148}) {
      size_t count = static_cast<size_t>(slots);
      EXPECT_EQ(packRoundRobin(runs, slots), packNaively(runs, count, true));
      EXPECT_EQ(packFirstFree(runs, slots), packNaively(runs, count, false));
    }
}

// Lists of any length take the same time: many short tiles beside a long one.
TEST(Packing, DoesNotCountTiles) {
  double most = packFirstFree({{1, 3e9}, {int64_t(1) << 40, 400}}, 148);
  EXPECT_NEAR(most, (3e9 + 400 * 0x1p40) / 148, 400);
  EXPECT_EQ(packFirstFree({{1, 3e9}, {100'000'000, 400}}, 148), 3e9);
}

Tile completeTile(Tile tile, const Problem &problem) {
  return complete(tile, problem, kMachine);
}

// More of anything never takes less time, and no tile beats the floor.
TEST(Predict, IsMonotonic) {
  for (Tile tile : {Tile{.n = 128}, Tile{.m = 256, .n = 256, .ctas = 2},
                    Tile{.n = 16, .swapAB = true},
                    Tile{.m = 256, .n = 64, .ctas = 2, .swapAB = true}}) {
    double before = 0;
    for (int64_t rows : {1, 8, 16, 64, 100, 128, 200, 256, 1024, 4096}) {
      Problem problem;
      problem.groups = {{32, rows, 4096, 4096}};
      Prediction own = predict(completeTile(tile, problem), problem, kMachine);
      EXPECT_GE(own.total, before) << rows;
      EXPECT_GE(own.total, computeFloor(problem, kMachine).getTotal());
      before = own.total;
    }
    before = 0;
    for (int64_t k : {256, 512, 1536, 4096, 7168}) {
      Problem problem;
      problem.groups = {{32, 64, 4096, k}};
      Prediction own = predict(completeTile(tile, problem), problem, kMachine);
      EXPECT_GE(own.total, before) << k;
      before = own.total;
    }
  }
}

TEST(Predict, FewerStagesAreNeverFaster) {
  Problem problem = makeGrouped("gm1");
  double before = 1e9;
  for (int64_t stages : {1, 2, 3, 4, 5}) {
    Tile tile = completeTile({.n = 128, .stages = stages}, problem);
    Prediction own = predict(tile, problem, kMachine);
    EXPECT_LE(own.total, before);
    before = own.total;
  }
}

TEST(Predict, OneAccumulatorExposesTheEpilogue) {
  Problem problem = makeGrouped("gm2");
  Tile tile = completeTile({.n = 128, .accumulatorStages = 1}, problem);
  double exposed = predict(tile, problem, kMachine).busy;
  tile.accumulatorStages = 2;
  // 728 tiles on 148 slots are at most 5 on one; 128 columns of 8 cycles each.
  EXPECT_NEAR(exposed - predict(tile, problem, kMachine).busy,
              5 * 128 * 8 / 1850.0, 1e-9);
}

// One of 64 columns takes the 590 cycles in which its stage arrives, and its
// number 1110.
TEST(Predict, ShortTilesWaitForTheirNumbers) {
  Problem problem;
  problem.groups = {{1, 128, 1480 * 64, 256}};
  Tile tile = completeTile({.n = 64}, problem);
  Prediction dealt = predict(tile, problem, kMachine);
  EXPECT_NEAR(dealt.busy, 10 * 28672 / (13.3e6 / 148), 1e-9);
  tile.scheduler = Scheduler::LaunchControl;
  Prediction fetched = predict(tile, problem, kMachine);
  EXPECT_NEAR(fetched.busy, 10 * 1110 / 1850.0, 1e-9);
  EXPECT_EQ(fetched.limit, Limit::TileNumber);
  EXPECT_EQ(fetched.fixed, dealt.fixed);
  tile.scheduler = Scheduler::DynamicCounter;
  EXPECT_NEAR(predict(tile, problem, kMachine).total - fetched.total, 0.6,
              1e-9);
}

TEST(Predict, NothingToDoTakesTheFixedTime) {
  Problem problem;
  problem.groups = {{4, 0, 4096, 7168}};
  Tile tile = completeTile({.n = 64}, problem);
  Prediction own = predict(tile, problem, kMachine);
  EXPECT_EQ(own.tiles, 0);
  EXPECT_EQ(own.total, own.fixed);
}

TEST(Predict, SurvivesAbsurdExtents) {
  Problem problem;
  int64_t most = int64_t(1) << 31;
  problem.groups = {{most, most, most, most}};
  Tile tile = completeTile({.n = 8, .swapAB = true}, problem);
  EXPECT_GT(predict(tile, problem, kMachine).total, 1e9);
}

int64_t countActive(const std::vector<Problem::Group> &groups) {
  int64_t active = 0;
  for (const Problem::Group &group : groups)
    active += group.count;
  return active;
}

// Expected numbers are computed from the closed form of the expectation.
TEST(SpreadRows, FollowsTheExpectation) {
  // 128 (1 - (127/128)^64) = 50.5 groups with a row.
  EXPECT_NEAR(double(countActive(spreadRows(64, 128, 64, 64))), 50.5, 1);
  // 16 tokens that choose 4 of 128: 128 (1 - (124/128)^16) = 51.0.
  EXPECT_NEAR(double(countActive(spreadRows(64, 128, 64, 64, INT64_MAX, 4))),
              51.0, 1);
  // One token reaches as many groups as it chooses.
  EXPECT_EQ(countActive(spreadRows(8, 256, 64, 64, INT64_MAX, 8)), 8);
  EXPECT_EQ(countActive(spreadRows(4096, 8, 64, 64)), 8);
  EXPECT_TRUE(spreadRows(0, 8, 64, 64).empty());
  EXPECT_EQ(countActive(spreadRows(1, 8, 64, 64)), 1);
}

TEST(SpreadRows, KeepsTheSumAndTheBounds) {
  for (int64_t count : {1, 2, 8, 32, 128, 256, 5000})
    for (int64_t rows : {1, 7, 64, 1000, 20000, 1000000}) {
      Problem problem;
      problem.groups = spreadRows(rows, count, 64, 64);
      EXPECT_LE(problem.groups.size(), 17u);
      EXPECT_LE(countActive(problem.groups), count);
      // Each of `count` quantiles and the rounding of each class are off by
      // half a row at most.
      EXPECT_NEAR(double(problem.getRows()), double(rows), double(count) + 1)
          << count;
      for (const Problem::Group &group : spreadRows(rows, count, 64, 64, 10))
        EXPECT_LE(group.rows, 10);
    }
}

// Half of the groups have more rows than the mean.
TEST(SpreadRows, IsUneven) {
  auto groups = spreadRows(1024, 128, 64, 64);
  EXPECT_LT(groups.front().rows, 5);
  EXPECT_GT(groups.back().rows, 12);
}

} // namespace
