//===- Machine.cpp - one launch in progress ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Validation of the launch, start and end of CTAs, the scheduler, and what
// happens when nothing can run.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Exploration.h"
#include "nvfp4/Simulator/Machine/RemoteWrites.h"
#include "nvfp4/Simulator/Machine/System.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

#include <algorithm>
#include <chrono>

namespace nvfp4::sim {
namespace {

uint64_t product(const std::array<uint32_t, 3> &a) {
  return uint64_t{a[0]} * a[1] * a[2];
}

std::string text(const std::array<uint32_t, 3> &a) {
  return std::to_string(a[0]) + "x" + std::to_string(a[1]) + "x" +
         std::to_string(a[2]);
}

constexpr uint32_t maximumShared = 232448; // 227 KiB for a CTA

} // namespace

Machine::Machine(const Kernel &kernel, const LaunchConfig &config,
                 DeviceMemory &memory, const ModuleImage &image,
                 const RunOptions &options)
    : kernel(kernel), config(config), memory(memory), image(image),
      options(options),
      random(options.delays == DelayMode::Cycles ? 0 : options.seed) {
  if (memory.hasPeers())
    remoteWrites = std::make_unique<RemoteWrites>(*this);
}

Machine::~Machine() = default;

std::string Machine::deviceName() const {
  return system ? "device " + std::to_string(memory.device) + " " : "";
}

bool Machine::validate() {
  auto illegal = [&](std::string message) {
    Report report;
    report.kind = ReportKind::IllegalLaunch;
    report.message = std::move(message);
    stop(std::move(report));
    return false;
  };
  uint64_t threads = product(config.block);
  if (threads == 0 || threads > 1024)
    return illegal("expected 1 to 1024 threads in a CTA, but got block " +
                   text(config.block));
  if (product(config.grid) == 0 || product(config.grid) > (1u << 24))
    return illegal("expected 1 to 2^24 CTAs, but got grid " +
                   text(config.grid));
  if (config.grid[1] > 65535 || config.grid[2] > 65535)
    return illegal("expected at most 65535 CTAs along Y and Z, but got grid " +
                   text(config.grid));
  uint64_t size = product(config.cluster);
  if (size == 0 || size > 16)
    return illegal("expected 1 to 16 CTAs in a cluster, but got " +
                   text(config.cluster));
  for (unsigned i = 0; i < 3; ++i) {
    if (config.grid[i] % config.cluster[i])
      return illegal("expected a grid that is a multiple of the cluster " +
                     text(config.cluster) + ", but got " + text(config.grid));
    clusterGrid[i] = config.grid[i] / config.cluster[i];
  }
  const Function &function = *kernel.function;
  if (function.requiredThreads[0] && function.requiredThreads != config.block)
    return illegal("the kernel requires block " +
                   text(function.requiredThreads) + ", but got " +
                   text(config.block));
  if (function.maximumThreads[0] && threads > product(function.maximumThreads))
    return illegal("the kernel allows " +
                   std::to_string(product(function.maximumThreads)) +
                   " threads, but got " + std::to_string(threads));
  if (function.requiredCluster[0] && function.requiredCluster != config.cluster)
    return illegal("the kernel requires cluster " +
                   text(function.requiredCluster) + ", but got " +
                   text(config.cluster));
  if (config.parameters.size() != function.parameterBytes)
    return illegal("expected " + std::to_string(function.parameterBytes) +
                   " bytes of parameters, but got " +
                   std::to_string(config.parameters.size()));
  uint64_t statics = sharedBaseOffset + function.sharedBytes;
  uint64_t alignment = function.dynamicSharedAlignment;
  uint64_t dynamicStart = (statics + alignment - 1) / alignment * alignment;
  dynamicSharedOffset = static_cast<uint32_t>(dynamicStart);
  uint64_t total = dynamicStart + config.dynamicShared;
  if (total - sharedBaseOffset > maximumShared)
    return illegal("expected at most " + std::to_string(maximumShared) +
                   " bytes of shared memory, but got " +
                   std::to_string(total - sharedBaseOffset));
  sharedBytes = static_cast<uint32_t>(total);
  clusterSize = static_cast<unsigned>(size);
  warpsPerCta = static_cast<unsigned>((threads + 31) / 32);
  residentClusters = std::max(1u, options.residentCtas / clusterSize);
  return true;
}

void Machine::report(Report report) {
  auto lineOf = [](const Kernel &kernel, uint32_t pc) {
    return pc < kernel.info.size() ? kernel.info[pc].location.line : 0;
  };
  const Kernel &other = report.otherKernel ? *report.otherKernel : kernel;
  auto covers = [&](const IgnoredFinding &ignored) {
    return ignored.kind == report.kind &&
           (!ignored.line || ignored.line == lineOf(kernel, report.pc) ||
            ignored.line == lineOf(other, report.otherPc));
  };
  if (std::any_of(options.ignored.begin(), options.ignored.end(), covers))
    ++result.ignoredFindings;
  else
    result.reports.add(std::move(report));
}

void Machine::stop(Report report) {
  if (!stopFlag)
    result.reports.add(std::move(report));
  stopFlag = true;
}

void Machine::startCluster(uint32_t index) {
  auto cluster = std::make_unique<Cluster>();
  cluster->id = {index % clusterGrid[0],
                 index / clusterGrid[0] % clusterGrid[1],
                 index / (clusterGrid[0] * clusterGrid[1])};
  uint64_t threads = product(config.block);
  for (unsigned rank = 0; rank < clusterSize; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster.get();
    cta->rank = rank;
    std::array<uint32_t, 3> inner{
        rank % config.cluster[0], rank / config.cluster[0] % config.cluster[1],
        rank / (config.cluster[0] * config.cluster[1])};
    for (unsigned i = 0; i < 3; ++i)
      cta->id[i] = cluster->id[i] * config.cluster[i] + inner[i];
    cta->shared.assign(sharedBytes, 0xCB);
    cta->sharedWritten = ByteMask(sharedBytes);
    for (unsigned w = 0; w < warpsPerCta; ++w) {
      uint64_t rest = threads - uint64_t{w} * 32;
      LaneMask lanes = rest >= 32 ? allLanes : (1u << rest) - 1;
      cta->warps.push_back(
          std::make_unique<Warp>(*this, *cta, w, nextAgent++, lanes));
      cta->liveThreads += std::popcount(lanes);
    }
    cta->liveWarps = warpsPerCta;
    cluster->liveThreads += cta->liveThreads;
    cluster->ctas.push_back(std::move(cta));
  }
  cluster->liveCtas = clusterSize;
  ++liveClusters;
  for (auto &cta : cluster->ctas)
    for (auto &warp : cta->warps) {
      fillEnvironment(*warp);
      makeReady(*warp);
      if (now)
        warp->readyAt = now + options.costs.turnaround;
    }
  if (checker)
    checker->clusterStarted(*this, *cluster);
  clusters.push_back(std::move(cluster));
}

void Machine::lanesExited(Warp &warp, LaneMask lanes) {
  Cta &cta = warp.cta;
  Cluster &cluster = *cta.cluster;
  unsigned count = std::popcount(lanes);
  cta.liveThreads -= count;
  cluster.liveThreads -= count;
  // A thread that has exited counts as arrived because nobody waits for it; its
  // own arrival in the open phase no longer counts.
  for (LaneMask rest = lanes; rest; rest &= rest - 1)
    if (warp.clusterArrivals[std::countr_zero(rest)] == cluster.generation + 1)
      --cluster.arrived;
  progress();
  // Barriers over all threads of the CTA no longer wait for these.
  for (NamedBarrier &barrier : cta.barriers)
    if (barrier.arrived && barrier.wholeCta &&
        barrier.arrived >= cta.liveThreads)
      wake(barrier.waiters);
  wake(cluster.waiters);
  if (warp.live)
    return;
  removeReady(warp);
  if (--cta.liveWarps > 0)
    return;
  checkAtExit(cta);
  if (--cluster.liveCtas == 0)
    --liveClusters;
}

void Machine::checkAtExit(Cta &cta) {
  if (cta.tmem && cta.tmem->allocatedColumns()) {
    Report leak;
    leak.kind = ReportKind::TmemLeak;
    leak.message = "CTA exits with " +
                   std::to_string(cta.tmem->allocatedColumns()) +
                   " columns of tensor memory allocated";
    leak.where = cta.warps[0]->describe();
    report(std::move(leak));
  }
  if (options.profile != CheckProfile::Strict)
    return;
  auto isLeft = [](const std::shared_ptr<CopyGroup> &group) {
    return group && !group->waited && !group->operations.empty();
  };
  for (const std::unique_ptr<Warp> &warp : cta.warps)
    for (const ThreadCopies &copies : warp->bulkCopies) {
      auto found = std::find_if(copies.committed.begin(),
                                copies.committed.end(), isLeft);
      if (found == copies.committed.end() && !isLeft(copies.open))
        continue;
      Report left;
      left.kind = ReportKind::ExitedCta;
      left.message = "CTA exits while nobody has waited for a copy of its "
                     "shared memory to have been read";
      left.pc =
          found == copies.committed.end() ? copies.open->pc : (*found)->pc;
      left.where = warp->describe();
      report(std::move(left));
      return;
    }
}

void Machine::reportUnwaitedUses() {
  // Profile cutlass has none: production kernels compute with the results, or
  // store them, and never wait, because assemblers take every use to depend on
  // the load.
  for (const UnwaitedUse &use : kernel.unwaitedUses) {
    if (use.indirect)
      continue;
    Report found;
    found.kind = ReportKind::UnwaitedTmemLoad;
    found.message = "register " + use.reg +
                    " is used before tcgen05.wait::ld has waited for it";
    found.pc = use.use;
    found.otherPc = use.load;
    report(std::move(found));
  }
}

void Machine::reportNarrowStores() {
  for (const NarrowStore &store : kernel.narrowStores) {
    Report found;
    found.kind = ReportKind::Lint;
    found.message = "the low bits of register " +
                    kernel.function->registers[store.reg].name +
                    ", which has a floating-point number, are stored: ptxas "
                    "converts the number to an integer; store a register that "
                    "a mov.b64 or mov.b32 has copied it to";
    found.pc = store.store;
    found.otherPc = store.write;
    report(std::move(found));
  }
}

bool Machine::begin() {
  if (!validate())
    return false;
  if (options.check)
    reportNarrowStores();
  if (options.check && options.profile == CheckProfile::Strict)
    reportUnwaitedUses();
  uint64_t total = product(clusterGrid);
  for (uint32_t i = 0; i < total; ++i)
    waitingClusters.push_back(i);
  if (options.check && !checker)
    checker = std::make_shared<Checker>(options);
  return true;
}

void Machine::startClusters() {
  if (clusters.size() > liveClusters)
    reapClusters();
  while (liveClusters < residentClusters && !waitingClusters.empty()) {
    uint32_t next = waitingClusters.front();
    waitingClusters.pop_front();
    startCluster(next);
  }
}

bool Machine::advance() {
  startClusters();
  runEvents();
  if (stopFlag)
    return false;
  if (ready.empty()) {
    if (liveClusters == 0 && waitingClusters.empty() && events.empty())
      return false;
    if (!events.empty()) {
      now = std::max(now, events.top().time);
      return true;
    }
    if (liveClusters != 0 && !unblock())
      reportDeadlock();
    return !stopFlag;
  }
  unsigned quantum = 0;
  Warp *picked = pickWarp(quantum);
  if (!picked)
    return true;
  Warp &warp = *picked;
  if (options.timeline)
    options.timeline->warpRuns(warp, now);
  runWarp(warp, quantum);
  if (options.timeline)
    options.timeline->warpStops(warp, now);
  bool isOver =
      result.statistics.warpInstructions > options.maximumInstructions;
  if (isOver || (isStalled() && (!system || system->isStalled())))
    reportNoEnd(warp, isOver);
  return !stopFlag;
}

RunResult Machine::finish() {
  if (!stopFlag)
    reapClusters();
  if (options.timeline)
    options.timeline->finish(kernel, now);
  result.statistics.ticks = now;
  return std::move(result);
}

RunResult Machine::run() {
  auto start = std::chrono::steady_clock::now();
  if (begin()) {
    if (options.explorer)
      exploreSchedule(*options.explorer, {this});
    else
      while (advance())
        ;
    result.completed = !stopFlag && hasEnded();
  }
  RunResult ended = finish();
  ended.statistics.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return ended;
}

bool Machine::timeOutWaits() {
  bool any = false;
  for (auto &cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps)
        for (LaneGroup &group : warp->groups)
          if (group.state == LaneGroup::State::Waiting &&
              group.wait == WaitKind::Mbarrier && group.waitDetail == 1) {
            group.state = LaneGroup::State::Ready;
            group.arrived = true; // the time limit of the wait has passed
            makeReady(*warp);
            any = true;
          }
  return any;
}

bool Machine::unblock() {
  // A wait with a time limit may come back false and the program go on. When
  // that has led nowhere several times in a row, it never will.
  const unsigned patience = options.explorer ? 1 : 16;
  if (lastProgress != progressAtUnblock) {
    progressAtUnblock = lastProgress;
    idleRounds = 0;
  }
  if (idleRounds++ < patience && timeOutWaits())
    return true;
  bool released = false;
  for (auto &cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps)
        if (warp->releaseReconvergence()) {
          makeReady(*warp);
          released = true;
        }
  return released;
}

void Machine::reapClusters() {
  std::erase_if(clusters, [this](const std::unique_ptr<Cluster> &cluster) {
    bool ended = cluster->liveCtas == 0 && cluster->pendingOperations == 0;
    if (ended && checker)
      checker->clusterEnded(*cluster);
    return ended;
  });
}

} // namespace nvfp4::sim
