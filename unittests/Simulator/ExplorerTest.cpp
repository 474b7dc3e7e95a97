//===- ExplorerTest.cpp - all schedules of small programs -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of orders where it is known, the results of random programs
// against those of every order, and faults that one order in many shows.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/Explorer.h"

#include <random>
#include <set>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

struct Exploration {
  uint64_t runs = 0, redundant = 0;
  bool complete = false;
  /// Outputs and reports of the runs that were not redundant.
  std::set<std::vector<uint64_t>> results;
  std::set<std::string> reports;
};

/// All schedules of kernel `k` with `extents`.
Exploration explore(const std::string &text, const Extents &extents,
                    bool everyOrder = false, uint64_t most = 200'000) {
  Exploration found;
  Explorer explorer(most, everyOrder);
  RunOptions options;
  options.check = true;
  options.explorer = &explorer;
  while (explorer.nextRun()) {
    Outcome outcome = runGrid(text, {0, 0}, extents, options);
    if (explorer.isRedundant()) {
      ++found.redundant;
      continue;
    }
    found.results.insert(outcome.out);
    if (!outcome.reports.empty())
      found.reports.insert(outcome.reports);
  }
  EXPECT_FALSE(explorer.hasDiverged());
  found.runs = explorer.runs() - found.redundant;
  found.complete = explorer.isComplete();
  return found;
}

/// A body of warps of one thread each: warp i runs `bodies[i]`, with %rd2 the
/// address of words in global memory that are 0, and outputs %rd10.
std::string warpsOf(const std::vector<std::string> &bodies) {
  std::string text = prologue() + "    mov.u64 %rd10, 0;\n"
                                  "    and.b32 %r1, %r0, 31;\n"
                                  "    setp.ne.u32 %p0, %r1, 0;\n"
                                  "    @%p0 ret;\n";
  for (size_t i = 0; i < bodies.size(); ++i)
    text += "    setp.eq.u32 %p1, %r0, " + std::to_string(32 * i) +
            ";\n    @%p1 bra warp" + std::to_string(i) + ";\n";
  for (size_t i = 0; i < bodies.size(); ++i)
    text +=
        "warp" + std::to_string(i) + ":\n" + bodies[i] + "    bra.uni end;\n";
  return moduleAround(text + "end:\n    st.global.u64 [%rd1], %rd10;\n    ret;",
                      ".extern .shared .align 128 .b8 smem[];\n");
}

Extents warps(size_t count) {
  return {.threads = static_cast<unsigned>(32 * count)};
}

/// %rd10 = 16 %rd10 + %r2.
const char *const keep = "    cvt.u64.u32 %rd11, %r2;\n"
                         "    mad.lo.u64 %rd10, %rd10, 16, %rd11;\n";

std::string count(unsigned word) {
  return "    atom.relaxed.gpu.global.add.u32 %r2, [%rd2+" +
         std::to_string(4 * word) + "], 1;\n" + keep;
}
std::string load(unsigned word) {
  return "    ld.relaxed.gpu.global.u32 %r2, [%rd2+" +
         std::to_string(4 * word) + "];\n" + keep;
}
std::string store(unsigned word, unsigned value) {
  return "    mov.u32 %r3, " + std::to_string(value) +
         ";\n    st.relaxed.gpu.global.u32 [%rd2+" + std::to_string(4 * word) +
         "], %r3;\n";
}

TEST(Explorer, CountsOrdersThatDiffer) {
  // Three changes of a word: 3! orders.
  Exploration same = explore(warpsOf({count(0), count(0), count(0)}), warps(3));
  EXPECT_TRUE(same.complete);
  EXPECT_EQ(same.runs, 6u);
  EXPECT_EQ(same.results.size(), 6u);
  // Words of their own, or reads: one.
  Exploration own = explore(warpsOf({count(0), count(1), count(2)}), warps(3));
  EXPECT_TRUE(own.complete);
  EXPECT_EQ(own.runs, 1u);
  EXPECT_EQ(explore(warpsOf({load(0), load(0), load(0)}), warps(3)).runs, 1u);
  // One write among two reads: before, between in two ways, after.
  EXPECT_EQ(explore(warpsOf({load(0), store(0, 1), load(0)}), warps(3)).runs,
            4u);
}

TEST(Explorer, StoreThenLoadOfTheOthersWord) {
  Exploration found = explore(
      warpsOf({store(0, 1) + load(1), store(1, 1) + load(0)}), warps(2));
  EXPECT_TRUE(found.complete);
  // All but both zero.
  EXPECT_EQ(found.results.size(), 3u);
  EXPECT_EQ(found.runs, 3u);
}

