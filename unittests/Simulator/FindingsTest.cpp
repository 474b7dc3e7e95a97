//===- FindingsTest.cpp - findings that need no fault kernel ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bank conflicts, lanes and warps that write values to one place, waits without
// a retry, zeros of st.bulk,
// bytes that copies take from memory never written, operand A of tensor memory
// never written, the slot of tcgen05.alloc read after a cluster barrier with
// relaxed arrivals, and memory that a launch before may have.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Async/TensorMap.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const char *const sharedMemory = ".extern .shared .align 128 .b8 smem[];\n";

/// Reports of a store of `width` words at `stride` bytes from lane to lane.
std::string bankReports(unsigned stride, unsigned words) {
  RunOptions options;
  options.lintBankConflicts = true;
  std::string values = words == 1   ? "%r0"
                       : words == 2 ? "{%r0, %r0}"
                                    : "{%r0, %r0, %r0, %r0}";
  std::string vector = words == 1 ? "" : ".v" + std::to_string(words);
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mad.lo.u32 %r2, %r0, )" + std::to_string(stride) +
                              R"(, %r1;
    st.shared)" + vector + ".u32 [%r2], " +
                              values + ";\n    ret;",
                          sharedMemory),
             {}, 32, options)
      .reports;
}

TEST(Findings, BankConflicts) {
  EXPECT_EQ(bankReports(4, 1), "");
  EXPECT_EQ(bankReports(0, 1), ""); // one word is no conflict
  EXPECT_EQ(bankReports(12, 1), "");
  EXPECT_EQ(bankReports(8, 2), "");
  EXPECT_EQ(bankReports(16, 4), "");
  EXPECT_NE(bankReports(8, 1).find("2 passes instead of 1"), std::string::npos);
  EXPECT_NE(bankReports(128, 1).find("32 passes"), std::string::npos);
  EXPECT_NE(bankReports(64, 4).find("4 passes"), std::string::npos);
  EXPECT_NE(bankReports(128, 1).find("lint: "), std::string::npos);
}

/// Reports of one store of all lanes.
std::string storeReports(const std::string &store) {
  RunOptions options;
  options.check = true;
  return run(moduleAround(prologue() + R"(
    ld.param.u64 %rd3, [out];
    cvta.shared.u64 %rd4, smem;
    mul.wide.u32 %rd5, %r0, 2;
    and.b64 %rd5, %rd5, -4;
    add.u64 %rd5, %rd5, %rd4;
    and.b32 %r2, %r0, 30;
)" + store + "\n    ret;",
                          sharedMemory),
             {}, 32, options)
      .reports;
}

TEST(Findings, StoresOfPartsOfFloatingPointRegisters) {
  auto reports = [](const std::string &code) {
    RunOptions options;
    options.check = true;
    return run(moduleAround(prologue() + code + "\n    ret;"), {}, 1, options)
        .reports;
  };
  const std::string number = "mov.b64 %rd3, 0;\n"
                             "add.rn.f64 %rd4, %rd3, %rd3;\n"
                             "mov.b64 %rd5, %rd4;\n"
                             "cvt.rn.f32.f64 %r1, %rd4;\n"
                             "cvt.u32.u64 %r2, %rd4;\n";
  for (const char *store :
       {"st.global.b32 [%rd1], %rd4;", "st.global.b8 [%rd1], %rd4;",
        "st.volatile.global.u16 [%rd1], %r1;",
        "st.global.v2.b32 [%rd1], {%r2, %rd4};"}) {
    std::string report = reports(number + store);
    EXPECT_NE(report.find("lint: the low bits of register %r"),
              std::string::npos)
        << store << "\n"
        << report;
    EXPECT_NE(
        report.find("store a register that a mov.b64 or mov.b32 has copied"),
        std::string::npos);
  }
  for (const char *store :
       {"st.global.b64 [%rd1], %rd4;", "st.global.b32 [%rd1], %rd5;",
        "st.global.b32 [%rd1], %r1;", "st.global.b16 [%rd1], %r2;",
        "st.global.v2.b32 [%rd1], {%r1, %r2};"})
    EXPECT_EQ(reports(number + store), "") << store;
}

