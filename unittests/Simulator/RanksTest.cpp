//===- RanksTest.cpp - protocols between devices ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels in Inputs/ranks run on two and four devices. As they are, they are
// clean in every schedule and have the results that are computed here; with one
// instruction changed the checker says what is wrong, or the run ends with a
// report that names who waits for what. Stale data is seen without the checker.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/System.h"
#include "nvfp4/Simulator/Simulator.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace nvfp4::sim;

namespace {

/// A change of a kernel: the first occurrence of `from` becomes `to`.
struct Change {
  std::string from, to;
};

std::string kernelText(const std::string &name,
                       const std::vector<Change> &changes = {}) {
  std::ifstream file(NVFP4_SIMULATOR_INPUTS "/ranks/" + name + ".ptx");
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  for (const Change &change : changes) {
    size_t at = text.find(change.from);
    EXPECT_NE(at, std::string::npos) << change.from;
    if (at != std::string::npos)
      text.replace(at, change.from.size(), change.to);
  }
  return text;
}

using Words = std::vector<uint32_t>;

struct Outcome {
  bool completed = true;
  std::string reports;
  std::vector<RunResult> results;
  /// The words that each rank has written.
  std::vector<Words> out;
  /// The first words of the window of rank 0.
  Words window;
};

constexpr size_t windowBytes = 8192, signalBytes = 1024;

/// Runs `text` on `count` devices; `outWords` words of output each.
Outcome runRanks(const std::string &text, unsigned count, size_t outWords,
                 RunOptions options, unsigned ctas = 1) {
  Outcome outcome;
  Diagnostics diagnostics("ranks.ptx");
  auto program = Program::load(text, "ranks.ptx", diagnostics);
  EXPECT_NE(program, nullptr) << diagnostics.str();
  if (!program)
    return outcome;
  std::vector<std::unique_ptr<DeviceMemory>> memories;
  std::vector<uint64_t> windows(8), outs;
  for (unsigned rank = 0; rank < count; ++rank) {
    memories.push_back(std::make_unique<DeviceMemory>(rank));
    windows[rank] = memories[rank]->allocate(windowBytes, "window");
    memories[rank]->fill(windows[rank], 0, signalBytes);
    outs.push_back(memories[rank]->allocate(outWords * 4, "out"));
    memories[rank]->fill(outs[rank], 0, outWords * 4);
  }
  for (auto &memory : memories)
    for (auto &peer : memories)
      if (memory != peer)
        memory->enablePeer(*peer);
  const Kernel *kernel = program->kernel("ranks");
  System system(options);
  for (unsigned rank = 0; rank < count; ++rank) {
    LaunchConfig config;
    config.grid = {ctas, 1, 1};
    config.block = kernel->function->requiredThreads;
    config.parameters.resize(80);
    std::memcpy(config.parameters.data(), windows.data(), 64);
    std::memcpy(&config.parameters[64], &rank, 4);
    std::memcpy(&config.parameters[68], &count, 4);
    std::memcpy(&config.parameters[72], &outs[rank], 8);
    program->start(system, *kernel, config, *memories[rank], options);
  }
  system.run();
  outcome.results = system.takeResults();
  outcome.window.resize(4);
  memories[0]->read(windows[0], outcome.window.data(), 16);
  for (unsigned rank = 0; rank < count; ++rank) {
    outcome.completed &= outcome.results[rank].completed;
    outcome.reports += outcome.results[rank].reports.str(*kernel);
    Words words(outWords);
    memories[rank]->read(outs[rank], words.data(), outWords * 4);
    outcome.out.push_back(std::move(words));
  }
  return outcome;
}

RunOptions schedule(uint64_t seed, bool check) {
  RunOptions options;
  options.seed = seed;
  options.check = check;
  options.delays = seed % 2 ? DelayMode::Adversarial : DelayMode::Uniform;
  options.maximumDelay = 500;
  options.progressLimit = 100'000;
  return options;
}

struct Protocol {
  const char *name;
  unsigned ctas;
  /// The words that a rank writes, from the kernel's description.
  Words (*expected)(unsigned rank, unsigned count);
};

Words expectBarrier(unsigned, unsigned count) {
  Words words;
  for (unsigned round = 1; round <= 3; ++round)
    for (unsigned from = 0; from < count; ++from)
      words.push_back(round * 16 + from);
  return words;
}

Words expectPush(unsigned rank, unsigned count) {
  Words words;
  for (unsigned round = 1; round <= 3; ++round)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t sum = 0;
      for (unsigned from = 0; from < count; ++from)
        for (unsigned row = 0; row < 4; ++row)
          if ((row + from) % count == rank)
            sum += (round * 256 + from * 4 + row) * 32 + lane;
      words.push_back(sum);
    }
  return words;
}