TEST(Explorer, RandomProgramsHaveTheResultsOfEveryOrder) {
  std::mt19937 random(3);
  uint64_t reduced = 0, all = 0;
  for (int round = 0; round < 24; ++round) {
    size_t agents = 2 + round % 2;
    std::vector<std::string> bodies(agents);
    for (std::string &body : bodies)
      for (unsigned i = 0; i < (agents == 2 ? 3u : 2u); ++i) {
        unsigned word = random() % 2;
        switch (random() % 3) {
        case 0:
          body += load(word);
          break;
        case 1:
          body += store(word, 1 + random() % 7);
          break;
        default:
          body += count(word);
        }
      }
    std::string text = warpsOf(bodies);
    Exploration few = explore(text, warps(agents));
    Exploration every = explore(text, warps(agents), /*everyOrder=*/true);
    EXPECT_TRUE(few.complete && every.complete);
    EXPECT_EQ(few.results, every.results) << text;
    EXPECT_LE(few.runs, every.runs);
    reduced += few.runs;
    all += every.runs;
  }
  EXPECT_LT(2 * reduced, all);
}

TEST(Explorer, SpinsAreTakenOnce) {
  std::string wait = R"(
wait0:
    ld.acquire.gpu.global.u32 %r2, [%rd2];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra wait0;
    ld.global.u32 %r2, [%rd2+4];
)" + std::string(keep);
  std::string send = "    mov.u32 %r3, 7;\n    st.global.u32 [%rd2+4], %r3;\n"
                     "    st.release.gpu.global.u32 [%rd2], %r3;\n";
  Exploration found = explore(warpsOf({wait, send}), warps(2));
  EXPECT_TRUE(found.complete);
  EXPECT_TRUE(found.reports.empty()) << *found.reports.begin();
  EXPECT_EQ(found.results.size(), 1u);
  EXPECT_LE(found.runs, 3u);
}

TEST(Explorer, LocksInTwoOrders) {
  auto lock = [](const std::string &name, unsigned word) {
    return name + ":\n    atom.acquire.gpu.global.cas.b32 %r2, [%rd2+" +
           std::to_string(4 * word) + "], 0, 1;\n" +
           "    setp.ne.u32 %p2, %r2, 0;\n    @%p2 bra " + name + ";\n";
  };
  std::string unlock = "    mov.u32 %r3, 0;\n"
                       "    st.release.gpu.global.u32 [%rd2+4], %r3;\n"
                       "    st.release.gpu.global.u32 [%rd2], %r3;\n";
  Exploration same = explore(warpsOf({lock("a0", 0) + lock("a1", 1) + unlock,
                                      lock("b0", 0) + lock("b1", 1) + unlock}),
                             warps(2), false, 2000);
  EXPECT_TRUE(same.complete);
  EXPECT_TRUE(same.reports.empty()) << *same.reports.begin();
  Exploration crossed =
      explore(warpsOf({lock("a0", 0) + lock("a1", 1) + unlock,
                       lock("b1", 1) + lock("b0", 0) + unlock}),
              warps(2), false, 2000);
  bool hangs = false;
  for (const std::string &report : crossed.reports)
    hangs |= report.find("livelock: ") != std::string::npos;
  EXPECT_TRUE(hangs);
}

/// Warp 0 fills a word and tells it by an mbarrier, `rounds` times; warp 1
/// reads it. With `waits` warp 0 waits for the reader's mbarrier before it goes
/// on.
std::string handOver(bool waits) {
  std::string init = R"(
    mov.u32 %r5, smem;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared::cta.b64 [%r5], 1;
    @%p0 mbarrier.init.shared::cta.b64 [%r5+8], 1;
    bar.sync 0;
)";
  std::string text = prologue() + "    mov.u64 %rd10, 0;\n" + init + R"(
    setp.ge.u32 %p1, %r0, 32;
    mov.u32 %r6, 0;
    @%p1 bra reader;
writer:
    and.b32 %r8, %r6, 1;
    @%p0 st.shared.u32 [%r5+64], %r6;
    @%p0 mbarrier.arrive.shared::cta.b64 _, [%r5];
)" +
                     (waits ? R"(
empty:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+8], %r8;
    @!%p2 bra empty;
)"
                            : "") +
                     R"(
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 3;
    @%p3 bra writer;
    bra.uni end;
reader:
    and.b32 %r8, %r6, 1;
full:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r8;
    @!%p2 bra full;
    ld.shared.u32 %r7, [%r5+64];
    cvt.u64.u32 %rd11, %r7;
    mad.lo.u64 %rd10, %rd10, 16, %rd11;
    setp.eq.u32 %p4, %r0, 32;
    @%p4 mbarrier.arrive.shared::cta.b64 _, [%r5+8];
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 3;
    @%p3 bra reader;
end:
    st.global.u64 [%rd1], %rd10;
    ret;)";
  return moduleAround(text, ".extern .shared .align 128 .b8 smem[];\n");
}

TEST(Explorer, HandOverByMbarriers) {
  Exploration found = explore(handOver(true), {.threads = 64});
  EXPECT_TRUE(found.complete);
  EXPECT_TRUE(found.reports.empty()) << *found.reports.begin();
  EXPECT_EQ(found.results.size(), 1u);
  Exploration races = explore(handOver(false), {.threads = 64});
  std::string all;
  for (const std::string &report : races.reports)
    all += report;
  EXPECT_NE(all.find("the waiter is lapped"), std::string::npos) << all;
  EXPECT_NE(all.find("data-race"), std::string::npos) << all;
}

} // namespace
