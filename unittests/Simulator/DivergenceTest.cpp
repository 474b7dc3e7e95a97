//===- DivergenceTest.cpp - lane groups, reconvergence and barriers -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs whose result depends on every lane taking its own path and on
// lanes meeting again where they must.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

TEST(Divergence, LanesLoopTheirOwnCountAndMeet) {
  // Lane i loops i times; the ballot after the loop needs all lanes.
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  loop:
    setp.ge.u32 %p1, %r2, %r0;
    @%p1 bra done;
    add.u32 %r2, %r2, 1;
    add.u32 %r3, %r3, %r2;
    bra loop;
  done:
    vote.sync.ballot.b32 %r4, 1, -1;
    st.global.v2.b32 [%rd1], {%r3, %r4};
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], 0xffffffff00000000ull | (i * (i + 1) / 2));
}

TEST(Divergence, NestedBranchesAndEarlyExit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RunOptions options;
    options.seed = seed;
    Outcome outcome = run(moduleAround(prologue() + R"(
      and.b32 %r2, %r0, 1;
      setp.eq.u32 %p1, %r2, 0;
      setp.gt.u32 %p2, %r0, 23;
      mov.u32 %r3, 1;
      @%p1 bra even;
      @%p2 ret;
      mov.u32 %r3, 2;
      bra join;
    even:
      @%p2 bra join;
      mov.u32 %r3, 3;
    join:
      activemask.b32 %r4;
      st.global.v2.b32 [%rd1], {%r3, %r4};
      ret;)"),
                          {}, 32, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
    for (uint64_t i = 0; i < 32; ++i) {
      uint64_t value = i % 2 == 0 ? (i > 23 ? 1 : 3) : 2;
      uint64_t expected = i > 23 && i % 2 ? 0 : 0x55ffffff00000000ull | value;
      EXPECT_EQ(outcome.out[i], expected) << "lane " << i;
    }
  }
}

TEST(Divergence, ShuffleWaitsForItsMembers) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    setp.lt.u32 %p1, %r0, 16;
    mov.u32 %r3, %r0;
    @%p1 bra low;
    add.u32 %r3, %r3, 100;
  low:
    shfl.sync.bfly.b32 %r4|%p2, %r3, 16, 31, -1;
    st.global.b32 [%rd1], %r4;
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], i < 16 ? i + 16 + 100 : i - 16);
}

TEST(Divergence, BarriersOrderWarps) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RunOptions options;
    options.seed = seed;
    Outcome outcome =
        run(moduleAround(prologue() + R"(
      mov.u32 %r2, smem;
      shl.b32 %r3, %r0, 2;
      add.u32 %r4, %r2, %r3;
      st.shared.u32 [%r4], %r0;
      bar.sync 0;
      sub.u32 %r5, 127, %r0;
      shl.b32 %r5, %r5, 2;
      add.u32 %r5, %r2, %r5;
      ld.shared.u32 %r6, [%r5];
      st.global.b32 [%rd1], %r6;
      ret;)",
                         ".extern .shared .align 16 .b8 smem[];\n"),
            {}, 128, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
    for (uint64_t i = 0; i < 128; ++i)
      EXPECT_EQ(outcome.out[i], 127 - i);
  }
}

TEST(Divergence, DeadlockIsExplained) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bar.sync 1, 64;
    ret;)"),
                        {}, 64);
  EXPECT_FALSE(outcome.result.completed);
  ASSERT_EQ(outcome.result.reports.all().size(), 1u);
  EXPECT_EQ(outcome.result.reports.all()[0].kind, ReportKind::Deadlock);
  EXPECT_NE(outcome.reports.find("32 threads of 64"), std::string::npos)
      << outcome.reports;
}

TEST(Divergence, ReadBeforeWriteOfARegisterIsReported) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    setp.lt.u32 %p1, %r0, 5;
    @%p1 mov.u32 %r2, 7;
    st.global.b32 [%rd1], %r2;
    ret;)"));
  EXPECT_TRUE(outcome.result.completed);
  ASSERT_EQ(outcome.result.reports.all().size(), 1u);
  EXPECT_EQ(outcome.result.reports.all()[0].kind,
            ReportKind::UninitializedRead);
  EXPECT_NE(outcome.reports.find("register %r2"), std::string::npos);
}

TEST(Divergence, OutOfBoundsNamesTheLane) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    setp.eq.u32 %p1, %r0, 9;
    @%p1 st.global.b64 [%rd1+4096], %rd1;
    ret;)"));
  EXPECT_FALSE(outcome.result.completed);
  ASSERT_EQ(outcome.result.reports.all().size(), 1u);
  EXPECT_EQ(outcome.result.reports.all()[0].kind, ReportKind::OutOfBounds);
  EXPECT_NE(outcome.reports.find("lane 9"), std::string::npos)
      << outcome.reports;
}

} // namespace
