//===- LanesTest.cpp - lanes, rounds of loops and parts of words -*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the checker tells apart within a warp: an instruction in two rounds of a
// loop, lanes that share a word but no byte of it, and bytes that were accessed
// at different times. Each race has a control without it.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

constexpr CheckProfile profiles[] = {CheckProfile::Cutlass,
                                     CheckProfile::Strict};

std::string runBody(const std::string &body, const RunOptions &options,
                    unsigned threads) {
  return run(moduleAround(prologue() + R"(
    ld.param.u64 %rd3, [out];
    mov.u32 %r1, smem;
    mad.lo.u32 %r2, %r0, 4, %r1;
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.u32 %p3, %r0, 32;
    cvt.u16.u32 %h0, %r0;
)" + body + "\n    ret;",
                          ".extern .shared .align 128 .b8 smem[];\n"),
             {}, threads, options)
      .reports;
}

/// Reports of `body`, which finds in %r1 the address of shared memory and in
/// %r2 that of the thread's own word of it. Warps take turns in 16 ways.
std::string reportsOf(const std::string &body, CheckProfile profile,
                      unsigned threads = 32) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  std::string all;
  for (options.seed = 1; options.seed <= 16; ++options.seed)
    all += runBody(body, options, threads);
  return all;
}

/// The same of a body with a race, which is empty unless each turn shows it.
std::string raceOf(const std::string &body, CheckProfile profile,
                   unsigned threads = 32) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  std::string all;
  for (options.seed = 1; options.seed <= 16; ++options.seed) {
    std::string reports = runBody(body, options, threads);
    if (reports.empty())
      return "";
    all += reports;
  }
  return all;
}

bool hasRace(const std::string &reports, const std::string &message) {
  return reports.find("data-race: " + message) != std::string::npos;
}

constexpr const char *otherLane = "by another lane of the warp, without "
                                  "bar.warp.sync in between";

/// A loop of four rounds, of which round i runs `access` with the word of lane
/// (own + i * step) % 32 in %r3 and %rd4, and then `sync`.
std::string rounds(const std::string &access, unsigned step,
                   const std::string &sync) {
  return R"(
    mov.u32 %r4, 0;
loop:
    mad.lo.u32 %r3, %r4, )" +
         std::to_string(step) + R"(, %r0;
    and.b32 %r3, %r3, 31;
    shl.b32 %r3, %r3, 2;
    cvt.u64.u32 %rd4, %r3;
    add.u64 %rd4, %rd4, %rd3;
    add.u32 %r3, %r3, %r1;
)" + access +
         "\n" + sync + R"(
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p4, %r4, 4;
    @%p4 bra loop;
)";
}

TEST(Lanes, WritesOfOneInstructionInTwoRounds) {
  for (CheckProfile profile : profiles)
    for (const char *store :
         {"st.shared.u32 [%r3], %r0;", "st.global.u32 [%rd4], %r0;"}) {
      std::string race = raceOf(rounds(store, 1, ""), profile);
      EXPECT_TRUE(hasRace(race, "write of ")) << race;
      EXPECT_NE(race.find(std::string("after a write ") + otherLane),
                std::string::npos)
          << race;
      EXPECT_EQ(reportsOf(rounds(store, 1, "bar.warp.sync -1;"), profile), "");
      EXPECT_EQ(reportsOf(rounds(store, 32, ""), profile), "");
    }
}

TEST(Lanes, AtomicsOfOneInstructionInTwoRounds) {
  const char *exchange = "atom.shared.exch.b32 %r5, [%r3], %r0;";
  for (CheckProfile profile : profiles)
    EXPECT_EQ(reportsOf("st.shared.u32 [%r2], %r0;\n    bar.warp.sync -1;\n" +
                            rounds(exchange, 1, ""),
                        profile),
              "");
}

/// Pairs of lanes share a word: each reads a half of it and writes the half at
/// `offset` bytes from its own.
std::string halves(const std::string &space, const std::string &offset) {
  std::string base = space == "global" ? "%rd4" : "%r3";
  return R"(
    shl.b32 %r3, %r0, 1;
    cvt.u64.u32 %rd4, %r3;
    add.u64 %rd4, %rd4, %rd3;
    add.u32 %r3, %r3, %r1;
    st.)" +
         space + ".u16 [" + base + "], %h0;\n    bar.warp.sync -1;\n    ld." +
         space + ".u16 %h1, [" + base + "];\n    " +
         (offset.empty() ? "" : "@%p1 ") + "st." + space + ".u16 [" + base +
         offset + "], %h1;\n";
}