/// Reports of CTAs that find the largest number by atom.cas, whose value to
/// compare comes from `load`.
std::string swapReports(const std::string &load, CheckProfile profile) {
  std::string all;
  RunOptions options;
  options.check = true;
  options.profile = profile;
  for (options.seed = 1; options.seed <= 8; ++options.seed)
    all += runGrid(moduleAround(prologue() + R"(
    setp.ne.u32 %p1, %r0, 0;
    @%p1 ret;
    mov.u32 %r5, 0;
again:
    )" + load + R"(
    mov.u32 %r3, %r2;
    max.u32 %r4, %r2, %ctaid.x;
    atom.relaxed.gpu.global.cas.b32 %r5, [%rd2+4], %r3, %r4;
    setp.ne.u32 %p2, %r5, %r2;
    @%p2 bra again;
    ret;)"),
                   {0}, {.ctas = 8}, options)
               .reports;
  return all;
}

TEST(Findings, TheLoadOfALoopWithASwapIsNoRace) {
  const std::string weak = "ld.global.u32 %r2, [%rd2+4];";
  EXPECT_EQ(swapReports(weak, CheckProfile::Cutlass), "");
  EXPECT_EQ(swapReports("ld.relaxed.gpu.global.u32 %r2, [%rd2+4];",
                        CheckProfile::Strict),
            "");
  EXPECT_NE(swapReports(weak, CheckProfile::Strict).find("data-race: "),
            std::string::npos);
  // Values that are not what is compared.
  for (const char *load : {"ld.global.u32 %r6, [%rd2+4];\n"
                           "add.u32 %r2, %r6, 0;",
                           "ld.global.u32 %r6, [%rd2+4];\n"
                           "ld.relaxed.gpu.global.u32 %r2, [%rd2+4];"})
    EXPECT_NE(swapReports(load, CheckProfile::Cutlass).find("data-race: "),
              std::string::npos)
        << load;
}

TEST(Findings, LanesOfOneStoreThatDiffer) {
  std::string global = storeReports("st.global.u32 [%rd3], %r0;");
  EXPECT_NE(global.find("data-race: write of global address"),
            std::string::npos)
      << global;
  EXPECT_NE(global.find("(byte 0 of 'out') by two lanes of one instruction "
                        "with different values (31 times)"),
            std::string::npos)
      << global;
  EXPECT_NE(global.find("lane 0"), std::string::npos) << global;
  EXPECT_NE(global.find("lane 31"), std::string::npos) << global;
  // Pairs of lanes write one word.
  std::string pairs = storeReports("st.u32 [%rd5], %r0;");
  EXPECT_NE(pairs.find("shared offset"), std::string::npos) << pairs;
  EXPECT_NE(pairs.find("(16 times)"), std::string::npos) << pairs;
  EXPECT_EQ(storeReports("st.u32 [%rd5], %r2;"), "");
  EXPECT_EQ(storeReports("st.global.u32 [%rd3], 7;"), "");
  EXPECT_EQ(storeReports("st.relaxed.gpu.global.u32 [%rd3], %r0;"), "");
  EXPECT_EQ(storeReports("red.global.add.u32 [%rd3], %r0;"), "");
}

/// Reports of 64 threads that each load the word that %rd3 (global) points to,
/// or that at %r5 (shared, of words that thread i has written), and then run
/// `body`.
std::string wordReports(const std::string &body) {
  RunOptions options;
  options.check = true;
  return run(moduleAround(prologue() + R"(
    mov.u32 %r4, smem;
    mad.lo.u32 %r5, %r0, 4, %r4;
    mad.wide.u32 %rd3, %r0, 4, %rd2;
    shr.u32 %r7, %r0, 5;
    setp.eq.u32 %p1, %r7, 0;
    xor.b32 %r8, %r0, 1;
    mad.wide.u32 %rd4, %r8, 4, %rd2;
    st.shared.u32 [%r5], %r0;
    bar.sync 0;
    )" + body + R"(
    ret;)",
                          sharedMemory),
             std::vector<uint64_t>(32, 7), 64, options)
      .reports;
}

