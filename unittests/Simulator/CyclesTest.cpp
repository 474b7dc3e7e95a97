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

#include "nvfp4/Simulator/Machine/Cycles.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

// SemiAnalysisAI/microbench-blackwell, umma_latency/fit_results.csv: 128.05,
// 64, 48 for one CTA with M = 128; 128.0, 64, 43.4 for a pair with M = 256.
TEST(Cycles, IntervalsOfMma) {
  EXPECT_EQ(cycles::tcgen05Mma(128, 256, 1).interval, 128u);
  EXPECT_EQ(cycles::tcgen05Mma(128, 128, 1).interval, 64u);
  EXPECT_EQ(cycles::tcgen05Mma(128, 64, 1).interval, 48u);
  EXPECT_EQ(cycles::tcgen05Mma(256, 256, 2).interval, 128u);
  EXPECT_EQ(cycles::tcgen05Mma(256, 128, 2).interval, 64u);
  EXPECT_NEAR(double(cycles::tcgen05Mma(256, 64, 2).interval), 43.4, 4);
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
  EXPECT_EQ(estimate(ten + "ret;"), none + 10 * cycles::instruction);
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
  EXPECT_GT(one, cycles::copyLatency + 8896 / cycles::copyBytes);
  EXPECT_LT(one, cycles::copyLatency + 8896 / cycles::copyBytes + 150);
  // The second is in flight with the first, and ends as much later as it takes
  // to move.
  EXPECT_EQ(two - one, (8896 + cycles::copyBytes - 1) / cycles::copyBytes);
}

TEST(Cycles, DoNotDependOnTheSeed) {
  EXPECT_EQ(estimate(copies(3, 1024), 1), estimate(copies(3, 1024), 77));
}

} // namespace