/// The sum of the rows of all ranks.
Words expectSums(unsigned rounds, unsigned count) {
  Words words;
  for (unsigned round = 1; round <= rounds; ++round)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t sum = 0;
      for (unsigned from = 0; from < count; ++from)
        sum += (round * 16 + from) * 32 + lane;
      words.push_back(sum);
    }
  return words;
}
Words expectPull(unsigned, unsigned count) { return expectSums(3, count); }
Words expectBulk(unsigned, unsigned count) { return expectSums(2, count); }

const Protocol barrier = {"barrier", 1, expectBarrier};
const Protocol push = {"push", 2, expectPush};
const Protocol pull = {"pull", 1, expectPull};
const Protocol bulkPush = {"bulk_push", 1, expectBulk};

Outcome runProtocol(const Protocol &protocol, unsigned count,
                    const RunOptions &options,
                    const std::vector<Change> &changes = {}) {
  return runRanks(kernelText(protocol.name, changes), count,
                  protocol.expected(0, count).size(), options, protocol.ctas);
}

void expectClean(const Protocol &protocol, unsigned seeds) {
  for (unsigned count : {1u, 2u, 4u})
    for (unsigned seed = 1; seed <= (count == 1 ? 2 : seeds); ++seed) {
      Outcome outcome = runProtocol(protocol, count, schedule(seed, true));
      ASSERT_EQ(outcome.reports, "")
          << protocol.name << ", " << count << " ranks, seed " << seed;
      ASSERT_TRUE(outcome.completed);
      for (unsigned rank = 0; rank < count; ++rank)
        ASSERT_EQ(outcome.out[rank], protocol.expected(rank, count))
            << protocol.name << ", rank " << rank << ", seed " << seed;
    }
}

/// The changed kernel is reported, with two and with four ranks, in every one
/// of a few schedules.
void expectReport(const Protocol &protocol, const std::vector<Change> &changes,
                  const std::string &report) {
  for (unsigned count : {2u, 4u})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      Outcome outcome =
          runProtocol(protocol, count, schedule(seed, true), changes);
      EXPECT_NE(outcome.reports.find(report), std::string::npos)
          << count << " ranks, seed " << seed << ", reports:\n"
          << outcome.reports;
    }
}

/// Without the checker, how many of 64 schedules have wrong results.
unsigned countWrong(const Protocol &protocol,
                    const std::vector<Change> &changes) {
  unsigned wrong = 0;
  for (unsigned seed = 1; seed <= 64; ++seed) {
    Outcome outcome = runProtocol(protocol, 2, schedule(seed, false), changes);
    bool isRight = outcome.completed;
    for (unsigned rank = 0; rank < 2; ++rank)
      isRight = isRight && outcome.out[rank] == protocol.expected(rank, 2);
    wrong += !isRight;
  }
  return wrong;
}

} // namespace

TEST(Ranks, ProtocolsAreClean) {
  for (const Protocol &protocol : {barrier, push, pull, bulkPush})
    expectClean(protocol, 64);
}