TEST(Findings, LoadsOfAWarpAreRememberedByLane) {
  std::string load = "ld.global.u32 %r6, [%rd3];\n";
  // Each lane its own word, or that of its neighbour.
  EXPECT_EQ(wordReports(load + "st.global.u32 [%rd3], %r6;"), "");
  EXPECT_NE(wordReports(load + "st.global.u32 [%rd4], %r0;")
                .find("by another lane of the warp, without bar.warp.sync"),
            std::string::npos);
  EXPECT_EQ(wordReports(load + "bar.warp.sync -1; st.global.u32 [%rd4], %r0;"),
            "");
  // The words of the other warp.
  std::string other = "xor.b32 %r8, %r0, 32; mad.wide.u32 %rd5, %r8, 4, %rd2;\n"
                      "@%p1 st.global.u32 [%rd5], %r0;";
  EXPECT_NE(wordReports(load + other).find("data-race: "), std::string::npos);
  EXPECT_EQ(wordReports(load + "bar.sync 0;" + other), "");
}

TEST(Findings, LanesThatLoadTheSameWords) {
  // Both halves of a warp load the same sixteen words; lane 0 stores in one.
  std::string halves = "and.b32 %r8, %r0, 47; mad.lo.u32 %r9, %r8, 4, %r4;\n"
                       "ld.shared.u32 %r6, [%r9];\n";
  std::string store = "and.b32 %r10, %r0, 31; setp.eq.u32 %p2, %r10, 0;\n"
                      "@%p2 st.shared.u32 [%r9], %r6;";
  EXPECT_NE(wordReports(halves + store).find("by another lane of the warp"),
            std::string::npos);
  EXPECT_EQ(wordReports(halves + "bar.warp.sync -1;" + store), "");
  // All load one word.
  std::string one = "mov.u32 %r9, smem; ld.shared.u32 %r6, [%r9];\n";
  EXPECT_NE(wordReports(one + "@%p1 st.shared.u32 [%r9], 3;").find("data-race"),
            std::string::npos);
  EXPECT_EQ(wordReports(one + "bar.sync 0; @%p1 st.shared.u32 [%r9], 3;"), "");
  // A read of the same round and lane stands for a later one, not for others.
  std::string again = "ld.shared.u32 %r6, [%r5];\n";
  EXPECT_EQ(wordReports(again + again + "st.shared.u32 [%r5], %r6;"), "");
  EXPECT_NE(wordReports(again + "bar.sync 0;" + again +
                        "xor.b32 %r8, %r0, 32; mad.lo.u32 %r9, %r8, 4, %r4;\n"
                        "@%p1 st.shared.u32 [%r9], %r6;")
                .find("data-race"),
            std::string::npos);
  std::string neighbour = "xor.b32 %r8, %r0, 1; mad.lo.u32 %r9, %r8, 4, %r4;\n";
  EXPECT_NE(wordReports(neighbour + again +
                        "ld.shared.u32 %r6, [%r9];\n"
                        "st.shared.u32 [%r5], %r6;")
                .find("by another lane of the warp"),
            std::string::npos);
  EXPECT_NE(wordReports(neighbour + again + again + "st.shared.u32 [%r9], %r6;")
                .find("by another lane of the warp"),
            std::string::npos);
}

/// Reports of two warps that each store a word of their own choice at one place
/// and, behind `between`, read it; with `after` at the end.
std::string twoWarpReports(const std::string &value, const std::string &between,
                           CheckProfile profile = CheckProfile::Cutlass,
                           const std::string &after = "") {
  std::string reports;
  RunOptions options;
  options.check = true;
  options.profile = profile;
  for (options.seed = 1; options.seed <= 4; ++options.seed)
    reports += run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shr.u32 %r2, %r0, 5;
    )" + value + R"(
    setp.eq.u32 %p1, %r0, 0;
    setp.eq.u32 %p2, %r2, 0;
    and.b32 %r5, %r0, 31;
    setp.eq.u32 %p3, %r5, 0;
    @%p3 st.shared.u32 [%r1], %r3;
    )" + between + R"(
    ld.shared.u32 %r4, [%r1];
    )" + after + R"(
    ret;)",
                                sharedMemory),
                   {}, 64, options)
                   .reports;
  return reports;
}

