//===- BudgetTest.cpp - tests of the memory plans ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values are those of CUTLASS's kernels, read from its compiled
// configurations, and of its tensor memory layouts.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Budget.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace nvfp4::strategy;
using nvfp4::format::BlockFormat;

namespace {

const Machine &kMachine = kB200;

Problem makeProblem(BlockFormat lhs, BlockFormat rhs) {
  Problem problem;
  problem.groups = {{8, 128, 4096, 7168}};
  problem.lhs = lhs;
  problem.rhs = rhs;
  return problem;
}

Tile makeTile(int64_t m, int64_t n, int64_t k) {
  return {.m = m, .n = n, .k = k, .ctas = m / 128};
}

/// A kernel of CUTLASS: its format and tile, the bytes that it expects on a
/// barrier, the shared memory that its stages leave to the rest, its stages.
struct CutlassKernel {
  BlockFormat format;
  int64_t m, n, k, transaction, other, stages;
};

class Cutlass : public testing::TestWithParam<CutlassKernel> {};

TEST_P(Cutlass, HasItsTransactionsAndStages) {
  const CutlassKernel &kernel = GetParam();
  Problem problem = makeProblem(kernel.format, kernel.format);
  Tile tile = makeTile(kernel.m, kernel.n, kernel.k);
  EXPECT_EQ(transactionBytes(tile, problem), kernel.transaction);
  EXPECT_EQ(stagesThatFit(kMachine.sharedMemory,
                          stageBytes(tile, problem).getTotal(), kernel.other),
            kernel.stages);
}

// `other` is its total of shared memory less its stages: the epilogue (2
// subtiles of bf16, 128x32, or 128x128 for n = 256) and its barriers.
INSTANTIATE_TEST_SUITE_P(
    Kernels, Cutlass,
    testing::Values(
        CutlassKernel{BlockFormat::NVFP4, 128, 128, 256, 36864, 22016, 5},
        CutlassKernel{BlockFormat::NVFP4, 128, 192, 256, 47104, 22016, 4},
        CutlassKernel{BlockFormat::NVFP4, 128, 256, 256, 55296, 71680, 2},
        CutlassKernel{BlockFormat::NVFP4, 256, 128, 256, 57344, 22016, 7},
        CutlassKernel{BlockFormat::NVFP4, 256, 256, 256, 77824, 71680, 4},
        CutlassKernel{BlockFormat::NVFP4, 128, 128, 256, 36864, 17408, 5},
        CutlassKernel{BlockFormat::NVFP4, 256, 256, 256, 77824, 67584, 4},
        CutlassKernel{BlockFormat::MXFP8_E4M3, 128, 128, 128, 33792, 17408, 6},
        CutlassKernel{BlockFormat::MXFP8_E4M3, 256, 256, 128, 68608, 67584,
                      4}));

TEST(StageBytes, ScalesFollowTheirLayout) {
  Problem nvfp4 = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  EXPECT_EQ(stageBytes(makeTile(128, 64, 256), nvfp4).scalesB, 2048);
  EXPECT_EQ(stageBytes(makeTile(128, 192, 256), nvfp4).scalesB, 4096);
  StageBytes pair = stageBytes(makeTile(256, 256, 256), nvfp4);
  EXPECT_EQ(pair.scalesA, 2048);
  EXPECT_EQ(pair.scalesB, 4096);
  EXPECT_EQ(pair.b, 128 * 128);
  Problem mxfp4 = makeProblem(BlockFormat::MXFP4, BlockFormat::MXFP4);
  EXPECT_EQ(stageBytes(makeTile(128, 128, 256), mxfp4).scalesA, 1024);
  Problem mxfp8 = makeProblem(BlockFormat::MXFP8_E5M2, BlockFormat::MXFP8_E5M2);
  EXPECT_EQ(stageBytes(makeTile(128, 128, 128), mxfp8).scalesB, 512);
}

TEST(StageBytes, PaddedFp4IsCountedPacked) {
  Problem mixed = makeProblem(BlockFormat::MXFP8_E4M3, BlockFormat::MXFP4);
  Tile tile = makeTile(128, 128, 128);
  EXPECT_EQ(stageBytes(tile, mixed).b, 128 * 128);
  EXPECT_EQ(transactionBytes(tile, mixed), 128 * 128 + 128 * 64 + 1024);
  tile.swapAB = true;
  tile.n = 64;
  EXPECT_EQ(transactionBytes(tile, mixed), 128 * 64 + 64 * 128 + 1024);
}

TEST(StageBytes, NarrowTilesHaveAnAtomToReadBehindTheirScales) {
  Problem nvfp4 = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  for (auto [n, scales] : {std::pair(8, 2560), {16, 2560}, {32, 2048}}) {
    Tile tile = makeTile(128, n, 256);
    tile.swapAB = true;
    EXPECT_EQ(stageBytes(tile, nvfp4).scalesB, scales) << n;
  }
}

TEST(SharedMemory, TurnsAtMost32RowsAtATime) {
  Problem nvfp4 = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  for (auto [n, rows] : {std::pair(8, 8), {32, 32}, {256, 32}}) {
    Tile tile = makeTile(128, n, 256);
    tile.swapAB = true;
    EXPECT_EQ(planSharedMemory(tile, nvfp4).epilogueBytes, rows * 132 * 4) << n;
  }
}

TEST(ScaleAtoms, CoverATileWhereverItStarts) {
  for (int64_t rows = 8; rows <= 256; rows += 8) {
    int64_t most = 0;
    for (int64_t tile = 0; tile < 64; ++tile) {
      int64_t start = rows % 64 == 0 ? tile * rows : 0;
      most = std::max(most, (start + rows - 1) / 128 - start / 128 + 1);
    }
    EXPECT_EQ(scaleAtoms(rows), most) << rows;
  }
}

struct Columns {
  BlockFormat format;
  int64_t n, accumulators, scaleStages;
  int64_t stride, scales, scalesB, used;
};

class TensorMemory : public testing::TestWithParam<Columns> {};

TEST_P(TensorMemory, HasItsPlan) {
  const Columns &golden = GetParam();
  Problem problem = makeProblem(golden.format, golden.format);
  Tile tile = makeTile(128, golden.n, getTileK(problem));
  tile.accumulatorStages = golden.accumulators;
  tile.scaleStages = golden.scaleStages;
  auto plan = planTensorMemory(tile, problem, kMachine);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->accumulatorStride, golden.stride);
  EXPECT_EQ(plan->scales, golden.scales);
  EXPECT_EQ(plan->scalesB, golden.scalesB);
  EXPECT_EQ(plan->used, golden.used);
  // A pair needs the columns of one CTA with the whole n.
  tile.m = 256;
  tile.ctas = 2;
  auto pair = planTensorMemory(tile, problem, kMachine);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->used, golden.used);
}