namespace {

/// One round of each protocol, of two ranks: small enough for all schedules, of
/// which there are so many (docs/Simulator.md).
struct SmallModel {
  Protocol protocol;
  std::vector<Change> changes;
  uint64_t schedules;
};

const SmallModel smallModels[] = {
    {barrier, {{"setp.lt.u32 %p4, %r5, 3;", "setp.lt.u32 %p4, %r5, 1;"}}, 253},
    {pull, {{"setp.lt.u32 %p7, %r7, 3;", "setp.lt.u32 %p7, %r7, 1;"}}, 83},
    {bulkPush, {}, 105},
    {push, {{"setp.lt.u32 %p7, %r7, 3;", "setp.lt.u32 %p7, %r7, 1;"}}, 13'457},
};

struct Exploration {
  /// The first one, of the checker or of a wrong result.
  std::string report;
  uint64_t schedules = 0;
  bool isComplete = false;
};

/// All schedules, or the first `most`.
Exploration explore(const SmallModel &model, uint64_t most,
                    const std::vector<Change> &faults = {}) {
  Exploration found;
  std::vector<Change> changes = model.changes;
  changes.insert(changes.end(), faults.begin(), faults.end());
  Explorer explorer(most);
  RunOptions options;
  options.check = true;
  options.explorer = &explorer;
  while (explorer.nextRun()) {
    Outcome outcome = runProtocol(model.protocol, 2, options, changes);
    if (explorer.isRedundant())
      continue;
    ++found.schedules;
    found.report = outcome.reports;
    for (unsigned rank = 0; rank < 2; ++rank) {
      Words expected = model.protocol.expected(rank, 2);
      // One of three rounds is left where there are changes.
      size_t words =
          model.changes.empty() ? expected.size() : expected.size() / 3;
      std::fill(expected.begin() + words, expected.end(), 0);
      if (found.report.empty() && outcome.out[rank] != expected)
        found.report = "wrong results";
    }
    if (!found.report.empty())
      return found;
    EXPECT_TRUE(outcome.completed);
  }
  EXPECT_FALSE(explorer.hasDiverged());
  found.isComplete = explorer.isComplete();
  return found;
}

void expectFound(const SmallModel &model, const Change &fault,
                 const std::string &report) {
  std::string found = explore(model, 20'000, {fault}).report;
  EXPECT_NE(found.find(report), std::string::npos) << fault.to << "\n" << found;
}

} // namespace

TEST(Ranks, EveryScheduleOfSmallModels) {
  for (const SmallModel &model : smallModels) {
    Exploration found = explore(model, 20'000);
    EXPECT_EQ(found.report, "") << model.protocol.name;
    EXPECT_TRUE(found.isComplete) << model.protocol.name;
    EXPECT_EQ(found.schedules, model.schedules) << model.protocol.name;
  }
}

TEST(Ranks, SomeScheduleShowsTheFault) {
  expectFound(smallModels[0],
              {"st.release.sys.global.u32 [%rd4], %r6; // arrive",
               "st.relaxed.sys.global.u32 [%rd4], %r6;"},
              "data-race: ");
  expectFound(smallModels[0],
              {"ld.acquire.sys.global.u32 %r8, [%rd6]; // wait",
               "ld.relaxed.sys.global.u32 %r8, [%rd6];"},
              "data-race: ");
  expectFound(
      smallModels[0],
      {"setp.eq.u32 %p5, %r1, 99; // early exit", "setp.eq.u32 %p5, %r1, 1;"},
      "livelock: ");
  expectFound(smallModels[3],
              {"red.release.sys.global.add.u32 [%rd2], 1; // arrive",
               "red.relaxed.sys.global.add.u32 [%rd2], 1;"},
              "data-race: ");
}

//===- Planted faults -----------------------------------------------------===//

TEST(Ranks, MissingRelease) {
  Change relaxed = {"st.release.sys.global.u32 [%rd4], %r6; // arrive",
                    "st.relaxed.sys.global.u32 [%rd4], %r6;"};
  expectReport(barrier, {relaxed}, "data-race: ");
  EXPECT_GT(countWrong(barrier, {relaxed}), 8u);
}

TEST(Ranks, MissingAcquire) {
  expectReport(barrier,
               {{"ld.acquire.sys.global.u32 %r8, [%rd6]; // wait",
                 "ld.relaxed.sys.global.u32 %r8, [%rd6];"}},
               "data-race: ");
}

TEST(Ranks, RelaxedCounter) {
  Change relaxed = {"red.release.sys.global.add.u32 [%rd2], 1; // arrive",
                    "red.relaxed.sys.global.add.u32 [%rd2], 1;"};
  expectReport(push, {relaxed}, "data-race: ");
  EXPECT_GT(countWrong(push, {relaxed}), 8u);
}

TEST(Ranks, CounterOfReadersIsRelaxed) {
  expectReport(push,
               {{"red.release.sys.global.add.u32 [%rd2+128], 1;",
                 "red.relaxed.sys.global.add.u32 [%rd2+128], 1;"}},
               "data-race: ");
}

TEST(Ranks, ScopeOfTheReleaseIsTheDevice) {
  Change device = {"st.release.sys.global.u32 [%rd4], %r6; // arrive",
                   "st.release.gpu.global.u32 [%rd4], %r6;"};
  expectReport(barrier, {device}, "data-race: ");
  EXPECT_GT(countWrong(barrier, {device}), 8u);
}

TEST(Ranks, ScopeOfTheAcquireIsTheDevice) {
  expectReport(barrier,
               {{"ld.acquire.sys.global.u32 %r8, [%rd6]; // wait",
                 "ld.acquire.gpu.global.u32 %r8, [%rd6];"}},
               "scope without the other's thread");
}

TEST(Ranks, ScopeOfTheCounterIsTheDevice) {
  Change device = {"red.release.sys.global.add.u32 [%rd2], 1; // arrive",
                   "red.release.gpu.global.add.u32 [%rd2], 1;"};
  expectReport(push, {device}, "scope without the other's thread");
  // LLVM makes this of `atomicrmw add release`.
  Change unscoped = {"red.release.sys.global.add.u32 [%rd2], 1; // arrive",
                     "red.global.add.u32 [%rd2], 1;"};
  expectReport(push, {unscoped}, "data-race: ");
}

TEST(Ranks, FenceOfTheDevice) {
  std::vector<Change> fence = {
      {"@%p1 st.release.sys.global.u32 [%rd4], %r6; // arrive",
       "fence.acq_rel.sys; @%p1 st.relaxed.sys.global.u32 [%rd4], %r6;"}};
  for (unsigned seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(runProtocol(barrier, 2, schedule(seed, true), fence).reports, "");
  fence[0].to =
      "fence.acq_rel.gpu; @%p1 st.relaxed.sys.global.u32 [%rd4], %r6;";
  expectReport(barrier, fence, "data-race: ");
  EXPECT_GT(countWrong(barrier, fence), 8u);
}

TEST(Ranks, ScopesWithinADevice) {
  // CTA 0 of the grid tells CTA 1, thread 0 of which is the only one to wait.
  const char *text = R"(
.version 8.8
.target sm_90a
.address_size 64
.visible .entry ranks(.param .align 8 .b8 windows[64], .param .u32 rank,
                      .param .u32 count, .param .u64 out)
.reqntid 1, 1, 1
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [windows];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra WAIT;
  st.global.u32 [%rd1+1024], 7;
  st.release.RELEASE.global.u32 [%rd1], 1;
  ret;
WAIT:
  ld.acquire.ACQUIRE.global.u32 %r2, [%rd1];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra WAIT;
  ld.global.u32 %r3, [%rd1+1024];
  st.global.u32 [%rd2], %r3;
  ret;
})";
  auto runWith = [&](const std::string &release, const std::string &acquire) {
    std::string changed = text;
    changed.replace(changed.find("RELEASE"), 7, release);
    changed.replace(changed.find("ACQUIRE"), 7, acquire);
    return runRanks(changed, 1, 1, schedule(2, true), /*ctas=*/2);
  };
  for (const char *scope : {"gpu", "sys"}) {
    Outcome outcome = runWith(scope, "gpu");
    EXPECT_EQ(outcome.reports, "");
    EXPECT_EQ(outcome.out[0], Words{7});
  }
  for (const char *scope : {"cta", "cluster"}) {
    EXPECT_NE(runWith(scope, "sys").reports.find("data-race: "),
              std::string::npos);
    EXPECT_NE(runWith("sys", scope).reports.find("data-race: "),
              std::string::npos);
  }
}

TEST(Ranks, MemoryWithoutPeerAccess) {
  const char *text = R"(
.version 8.8
.target sm_90a
.address_size 64
.visible .entry ranks(.param .u64 word) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [word];
  st.global.u32 [%rd1], 7;
  ret;
})";
  Diagnostics diagnostics("ranks.ptx");
  auto program = Program::load(text, "ranks.ptx", diagnostics);
  ASSERT_NE(program, nullptr);
  DeviceMemory first(0), second(1);
  uint64_t word = second.allocate(4, "word");
  LaunchConfig config;
  config.parameters.resize(8);
  std::memcpy(config.parameters.data(), &word, 8);
  const Kernel *kernel = program->kernel("ranks");
  auto reports = [&] {
    return program->launch(*kernel, config, first, {}).reports.str(*kernel);
  };
  EXPECT_NE(reports().find("memory of device 1, to which device 0 has no peer "
                           "access"),
            std::string::npos);
  first.enablePeer(second);
  EXPECT_EQ(reports(), "");
  uint32_t value = 0;
  EXPECT_TRUE(second.read(word, &value, 4));
  EXPECT_EQ(value, 7u);
  EXPECT_TRUE(first.disablePeer(second));
  EXPECT_FALSE(first.disablePeer(second));
  EXPECT_NE(reports(), "");
}