TEST(Findings, EqualValuesOfSeveralWarps) {
  const std::string same = "mov.u32 %r3, 7;", own = "mov.u32 %r3, %r2;";
  const char *race = "data-race: write of shared offset 1024 after a write";
  auto holds = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  // A warp reads what it, or whoever came after it, has put; a barrier orders
  // both.
  EXPECT_EQ(twoWarpReports(same, R"(
    bar.warp.sync -1;
    mov.u32 %r6, 0;
spin:
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p4, %r6, 50;
    @%p4 bra spin;)"),
            "");
  EXPECT_EQ(twoWarpReports(same, "bar.sync 0;"), "");
  EXPECT_TRUE(holds(twoWarpReports(own, "bar.sync 0;"), race));
  EXPECT_TRUE(
      holds(twoWarpReports(same, "bar.sync 0;", CheckProfile::Strict), race));
  // Another value later has to be ordered after both.
  EXPECT_EQ(twoWarpReports(same, "bar.sync 0;", CheckProfile::Cutlass,
                           "bar.sync 0;\n@%p1 st.shared.u32 [%r1], 9;"),
            "");
  EXPECT_TRUE(
      holds(twoWarpReports(same, "bar.warp.sync -1;", CheckProfile::Cutlass,
                           "@%p1 st.shared.u32 [%r1], 9;"),
            "data-race"));
  // CTAs that write the same are a race.
  RunOptions options;
  options.check = true;
  EXPECT_TRUE(holds(runGrid(moduleAround(prologue() + R"(
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.global.u32 [%rd2], 7;
    ret;)"),
                            {0}, {.ctas = 2}, options)
                        .reports,
                    "data-race: write of global address"));
}

TEST(Findings, AWaitWithoutARetryIsFound) {
  // One try for a copy that takes its time reads what is not there yet.
  auto reportsOf = [](const std::string &retry) {
    std::string reports;
    RunOptions options;
    options.check = true;
    for (options.seed = 1; options.seed <= 16; ++options.seed)
      reports += run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1+512], 1;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+512], 256;
    @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 256, [%r1+512];
    bar.warp.sync -1;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+512], 0;
    )" + retry + R"(
    shl.b32 %r3, %r0, 3;
    add.u32 %r3, %r3, %r1;
    ld.shared.u64 %rd3, [%r3];
    st.global.u64 [%rd1], %rd3;
    ret;)",
                                  sharedMemory),
                     std::vector<uint64_t>(32, 5), 32, options)
                     .reports;
    return reports;
  };
  EXPECT_EQ(reportsOf("@!%p2 bra wait;"), "");
  EXPECT_NE(reportsOf("").find("uninitialized-read: 8 bytes at shared offset"),
            std::string::npos);
}

TEST(Findings, BulkStoresOfZeros) {
  auto reportsOf = [](const std::string &size, const std::string &address,
                      const std::string &between) {
    RunOptions options;
    options.check = true;
    return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mov.u64 %rd5, 0;
    shl.b32 %r3, %r0, 3;
    add.u32 %r3, %r3, %r1;
    st.shared.u64 [%r3], %rd2;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    mov.u64 %rd4, )" + size + R"(;
    @%p1 st.bulk.weak.shared::cta )" +
                                address + R"(, %rd4, 0;
    )" + between + R"(
    ld.shared.u64 %rd3, [%r3];
    sub.u64 %rd3, %rd3, %rd2;
    st.global.u64 [%rd1], %rd3;
    ret;)",
                            sharedMemory),
               {}, 64, options);
  };
  Outcome outcome = reportsOf("256", "[%r1+64]", "bar.sync 0;");
  EXPECT_EQ(outcome.reports, "");
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i] == 0, i < 8 || i >= 40) << i;
  auto expectReport = [](const Outcome &outcome, const std::string &part) {
    EXPECT_NE(outcome.reports.find(part), std::string::npos) << outcome.reports;
  };
  expectReport(reportsOf("256", "[%r1+64]", ""), "data-race");
  expectReport(reportsOf("12", "[%r1]", "bar.sync 0;"),
               "illegal-operand: expected a size that is a multiple of 8 up to "
               "16777216, but got 12");
  expectReport(reportsOf("8192", "[%r1]", "bar.sync 0;"), "out-of-bounds");
}