TEST(Lanes, LanesThatShareAWordButNoByte) {
  for (CheckProfile profile : profiles)
    for (const char *space : {"shared", "global"}) {
      EXPECT_EQ(reportsOf(halves(space, ""), profile), "");
      std::string race = raceOf(halves(space, "+2"), profile);
      EXPECT_TRUE(hasRace(race, "write of ")) << race;
      EXPECT_NE(race.find(std::string("after a read ") + otherLane),
                std::string::npos)
          << race;
    }
}

TEST(Lanes, AWordThatAllLanesHaveRead) {
  for (CheckProfile profile : profiles)
    for (const auto &[load, store] :
         {std::pair("ld.shared.u32 %r5, [%r1];", "st.shared.u32 [%r1], 7;"),
          std::pair("ld.global.u32 %r5, [%rd3];",
                    "st.global.u32 [%rd3], 7;")}) {
      auto kernel = [load = std::string(load),
                     store = std::string(store)](const std::string &sync) {
        return "@%p1 st.shared.u32 [%r1], 7;\n    bar.warp.sync -1;\n    " +
               load + "\n    " + sync + "\n    @%p1 " + store;
      };
      std::string race = raceOf(kernel(""), profile);
      EXPECT_NE(race.find(std::string("after a read ") + otherLane),
                std::string::npos)
          << race;
      EXPECT_EQ(reportsOf(kernel("bar.warp.sync -1;"), profile), "");
    }
}

TEST(Lanes, BytesReadAtDifferentTimes) {
  // Thread 0 reads byte 0, and after the barrier byte 1 while thread 32 writes
  // a byte.
  auto kernel = [](const char *byte) {
    return std::string(R"(
    @%p1 st.shared.u32 [%r1], 7;
    setp.eq.u32 %p5, %r0, 32;
    bar.sync 0;
    @%p1 ld.shared.u8 %r5, [%r1];
    bar.sync 0;
    @%p1 ld.shared.u8 %r6, [%r1+1];
    @%p5 st.shared.u8 [%r1+)") +
           byte + "], %r0;";
  };
  for (CheckProfile profile : profiles) {
    EXPECT_EQ(reportsOf(kernel("0"), profile, 64), "");
    std::string race = raceOf(kernel("1"), profile, 64);
    EXPECT_NE(race.find("that nothing orders before it"), std::string::npos)
        << race;
  }
}

TEST(Lanes, BothBytesOfAWordArriveLate) {
  // Lanes write the halves of words; the other warp reads a low half, which
  // was written before the high one or with it.
  for (CheckProfile profile : profiles)
    for (const char *stores : {"@%p3 st.shared.u16 [%r3], %h0;",
                               "@%p3 st.shared.u16 [%r2], %h0;\n"
                               "    @%p3 st.shared.u16 [%r2+2], %h0;"}) {
      auto kernel = [&](const char *sync) {
        return "shl.b32 %r3, %r0, 1;\n    add.u32 %r3, %r3, %r1;\n    " +
               std::string(stores) + "\n    " + sync + R"(
    setp.eq.u32 %p5, %r0, 32;
    @%p5 bra read;
    ret;
read:
    ld.shared.u16 %h1, [%r1];)";
      };
      std::string race = raceOf(kernel(""), profile, 64);
      EXPECT_TRUE(hasRace(race, "")) << race;
      EXPECT_EQ(reportsOf(kernel("bar.sync 0;"), profile, 64), "");
    }
}

TEST(Lanes, AStrongReadStandsForNoWeakOne) {
  // Thread 32 writes with a strong store what thread 0 has read without.
  auto kernel = [](const char *weak) {
    return std::string(R"(
    @%p1 st.shared.u32 [%r1], 7;
    setp.eq.u32 %p5, %r0, 32;
    bar.sync 0;
)") + weak +
           R"(
    @%p1 ld.relaxed.cta.shared.u32 %r6, [%r1];
    @%p5 st.relaxed.cta.shared.u32 [%r1], 9;)";
  };
  for (CheckProfile profile : profiles) {
    EXPECT_EQ(reportsOf(kernel(""), profile, 64), "");
    std::string race =
        raceOf(kernel("@%p1 ld.shared.u32 %r5, [%r1];"), profile, 64);
    EXPECT_NE(race.find("that nothing orders before it"), std::string::npos)
        << race;
  }
}

} // namespace