TEST(Ranks, AtomicsOfAllDevicesCount) {
  // Every lane of every rank takes a ticket of rank 0 and counts once without
  // one; the sum of the tickets is that of all numbers.
  const char *text = R"(
.version 8.8
.target sm_90a
.address_size 64
.visible .entry ranks(.param .align 8 .b8 windows[64], .param .u32 rank,
                      .param .u32 count, .param .u64 out)
.reqntid 64, 1, 1
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [windows];
  ld.param.u64 %rd2, [out];
  red.relaxed.sys.global.add.u32 [%rd1+4], 1;
  atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;
  atom.relaxed.sys.global.add.u32 %r2, [%rd1+8], %r1;
  red.relaxed.sys.global.add.u32 [%rd1+4], 1;
  mov.u32 %r3, %tid.x;
  mad.wide.u32 %rd3, %r3, 4, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
})";
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Outcome outcome = runRanks(text, 4, 64, schedule(seed, true));
    EXPECT_EQ(outcome.reports, "");
    std::vector<bool> taken(256);
    for (const Words &tickets : outcome.out)
      for (uint32_t ticket : tickets) {
        ASSERT_LT(ticket, 256u);
        EXPECT_FALSE(taken[ticket]);
        taken[ticket] = true;
      }
    EXPECT_EQ(outcome.window[1], 512u);
    EXPECT_EQ(outcome.window[2], 255u * 256 / 2);
  }
}

