//===- Tcgen05ErrorsTest.cpp - misuse of tcgen05 ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms of tcgen05.ld.red that do not exist, lanes that tcgen05.cp and
// tcgen05.shift cannot start at, and rows shifted before they are written.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const char *sharedMemory = ".extern .shared .align 128 .b8 smem[];\n";

/// What loading `instruction` for sm_103a says.
std::string refusal(const std::string &instruction) {
  std::string text =
      moduleAround(prologue() + instruction + "\nret;", sharedMemory);
  text.replace(text.find("sm_100a"), 7, "sm_103a");
  return loadError(text);
}

TEST(Tcgen05Errors, FormsOfReduction) {
  auto holds = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds(refusal("tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.u32 "
                            "{%r1, %r2}, %r3, [%r4];"),
                    "expected type .f32 with '.abs' or '.NaN', but got .u32"));
  EXPECT_TRUE(holds(refusal("tcgen05.ld.red.sync.aligned.16x64b.x2.min.u32 "
                            "{%r1, %r2}, %r3, [%r4];"),
                    "expected shape .32x32b or .16x32bx2, but got "
                    "'tcgen05.ld.red.sync.aligned.16x64b.x2.min.u32'"));
  EXPECT_TRUE(holds(refusal("tcgen05.ld.red.sync.aligned.32x32b.x1.min.u32 "
                            "{%r1}, %r3, [%r4];"),
                    "expected .x2 or more, but got "
                    "'tcgen05.ld.red.sync.aligned.32x32b.x1.min.u32'"));
}

/// Reports of one warp that allocates 64 columns, runs `body` in lane 0 with
/// the address in %r3, waits for it and gives the columns back.
std::string reportsOf(const std::string &body) {
  return runGrid(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r2, %r1, 8;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;
    ld.shared.u32 %r3, [%r1];
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra finish;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mov.u64 %rd4, 0;
)" + body + R"(
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra wait;
finish:
    bar.warp.sync -1;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
    ret;)",
                              sharedMemory),
                 {}, {.threads = 32, .ctas = 1, .sharedBytes = 1024}, {})
      .reports;
}

TEST(Tcgen05Errors, WhatIsInFlightWhenColumnsAreGivenBack) {
  // An arrival of a commit uses no tensor memory, a copy does.
  auto reportsWith = [](const std::string &copy) {
    RunOptions options;
    options.delays = DelayMode::Adversarial;
    options.seed = 8; // a slow tensor pipe
    return runGrid(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;
    ld.shared.u32 %r3, [%r1];
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1+8], 1;
    mov.u64 %rd4, 0x400000000040;
    bar.warp.sync -1;
    )" + copy + R"(
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+8];
    bar.warp.sync -1;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], 0;
    @!%p2 bra wait;
    ret;)",
                                sharedMemory),
                   {}, {.sharedBytes = 8192}, options)
        .reports;
  };
  EXPECT_EQ(reportsWith(""), "");
  EXPECT_NE(reportsWith("@%p1 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3], "
                        "%rd4;")
                .find("tmem-allocation: tensor memory is released while tensor "
                      "operations are in flight"),
            std::string::npos);
}

/// Reports of a warp that stores `use` of what it has loaded from tensor
/// memory, and waits afterwards.
std::string unwaitedReports(const std::string &use, CheckProfile profile,
                            bool check) {
  RunOptions options;
  options.check = check;
  options.profile = profile;
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;
    ld.shared.u32 %r3, [%r1];
    add.u32 %r4, %r0, 5;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3], {%r4};
    tcgen05.wait::st.sync.aligned;
    mov.u32 %r6, 0;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r3];
    )" + use + R"(
    st.global.v2.u32 [%rd1], {%r5, %r6};
    tcgen05.wait::ld.sync.aligned;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
    ret;)",
                                     sharedMemory),
                        {}, 32, options);
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i] & 0xffffffff, i + 5);
  return outcome.reports;
}