/// The input has `in.size()` words and eight bytes that are never written;
/// `copy` brings it to smem, and a word at `offset` is read there.
std::string copyReports(const std::string &copy, unsigned offset,
                        const std::vector<uint64_t> &in) {
  RunOptions options;
  options.check = true;
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r4, %r1, 512;
    mov.u32 %r8, 0;
    setp.eq.u32 %p1, %r0, 0;
    @!%p1 bra done;
    mbarrier.init.shared::cta.b64 [%r4], 1;
)" + copy + R"(
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
    @!%p2 bra wait;
    ld.shared.u32 %r5, [%r1+)" +
                              std::to_string(offset) + R"(];
done:
    ret;)",
                          sharedMemory),
             in, 32, options)
      .reports;
}

void expectUnwrittenFrom24(const std::string &copy,
                           const std::vector<uint64_t> &in) {
  EXPECT_EQ(copyReports(copy, 20, in), "");
  EXPECT_NE(copyReports(copy, 24, in).find("uninitialized-read"),
            std::string::npos)
      << copyReports(copy, 24, in);
}

/// Reports of two warps that store, of which `wait` is what comes first.
std::string launchReports(const std::string &wait, bool programmatic) {
  RunOptions options;
  options.check = true;
  return runGrid(moduleAround(prologue() + wait + R"(
    st.global.u32 [%rd1], %r0;
    ret;)",
                              sharedMemory),
                 {}, {.threads = 64, .programmatic = programmatic}, options)
      .reports;
}

TEST(Findings, LaunchesThatOverlap) {
  const char *none = "griddepcontrol.launch_dependents;\n";
  const char *all = "griddepcontrol.wait;\n";
  // One warp, and what it does afterwards is known to the other or not.
  const std::string one = "setp.lt.u32 %p1, %r0, 32;\n"
                          "@%p1 griddepcontrol.wait;\n";
  EXPECT_EQ(launchReports(none, false), "");
  EXPECT_EQ(launchReports(all, true), "");
  EXPECT_EQ(launchReports(one + "bar.sync 0;\n", true), "");
  for (const std::string &wait : {std::string(none), one})
    EXPECT_NE(launchReports(wait, true)
                  .find("of 'out') before griddepcontrol.wait, while the "
                        "launch before may still run"),
              std::string::npos)
        << launchReports(wait, true);
}

/// Warp 0 stores, and its lane 0 arrives after `sync`; warp 1 waits and loads.
std::string arrivalReports(const std::string &sync, CheckProfile profile) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mad.lo.u32 %r2, %r0, 4, %r1;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1+512], 1;
    bar.sync 0;
    setp.lt.u32 %p2, %r0, 32;
    @!%p2 bra reader;
    st.shared.u32 [%r2], %r0;
)" + sync + R"(
    @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+512];
    ret;
reader:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+512], 0;
    @!%p3 bra reader;
    ld.shared.u32 %r5, [%r2-128];
    st.global.u32 [%rd1], %r5;
    ret;)",
                          sharedMemory),
             {}, 64, options)
      .reports;
}

TEST(Findings, OneLaneArrivesForItsWarp) {
  EXPECT_EQ(arrivalReports("bar.warp.sync -1;", CheckProfile::Strict), "");
  EXPECT_EQ(arrivalReports("", CheckProfile::Cutlass), "");
  EXPECT_NE(arrivalReports("", CheckProfile::Strict)
                .find("data-race: read of shared offset"),
            std::string::npos)
      << arrivalReports("", CheckProfile::Strict);
}