TEST(Ranks, TensorCopiesReachPeers) {
  // A tile of a tensor of device 1 goes to another tensor of device 1, through
  // shared memory of device 0.
  const char *text = R"(
.version 8.8
.target sm_90a
.address_size 64
.visible .entry ranks(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128])
.reqntid 1, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 128 .b8 tile[512];
  .shared .align 8 .b64 bar;
  mov.b64 %rd1, from;
  cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, to;
  cvta.param.u64 %rd2, %rd2;
  mov.u32 %r1, tile;
  mov.u32 %r2, bar;
  mov.u32 %r3, 4;
  mov.u32 %r4, 2;
  mbarrier.init.shared.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3, %r4}], [%r2];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
  @!%p1 bra WAIT;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r3, %r4}], [%r1];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
})";
  Diagnostics diagnostics("ranks.ptx");
  auto program = Program::load(text, "ranks.ptx", diagnostics);
  ASSERT_NE(program, nullptr) << diagnostics.str();
  DeviceMemory first(0), second(1);
  first.enablePeer(second);
  constexpr unsigned width = 16, height = 8;
  Words values(width * height), result(width * height);
  for (unsigned i = 0; i < values.size(); ++i)
    values[i] = 1000 + i;
  uint64_t arrays[2];
  LaunchConfig config;
  config.parameters.resize(256);
  for (unsigned i = 0; i < 2; ++i) {
    arrays[i] = second.allocate(values.size() * 4);
    second.fill(arrays[i], 0, values.size() * 4);
    TensorMapSpec spec;
    spec.type = TensorType::U32;
    spec.rank = 2;
    spec.address = arrays[i];
    spec.size = {width, height, 1, 1, 1};
    spec.stride = {width * 4};
    spec.box = {4, 4, 1, 1, 1};
    TensorMap map;
    ASSERT_EQ(encodeTensorMap(spec, map), "");
    std::memcpy(&config.parameters[128 * i], &map, sizeof map);
  }
  second.write(arrays[0], values.data(), values.size() * 4);
  const Kernel *kernel = program->kernel("ranks");
  EXPECT_EQ(program->launch(*kernel, config, first, schedule(1, true))
                .reports.str(*kernel),
            "");
  second.read(arrays[1], result.data(), values.size() * 4);
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x) {
      bool isCopied = x >= 4 && x < 8 && y >= 2 && y < 6;
      EXPECT_EQ(result[y * width + x], isCopied ? values[y * width + x] : 0u);
    }
}

