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
#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/Launch.h"
#include "nvfp4/Simulator/Machine/Memory.h"

#include <functional>
#include <map>
#include <queue>
#include <unordered_map>

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
  /// Runs `effect` after `delay` ticks, or now in immediate mode. For
  /// explorers: effects with the same `chain` keep their order, and those in
  /// the `background` are no choice, because nobody synchronises by them.
  void schedule(uint64_t delay, std::function<void()> effect,
                const void *chain = nullptr, bool background = false);
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

  // All schedules (Exploration.cpp). ---------------------------------------
  /// A step that can come next.
  struct Candidate {
    Machine *machine = nullptr;
    /// The warp that goes on, or the effect of a pending operation.
    Warp *warp = nullptr;
    size_t effect = 0;
    uint32_t agent = 0;
    /// It would only read again what it has just read.
    bool waits = false;
  };
  void listCandidates(std::vector<Candidate> &candidates);
  void take(const Candidate &candidate);
  /// Where there is no step: performs an effect that is no choice, lets waits
  /// time out, or reports that nothing can happen (`mayReport`). False when
  /// none of these was to be done.
  bool goOn(bool mayReport);
  bool hasEnded() const;
  /// Tells the explorer, if there is one, of an access to a word of memory.
  void usesWord(const Cta *shared, uint64_t address, Explorer::Use use);
  /// Parts of the memory and the barriers of a CTA that steps use: words, the
  /// arrivals that complete a phase, and that a phase of an mbarrier is the
  /// last complete one. Phases of mbarriers count from 1.
  enum class Aspect : uint8_t { Word, Barrier, Cluster, Mbarrier, LastPhase };
  static uint64_t objectOf(const Cta &cta, Aspect aspect, uint32_t index,
                           uint64_t phase);
  uint64_t mbarrierObject(Cta &from, uint32_t sharedAddress, Aspect aspect,
                          uint64_t phase);

  /// Whether the warp, which has found `complete` phases of its CTA's mbarrier
  /// complete, has seen all of them.
  bool seesNextPhase(Warp &warp, uint32_t sharedAddress, uint64_t complete);

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

  struct Effect {
    uint32_t agent;
    const void *chain;
    bool background;
    std::function<void()> perform;
  };
  /// The last read of a warp, and how often anything had changed then.
  struct LastRead {
    std::vector<uint64_t> objects;
    uint32_t pc = 0;
    uint64_t changes = 0;
    bool isRepeated = false;
    /// Steps of the warp.
    uint64_t steps = 0;
    /// By address of an mbarrier: phases that the warp has found complete.
    std::map<uint32_t, uint64_t> seen;
  };

  /// For the choice of a group of lanes.
  uint64_t chooseGroup(Warp &warp) {
    return options.explorer ? lastReads[&warp].steps : random.next();
  }
  void startClusters();
  bool validate();
  void reportUnwaitedUses();
  void reportNarrowStores();
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
  /// With an explorer: the effects of operations.
  std::vector<Effect> effects;
  std::unordered_map<const Warp *, LastRead> lastReads;
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