/// Lanes of one warp store, `count` of them arrive as `arrival` says, and all
/// wait and load what a neighbour has stored.
std::string exchangeReports(const std::string &arrival, unsigned count,
                            CheckProfile profile) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mad.lo.u32 %r2, %r0, 4, %r1;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1+512], )" +
                              std::to_string(count) + R"(;
    bar.sync 0;
    st.shared.u32 [%r2], %r0;
)" + arrival + R"( mbarrier.arrive.shared::cta.b64 _, [%r1+512];
waiting:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+512], 0;
    @!%p3 bra waiting;
    xor.b32 %r4, %r0, 1;
    mad.lo.u32 %r4, %r4, 4, %r1;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd1], %r5;
    ret;)",
                          sharedMemory),
             {}, 32, options)
      .reports;
}

TEST(Findings, AnArrivalOfOneLaneOrdersNoOtherLane) {
  for (auto profile : {CheckProfile::Strict, CheckProfile::Cutlass}) {
    EXPECT_EQ(exchangeReports("bar.warp.sync -1; @%p1", 1, profile), "");
    EXPECT_EQ(exchangeReports("", 32, profile), "");
  }
  EXPECT_EQ(exchangeReports("@%p1", 1, CheckProfile::Cutlass), "");
  std::string reports = exchangeReports("@%p1", 1, CheckProfile::Strict);
  EXPECT_NE(reports.find("by another lane of the warp, without bar.warp.sync"),
            std::string::npos)
      << reports;
}

TEST(Findings, TransactionCountsAreLimited) {
  auto reports = [](const std::string &bytes) {
    return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mbarrier.init.shared::cta.b64 [%r1], 1;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 1048575;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], )" +
                                bytes + ";\n    ret;",
                            sharedMemory),
               {}, 1)
        .reports;
  };
  EXPECT_EQ(reports("0"), "");
  EXPECT_NE(reports("1").find("transaction count 1048576 is above"),
            std::string::npos);
}

TEST(Findings, BulkCopiesCarryWhatWasNeverWritten) {
  expectUnwrittenFrom24(R"(
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 32;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 32, [%r4];)",
                        {1, 2, 3});
}

TEST(Findings, PlainCopiesCarryWhatWasNeverWritten) {
  expectUnwrittenFrom24(R"(
    cp.async.cg.shared.global [%r1], [%rd2], 16;
    cp.async.cg.shared.global [%r1+16], [%rd2+16], 16;
    cp.async.wait_all;
    mbarrier.arrive.shared::cta.b64 _, [%r4];)",
                        {1, 2, 3});
}

TEST(Findings, TensorCopiesCarryWhatWasNeverWritten) {
  // A row of eight words behind the map; the last two are not written.
  DeviceMemory memory;
  memory.allocate(32 * 8, "out");
  TensorMapSpec spec;
  spec.type = TensorType::U32;
  spec.rank = 1;
  spec.address = memory.allocate(8, "in") + 128;
  spec.size = {8, 1, 1, 1, 1};
  spec.box = {8, 1, 1, 1, 1};
  TensorMap map;
  ASSERT_EQ(encodeTensorMap(spec, map), "");
  std::vector<uint64_t> in(19);
  std::memcpy(in.data(), &map, sizeof map);
  expectUnwrittenFrom24(R"(
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 32;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r8}], [%r4];)",
                        in);
}

TEST(Findings, OperandAInTensorMemoryMustBeWritten) {
  RunOptions options;
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+1024], 64;
    ld.shared.u32 %r3, [%r1+1024];
    mov.u64 %rd3, 0;
    shl.b32 %r2, %r0, 4;
    add.u32 %r2, %r2, %r1;
    st.shared.v2.u64 [%r2], {%rd3, %rd3};
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1+1032], 1;
    fence.proxy.async.shared::cta;
    bar.warp.sync -1;
    shr.u32 %r6, %r1, 4;
    cvt.u64.u32 %rd5, %r6;
    or.b64 %rd5, %rd5, 0x0000401000080000;
    mov.u32 %r9, 0x08040010; // f16, 128x16
    mov.pred %p3, 0;
    @!%p1 bra wait;
    tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r3+32], %rd5, %r9, %p3;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+1032];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+1032], 0;
    @!%p2 bra wait;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
    ret;)",
                                     sharedMemory),
                        {}, 32, options);
  EXPECT_NE(outcome.reports.find("operand A in tensor memory from column 32 is "
                                 "read before it is written"),
            std::string::npos)
      << outcome.reports;
}

