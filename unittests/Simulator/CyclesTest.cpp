//===- CyclesTest.cpp - tests of the model of cycles ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intervals are those that a public micro-benchmark measured on a B200, and
// estimates add up from the costs in docs/Simulator.md.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Async/TileCopy.h"
#include "nvfp4/Simulator/Machine/Cycles.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const CycleCosts costs;

// SemiAnalysisAI/microbench-blackwell, umma_latency/fit_results.csv, rows BF16:
// cycles between two instructions.
TEST(Cycles, IntervalsOfMma) {
  struct Row {
    bool aInTmem;
    unsigned ctas, m, n;
    double interval;
  };
  const Row rows[] = {{false, 1, 64, 64, 32.02},   {false, 1, 64, 96, 48.02},
                      {false, 1, 64, 256, 128.0},  {false, 1, 128, 64, 48.02},
                      {false, 1, 128, 80, 52.02},  {false, 1, 128, 128, 64.02},
                      {false, 1, 128, 256, 128.0}, {false, 2, 128, 64, 25.02},
                      {false, 2, 128, 96, 29.02},  {false, 2, 128, 128, 32.01},
                      {false, 2, 128, 256, 64.02}, {false, 2, 256, 64, 43.02},
                      {false, 2, 256, 96, 49.36},  {false, 2, 256, 128, 64.03},
                      {false, 2, 256, 256, 128.0}, {true, 1, 64, 64, 32.02},
                      {true, 1, 128, 64, 32.02},   {true, 1, 128, 256, 128.0},
                      {true, 2, 128, 64, 18.02},   {true, 2, 128, 256, 64.02},
                      {true, 2, 256, 64, 32.01},   {true, 2, 256, 256, 128.0}};
  for (const Row &row : rows) {
    PipeCost cost = costs.tcgen05Mma(row.m, row.n, row.ctas, row.aInTmem);
    // Pairs with few columns take up to 3 cycles more than the model says.
    EXPECT_NEAR(static_cast<double>(cost.interval), row.interval,
                row.ctas == 2 && row.n < 128 ? 3.1 : 0.1)
        << row.ctas << " " << row.m << " " << row.n;
  }
  EXPECT_EQ(costs.tcgen05Mma(128, 256, 1, true).tail, 116u);
  EXPECT_EQ(costs.tcgen05Mma(256, 256, 2, true).tail, 150u);
}

TEST(Cycles, CostsCanBeSet) {
  CycleCosts other;
  EXPECT_EQ(other.set("copy-bytes=60,copy-latency=700,mma-tail=250"), "");
  EXPECT_EQ(other.copyBytes, 60u);
  EXPECT_EQ(other.copyLatency, 700u);
  EXPECT_EQ(other.tcgen05Mma(128, 128, 1).tail, 250u);
  for (const char *wrong :
       {"", "copy=1", "copy-bytes", "copy-bytes=", "copy-bytes=x",
        "copy-bytes=-1", "wake=1,", "copy-bytes=0", "wake=99999999999"})
    EXPECT_NE(other.set(wrong), "") << wrong;
  EXPECT_EQ(other.set("wake=1,copy-bytes=0"),
            "expected copy-bytes=NUMBER with a number from 1 to 1000000000, "
            "but got 'copy-bytes=0'");
  EXPECT_EQ(other.set("wake=1,copy=2"),
            "expected a cost of instruction, wake, turnaround, copy-bytes, "
            "copy-latency, tensor-memory, tensor-copy, mma-tail, "
            "mma-pair-tail, link-bytes, link-latency, but got 'copy'");
  // What is wrong changes nothing.
  EXPECT_EQ(other.wake, costs.wake);
  EXPECT_EQ(other.copyBytes, 60u);
  for (auto [name, value] : other.list()) {
    CycleCosts next = other;
    EXPECT_EQ(next.set(name + ("=" + std::to_string(value + 1))), "");
    EXPECT_NE(next.list(), other.list()) << name;
  }
}

uint64_t estimate(const std::string &body, uint64_t seed = 1) {
  RunOptions options;
  options.delays = DelayMode::Cycles;
  options.seed = seed;
  Extents extents;
  extents.sharedBytes = 64 * 1024;
  std::vector<uint64_t> in(8 * 1024);
  Outcome outcome =
      runGrid(moduleAround(prologue() + body,
                           ".extern .shared .align 128 .b8 smem[];\n"),
              in, extents, options);
  EXPECT_EQ(outcome.reports, "");
  return outcome.result.statistics.ticks;
}

TEST(Cycles, InstructionsOfAWarpFollowEachOther) {
  uint64_t none = estimate("ret;");
  std::string ten;
  for (int i = 0; i < 10; ++i)
    ten += "  add.u32 %r0, %r0, 1;\n";
  EXPECT_EQ(estimate(ten + "ret;"), none + 10 * costs.instruction);
}

std::string copies(unsigned count, unsigned bytes) {
  std::string size = std::to_string(bytes);
  std::string text = R"(
    mov.u32 %r1, smem;
    add.u32 %r4, %r1, 65000;
    and.b32 %r4, %r4, 0xfffffff8;
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], )" +
                     std::to_string(count * bytes) + ";\n";
  for (unsigned i = 0; i < count; ++i)
    text += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
            "[%r1+" +
            std::to_string(i * bytes) + "], [%rd2], " + size + ", [%r4];\n";
  return text + R"(
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
    @!%p2 bra wait;
done:
    ret;)";
}

TEST(Cycles, CopiesShareTheEngineAndOverlapTheirLatency) {
  uint64_t one = estimate(copies(1, 8896)), two = estimate(copies(2, 8896));
  EXPECT_GT(one, costs.copyLatency + 8896 / costs.copyBytes);
  EXPECT_LT(one, costs.copyLatency + 8896 / costs.copyBytes + 150);
  // The second is in flight with the first, and ends as much later as it takes
  // to move.
  EXPECT_EQ(two - one, (8896 + costs.copyBytes - 1) / costs.copyBytes);
}

TEST(Cycles, DoNotDependOnTheSeed) {
  EXPECT_EQ(estimate(copies(3, 1024), 1), estimate(copies(3, 1024), 77));
}

TEST(Cycles, RowsOfTensorCopiesMoveInLines) {
  auto moved = [](unsigned rowBytes, unsigned rows) {
    TensorMapSpec spec;
    spec.type = TensorType::U8;
    spec.rank = 2;
    spec.address = 4096;
    spec.size = {1024, 64, 1, 1, 1};
    spec.stride = {1024};
    spec.box = {rowBytes, rows, 1, 1, 1};
    TileBox box;
    EXPECT_EQ(encodeTensorMap(spec, box.map), "");
    return box.movedBytes();
  };
  EXPECT_EQ(moved(16, 8), 8u * 128);
  EXPECT_EQ(moved(128, 8), 8u * 128);
  EXPECT_EQ(moved(144, 3), 3u * 256);
}

} // namespace