// 256 with two accumulators overlaps as CuTe DSL does: 208 columns apart, the
// scales in the last 48.
INSTANTIATE_TEST_SUITE_P(
    Tiles, TensorMemory,
    testing::Values(Columns{BlockFormat::NVFP4, 64, 2, 1, 64, 128, 16, 160},
                    Columns{BlockFormat::NVFP4, 128, 2, 1, 128, 256, 16, 288},
                    Columns{BlockFormat::NVFP4, 128, 2, 2, 128, 256, 16, 320},
                    Columns{BlockFormat::NVFP4, 192, 2, 1, 192, 384, 16, 432},
                    Columns{BlockFormat::NVFP4, 256, 2, 1, 208, 464, 16, 512},
                    Columns{BlockFormat::NVFP4, 256, 1, 1, 256, 256, 16, 304},
                    Columns{BlockFormat::MXFP4, 128, 2, 1, 128, 256, 8, 272},
                    Columns{BlockFormat::MXFP8_E4M3, 128, 2, 1, 128, 256, 4,
                            264}));

TEST(TensorMemory, AccumulatorsNeverOverlapScales) {
  for (BlockFormat format :
       {BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::MXFP8_E4M3})
    for (int64_t n = 8; n <= 256; n += 8)
      for (int64_t accumulators : {1, 2})
        for (int64_t scales : {1, 2}) {
          Problem problem = makeProblem(format, format);
          Tile tile = makeTile(128, n, getTileK(problem));
          tile.accumulatorStages = accumulators;
          tile.scaleStages = scales;
          auto plan = planTensorMemory(tile, problem, kMachine);
          if (!plan)
            continue;
          EXPECT_LE((accumulators - 1) * plan->accumulatorStride + n,
                    plan->scales);
          EXPECT_LE(plan->scales + scales * plan->scaleStride, plan->used);
          EXPECT_LE(plan->used, plan->allocated);
          EXPECT_LE(plan->allocated, 512);
          EXPECT_EQ(plan->overlapped, plan->accumulatorStride < n);
        }
}