/// Reports of a pair that allocates tensor memory and reads the slot in the
/// other warp after `between`.
std::string slotReports(CheckProfile profile, const std::string &between) {
  RunOptions options;
  options.check = true;
  options.profile = profile;
  return runGrid(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    setp.lt.u32 %p1, %r0, 32;
    @%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 64;
)" + between + R"(
    ld.shared.u32 %r3, [%r1];
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 64;
    ret;)",
                              sharedMemory),
                 {}, {.threads = 64, .ctas = 2, .cluster = 2}, options)
      .reports;
}

/// Warp 0 reads a word twice, and once more after `between`; warp 1 writes it
/// after the first reads if `writes`. Nothing orders the two.
std::string rereadReports(bool writes, const std::string &between) {
  RunOptions options;
  options.check = true;
  return runGrid(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    setp.lt.u32 %p1, %r0, 32;
    setp.eq.u32 %p0, %r0, 0;
    mov.u32 %r2, 0;
    @%p0 st.shared.u32 [%r1], %r2;
    @%p0 st.shared.u32 [%r1+512], %r2;
    @%p0 st.shared.u32 [%r1+1024], %r2;
    bar.sync 0;
    mov.u32 %r2, 1;
    @!%p1 bra writer;
    ld.shared.u32 %r3, [%r1];
    ld.shared.u32 %r3, [%r1];
    st.relaxed.cta.shared.u32 [%r1+512], %r2;
waitForWriter:
    ld.relaxed.cta.shared.u32 %r4, [%r1+1024];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra waitForWriter;
)" + between + R"(
    ld.shared.u32 %r3, [%r1];
    ret;
writer:
    ld.relaxed.cta.shared.u32 %r4, [%r1+512];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra writer;
)" + (writes ? "st.shared.u32 [%r1], %r2;" : "") +
                                  R"(
    st.relaxed.cta.shared.u32 [%r1+1024], %r2;
    ret;)",
                              sharedMemory),
                 {}, {.threads = 64}, options)
      .reports;
}

TEST(Findings, WritesBetweenReadsOfAnEpoch) {
  std::string reports = rereadReports(true, "");
  EXPECT_NE(reports.find("data-race: write of shared offset 1024 after a read"),
            std::string::npos)
      << reports;
  EXPECT_NE(reports.find("data-race: read of shared offset 1024 after a write"),
            std::string::npos)
      << reports;
  // A later epoch reads anew, and nothing races with a read.
  EXPECT_EQ(rereadReports(false, ""), "");
  EXPECT_EQ(rereadReports(false, "bar.warp.sync -1;"), "");
}

TEST(Findings, SlotOfAllocationAfterRelaxedArrivals) {
  const char *barrier = "barrier.cluster.arrive.aligned;\n"
                        "barrier.cluster.wait.aligned;\n";
  const char *relaxed = "barrier.cluster.arrive.relaxed.aligned;\n"
                        "barrier.cluster.wait.aligned;\n";
  auto isRace = [](const std::string &reports) {
    return reports.find("data-race: read of shared offset") !=
           std::string::npos;
  };
  EXPECT_EQ(slotReports(CheckProfile::Cutlass, barrier), "");
  EXPECT_EQ(slotReports(CheckProfile::Cutlass, relaxed), "");
  EXPECT_EQ(slotReports(CheckProfile::Strict, barrier), "");
  EXPECT_TRUE(isRace(slotReports(CheckProfile::Strict, relaxed)));
  EXPECT_TRUE(isRace(slotReports(CheckProfile::Cutlass, "")));
}

} // namespace