TEST(Tcgen05Errors, RegistersUsedBeforeTheyAreWaitedFor) {
  for (const char *use : {"", "add.u32 %r6, %r5, 1;"}) {
    EXPECT_EQ(unwaitedReports(use, CheckProfile::Cutlass, true), "");
    EXPECT_EQ(unwaitedReports(use, CheckProfile::Strict, false), "");
    EXPECT_NE(unwaitedReports(use, CheckProfile::Strict, true)
                  .find("unwaited-tmem-load: register %r5 is used before "
                        "tcgen05.wait::ld has waited for it"),
              std::string::npos);
  }
}

/// Reports of a warp that loads columns 0 and 1 apart, and does `use` before it
/// writes them again.
std::string overwriteReports(const std::string &use, CheckProfile profile) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;
    ld.shared.u32 %r3, [%r1];
    tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r0, %r0};
    tcgen05.wait::st.sync.aligned;
    mov.u32 %r7, 0;
again:
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r3];
    add.u32 %r4, %r3, 1;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r4];
    )" + use + R"(
    tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r0, %r0};
    tcgen05.wait::st.sync.aligned;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, 2;
    @%p1 bra again;
    add.u32 %r6, %r5, %r6;
    st.global.u32 [%rd1], %r6;
    tcgen05.wait::ld.sync.aligned;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
    ret;)",
                          sharedMemory),
             {}, 32, options)
      .reports;
}

TEST(Tcgen05Errors, WhatUsesALoadHasWaitedForIt) {
  const std::string race =
      "data-race: write of tensor memory column {} after a read that nothing "
      "orders before it";
  auto raceOf = [&](const char *column) {
    return std::string(race).replace(race.find("{}"), 2, column);
  };
  auto reports = [&](const std::string &use) {
    return overwriteReports(use, CheckProfile::Cutlass);
  };
  EXPECT_EQ(reports("add.u32 %r8, %r5, %r6;"), "");
  EXPECT_EQ(reports("tcgen05.wait::ld.sync.aligned;"), "");
  std::string none = reports(""), one = reports("add.u32 %r8, %r5, 1;");
  EXPECT_NE(none.find(raceOf("0")), std::string::npos) << none;
  EXPECT_NE(none.find(raceOf("1")), std::string::npos) << none;
  EXPECT_EQ(one.find(raceOf("0")), std::string::npos) << one;
  EXPECT_NE(one.find(raceOf("1")), std::string::npos) << one;
  // By the text a use waits for nothing.
  EXPECT_NE(overwriteReports("add.u32 %r8, %r5, %r6;", CheckProfile::Strict)
                .find(raceOf("0")),
            std::string::npos);
}

TEST(Tcgen05Errors, LanesOfCopiesAndShifts) {
  const char *copy = "tcgen05.cp.cta_group::1.";
  const std::string descriptor =
      "mov.u64 %rd4, 0x400000000040;\nadd.u32 %r4, %r3, ";
  EXPECT_NE(reportsOf(descriptor + "0x200000;\n" + copy + "4x256b [%r4], %rd4;")
                .find("tmem-lane: expected a lane of 0 to 31, but got 32"),
            std::string::npos);
  EXPECT_NE(
      reportsOf(descriptor + "0x10000;\n" + copy + "128x256b [%r4], %rd4;")
          .find("tmem-lane: expected lane 0, but got 1"),
      std::string::npos);
  EXPECT_NE(reportsOf("add.u32 %r4, %r3, 0x210000;\n"
                      "tcgen05.shift.cta_group::1.down [%r4];")
                .find("tmem-lane: expected a lane that is a multiple of 32, "
                      "but got 33"),
            std::string::npos);
}

TEST(Tcgen05Errors, ShiftOfRowsNeverWritten) {
  EXPECT_NE(reportsOf("tcgen05.shift.cta_group::1.down [%r3];")
                .find("uninitialized-read: tensor memory from column 0 is "
                      "shifted before it is written"),
            std::string::npos);
}

} // namespace
