//===- Machine.h - one launch in progress -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns clusters, the event queue of asynchronous operations and the scheduler.
// Time is counted in warp instructions. Everything random comes from one
// generator, so a run is a function of its options and inputs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_MACHINE_H
#define NVFP4_SIMULATOR_MACHINE_MACHINE_H

#include "nvfp4/Simulator/Machine/Cta.h"
#include "nvfp4/Simulator/Machine/Cycles.h"
#include "nvfp4/Simulator/Machine/Launch.h"
#include "nvfp4/Simulator/Machine/Memory.h"

#include <functional>
#include <queue>

namespace nvfp4::sim {

class Checker;
class RemoteWrites;
class System;

/// A small deterministic generator (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound).
  uint64_t below(uint64_t bound) { return next() % bound; }

private:
  uint64_t state;
};

/// Kinds of asynchronous operations, for delays.
enum class AsyncKind : uint8_t {
  CopyIn,
  CopyOutRead,
  CopyOutWrite,
  TensorPipe,
  TmemLoadStore,
  Request,
};

/// Addresses of the module's variables in device memory.
struct ModuleImage {
  uint64_t globalAddress = 0;
  uint64_t constAddress = 0;
};

/// A kind of access to memory.
enum class Access : uint8_t { Read, Write, Atomic };

class Machine {
public:
  Machine(const Kernel &kernel, const LaunchConfig &config,
          DeviceMemory &memory, const ModuleImage &image,
          const RunOptions &options);
  ~Machine();

  RunResult run();

  // The parts of `run`, for a system, which takes a round of each machine in
  // turn. ------------------------------------------------------------------
  /// False when the launch is not legal, which is reported.
  bool begin();
  /// Runs a warp for a while, or goes on to the next event; false when the
  /// launch has ended.
  bool advance();
  /// Ends clusters that are through.
  void endClusters() { reapClusters(); }
  RunResult finish();
  /// In the model of cycles: when its next warp or event comes.
  uint64_t nextTime() const;
  /// Nothing has happened for so long that nothing will.
  bool isStalled() const { return getIdle() > options.progressLimit; }
  /// Warp instructions since something has happened.
  uint64_t getIdle() const { return now - lastProgress; }
  /// A line for each group of lanes that waits for something, or reads a word
  /// again and again, up to a number that is counted down.
  std::string describeWaiting(unsigned &lines);
  bool hasStopped() const { return stopFlag; }
  /// "device 1 " where there are several.
  std::string deviceName() const;

  // Asynchronous operations (Events.cpp). ----------------------------------
  /// Runs `effect` after `delay` ticks, or now in immediate mode.
  void schedule(uint64_t delay, std::function<void()> effect);
  /// A delay for an operation of `kind` that `cta` issues and that moves
  /// `bytes`; the latter two count for the model of cycles only.
  uint64_t delayFor(AsyncKind kind, Cta &cta, uint64_t bytes = 0);
  /// The same with what a copy from or to global memory takes longer where that
  /// is another device's.
  uint64_t delayFor(AsyncKind kind, Cta &cta, uint64_t bytes,
                    uint64_t globalAddress);
  /// Appends `effect` to the in-order tensor pipe of `cta`; `usesMemory` where
  /// it reads or writes tensor memory.
  void scheduleOnPipe(Cta &cta, std::function<void()> effect,
                      PipeCost cost = {}, bool usesMemory = true);
  /// Wakes the warps in `list` and empties it.
  void wake(WaitList &list);
  void wake(Warp &warp);
  /// Whether a wait that has a time limit comes back before what it waits for:
  /// where delays are random, one of four does at once.
  bool timesOut();
  /// Something changed that others may be waiting for by polling.
  void progress() { lastProgress = now; }

  // Barriers (Mbarriers.cpp). ----------------------------------------------
  /// The CTA a shared address names, or null.
  Cta *ctaAt(Cta &from, uint32_t sharedAddress);
  /// The mbarrier object at a shared address, or null (reported).
  Mbarrier *mbarrierAt(Cta &from, uint32_t sharedAddress, uint32_t pc,
                       std::string_view action);
  /// Arrivals and transaction counts; false when reported as misuse.
  bool arrive(Cta &from, uint32_t sharedAddress, uint32_t count, uint32_t pc);
  bool expectTransactions(Cta &from, uint32_t sharedAddress, int64_t bytes,
                          uint32_t pc);
  bool completeTransactions(Cta &from, uint32_t sharedAddress, int64_t bytes,
                            uint32_t pc);

  // Reports. ----------------------------------------------------------------
  void report(Report report);
  /// Reports and ends the run.
  void stop(Report report);

  // Ends of threads. ---------------------------------------------------------
  void lanesExited(Warp &warp, LaneMask lanes);

  const Kernel &kernel;
  const LaunchConfig &config;
  DeviceMemory &memory;
  const ModuleImage image;
  const RunOptions &options;
  Random random;
  uint64_t now = 0;
  RunResult result;
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::shared_ptr<Checker> checker;
  /// Where the memory of other devices can be accessed.
  std::unique_ptr<RemoteWrites> remoteWrites;
  /// The machines that run at the same time, or null where this one is alone.
  System *system = nullptr;
  std::array<uint32_t, 3> clusterGrid{};
  unsigned clusterSize = 1;
  unsigned warpsPerCta = 1;
  uint32_t sharedBytes = 0;
  /// Address of dynamic shared memory.
  uint32_t dynamicSharedOffset = 0;
  uint32_t nextMbarrierId = 1;
  /// Clusters that have not been started, for the scheduler and for
  /// clusterlaunchcontrol.
  std::deque<uint32_t> waitingClusters;

private:
  /// The next warp to run and for how many instructions; null when an event
  /// comes first.
  Warp *pickWarp(unsigned &quantum);

  struct Event {
    uint64_t time;
    uint64_t sequence;
    std::function<void()> effect;
    bool operator<(const Event &other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  bool validate();
  void reportUnwaitedUses();
  void startCluster(uint32_t index);
  void fillEnvironment(Warp &warp);
  void runWarp(Warp &warp, unsigned quantum);
  Step checkedStep(Warp &warp, const Inst &inst, LaneMask &mask);
  bool gatherMembers(Warp &warp, const Inst &inst, LaneMask &mask);
  /// Tells the checker that loads whose registers the warp's instruction uses
  /// are complete.
  void closeLoads(Warp &warp);
  bool checkTracked(Warp &warp, LaneMask mask);
  void runEvents();
  bool timeOutWaits();
  bool unblock();
  void reapClusters();
  void reportDeadlock();
  void reportNoEnd(Warp &warp, bool isOver);
  std::string describeRound(Warp &warp);
  void checkAtExit(Cta &cta);
  void makeReady(Warp &warp);
  void removeReady(Warp &warp);
  void traceStep(Warp &warp, const Inst &inst, LaneMask mask);

  std::priority_queue<Event> events;
  uint64_t nextSequence = 0;
  std::vector<Warp *> ready;
  unsigned nextAgent = 0;
  unsigned liveClusters = 0;
  /// Clusters that fit at once.
  unsigned residentClusters = 1;
  uint64_t lastProgress = 0;
  uint64_t progressAtUnblock = 0;
  unsigned idleRounds = 0;
  bool stopFlag = false;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_MACHINE_H