TEST(Complete, FillsWhatIsOpen) {
  Problem problem = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  Tile tile = complete(makeTile(128, 128, 256), problem, kMachine);
  EXPECT_EQ(tile.stages, 5);
  EXPECT_EQ(tile.epilogueN, 32);
  EXPECT_EQ(tile.accumulatorStages, 2);
  EXPECT_EQ(tile.scaleStages, 2);
  tile = complete(makeTile(256, 256, 256), problem, kMachine);
  EXPECT_EQ(tile.stages, 5);
  EXPECT_EQ(tile.accumulatorStages, 2);
  EXPECT_EQ(tile.scaleStages, 1);
}

TEST(Complete, KeepsWhatIsGiven) {
  Problem problem = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  Tile given = makeTile(128, 128, 256);
  given.stages = 3;
  given.accumulatorStages = 1;
  given.scaleStages = 1;
  given.epilogueN = 64;
  EXPECT_EQ(complete(given, problem, kMachine), given);
}

// The time of a copy is hidden only if stages fill shared memory and no more.
TEST(Complete, OneMoreStageWouldNotFit) {
  Problem problem = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  for (int64_t ctas : {1, 2})
    for (int64_t n : {64, 128, 192, 256}) {
      Tile tile = complete(makeTile(128 * ctas, n, 256), problem, kMachine);
      EXPECT_LE(planSharedMemory(tile, problem).getTotal(),
                kMachine.sharedMemory);
      ++tile.stages;
      EXPECT_GT(planSharedMemory(tile, problem).getTotal(),
                kMachine.sharedMemory);
    }
}

TEST(UnscaledRows, HaveCodesAndDecodedWeights) {
  Problem problem = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  problem.unscaledRows = problem.forKernels = true;
  EXPECT_EQ(getTileK(problem), 128);
  Tile tile = {.m = 128, .n = 64, .k = 128, .swapAB = true};
  StageBytes bytes = stageBytes(tile, problem);
  EXPECT_EQ(bytes.a, 128 * 64);
  EXPECT_EQ(bytes.b, 64 * 256);
  EXPECT_EQ(bytes.scalesA, 2 * 512);
  EXPECT_EQ(bytes.scalesB, 0);
  EXPECT_EQ(transactionBytes(tile, problem), bytes.getTotal());
  problem.rhs = BlockFormat::MXFP8_E4M3;
  bytes = stageBytes(tile, problem);
  EXPECT_EQ(bytes.a, 128 * 128);
  EXPECT_EQ(bytes.scalesA, 512);
  // Two buffers of 64 columns beside two accumulators; those of 256 columns
  // share half of them.
  auto plan = [&](int64_t n) {
    tile.n = n;
    return *planTensorMemory(complete(tile, problem, kMachine), problem,
                             kMachine);
  };
  EXPECT_EQ(plan(64).used, 2 * 64 + 2 * 64);
  EXPECT_EQ(plan(192).used, 512);
  EXPECT_FALSE(plan(192).overlapped);
  EXPECT_EQ(plan(256).used, 512);
  EXPECT_EQ(plan(256).accumulatorStride, 128);
  EXPECT_EQ(plan(256).scaleStages, 2);
}

// Beside weights that f16 does not hold, rows are multiplied as two of bf16,
// one part of a stage after the other.
TEST(UnscaledRows, OfF16AreSplitBesideUE8M0) {
  Problem problem = makeProblem(BlockFormat::NVFP4, BlockFormat::NVFP4);
  problem.unscaledRows = problem.f16Rows = problem.forKernels = true;
  Tile tile = {.m = 128, .n = 64, .k = 128, .stages = 2, .swapAB = true};
  EXPECT_FALSE(splitsRows(problem));
  int64_t whole = planSharedMemory(tile, problem).otherBytes;
  problem.rhs = BlockFormat::MXFP4;
  EXPECT_TRUE(splitsRows(problem));
  EXPECT_EQ(planSharedMemory(tile, problem).otherBytes, whole + 64 * 256);
  EXPECT_EQ(complete({.m = 128, .n = 256, .k = 128, .swapAB = true}, problem,
                     kMachine)
                .stages,
            1);
  problem.f16Rows = false;
  EXPECT_FALSE(splitsRows(problem));
}

} // namespace