TEST(Ranks, CyclesCountTheLink) {
  RunOptions options;
  options.delays = DelayMode::Cycles;
  auto ticks = [&](const Protocol &protocol) {
    Outcome outcome = runProtocol(protocol, 2, options);
    EXPECT_EQ(outcome.reports, "");
    for (unsigned rank = 0; rank < 2; ++rank)
      EXPECT_EQ(outcome.out[rank], protocol.expected(rank, 2));
    return outcome.results[0].statistics.ticks;
  };
  for (const Protocol &protocol : {barrier, push, pull, bulkPush}) {
    options.costs.linkLatency = 1000;
    uint64_t before = ticks(protocol);
    EXPECT_EQ(ticks(protocol), before);
    options.costs.linkLatency = 3000;
    // Each round waits for at least one message.
    EXPECT_GE(ticks(protocol), before + 2 * 2000) << protocol.name;
  }
}

TEST(Ranks, ReusedEpoch) {
  // Every round waits for the epoch of the first one.
  std::vector<Change> reused = {{"  add.u32 %r6, %r6, 1;\n  @!%p2 bra MET;",
                                 "  mov.u32 %r6, 1;\n  @!%p2 bra MET;"}};
  // Where the others happen to be in time there is nothing wrong.
  unsigned reported = 0;
  for (unsigned seed = 1; seed <= 16; ++seed)
    reported += runProtocol(barrier, 2, schedule(seed, true), reused)
                    .reports.find("data-race: ") != std::string::npos;
  EXPECT_GE(reported, 8u);
  EXPECT_GT(countWrong(barrier, reused), 8u);
}

TEST(Ranks, MissingProxyFence) {
  expectReport(pull, {{"fence.proxy.async.global; // before the copies", ""}},
               "missing-proxy-fence: read of global address");
}

TEST(Ranks, MissingProxyFenceOfACopyToAPeer) {
  expectReport(bulkPush,
               {{"fence.proxy.async.shared::cta; // before the copies", ""}},
               "missing-proxy-fence: read of shared offset");
}

TEST(Ranks, CopyToAPeerIsNotComplete) {
  Change read = {"cp.async.bulk.wait_group 0; // complete",
                 "cp.async.bulk.wait_group.read 0;"};
  expectReport(bulkPush, {read}, "data-race: ");
  EXPECT_GT(countWrong(bulkPush, {read}), 8u);
}

TEST(Ranks, DoneIsNotWaitedFor) {
  expectReport(pull, {{"setp.lt.u32 %p3, %r9, %r7;\n  @%p3 bra WAITDONE;", ""}},
               "data-race: ");
}

TEST(Ranks, ARankLeaves) {
  for (unsigned count : {2u, 4u}) {
    Outcome outcome = runProtocol(
        barrier, count, schedule(3, false),
        {{"setp.eq.u32 %p5, %r1, 99;", "setp.eq.u32 %p5, %r1, 1;"}});
    EXPECT_FALSE(outcome.completed);
    EXPECT_NE(outcome.reports.find("livelock: "), std::string::npos)
        << outcome.reports;
    // The device, the warp, and the word: the signal of rank 1.
    EXPECT_NE(outcome.reports.find("device 0 cta (0,0,0) warp 0 lanes"),
              std::string::npos)
        << outcome.reports;
    EXPECT_NE(
        outcome.reports.find("(byte 4 of 'window' of device 0), which holds 0"),
        std::string::npos)
        << outcome.reports;
    // Its other warp waits for it.
    EXPECT_NE(outcome.reports.find("device 1 "), std::string::npos)
        << outcome.reports;
  }
}
