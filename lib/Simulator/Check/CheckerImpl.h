//===- CheckerImpl.h - state of the checker ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared and tensor memory, barriers and agents are kept by cluster. Global
// memory is common; synchronisation through it carries knowledge from cluster
// to cluster. An operation outside the tensor pipe has two numbers: an even one
// for what it reads and the odd one after it for what it writes, so that a wait
// for reads only can be told from a full wait.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H
#define NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Check/Knowledge.h"
#include "nvfp4/Simulator/Check/Shadow.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <map>

namespace nvfp4::sim {

/// An object that threads arrive at and wait for: the knowledge that arrivals
/// of the open phase carry, and that completed phases pass on.
struct Meeting {
  Knowledge pending;
  Knowledge done;
  void complete() {
    done.join(pending);
    pending.clear();
  }
};

struct MbarrierState : Meeting {
  AccessRecord init;
  /// Profile cutlass: initialised after the warp's fence.mbarrier_init, in this
  /// phase of the cluster barrier, whose completion then makes it known.
  bool initAfterFence = false;
  uint64_t clusterPhase = 0;
};

/// Knowledge that releases of a scope have published at a location of memory.
struct Publication {
  /// The holders: threads of a CTA, of several in the cluster, of several
  /// clusters.
  Machine *machine = nullptr;
  uint32_t cluster = 0, cta = 0;
  bool severalCtas = false, severalClusters = false;
  SyncScope scope = SyncScope::Gpu;
  /// As an agent of `cluster` has it.
  std::shared_ptr<const Knowledge> knowledge;
};

struct Publications {
  std::vector<Publication> list;
};

/// By address, or by offset in shared memory.
using Locations = std::map<uint64_t, Publications>;

/// Cells of a CTA's shared memory that one of its warps has read in its epoch.
/// A cell is in the set where its record of the read is one of whole cells by
/// many lanes, and nothing was written there since: further weak reads by the
/// warp change nothing. They need not look at the cell.
class CellsRead {
public:
  /// Cells that have one count of writes.
  static constexpr uint32_t cellsOfCount = 64;

  bool has(uint32_t cell, uint32_t epoch, uint32_t writes) const {
    uint32_t i = cell / cellsOfCount;
    return i < words.size() && words[i].epoch == epoch &&
           words[i].writes == writes &&
           (words[i].cells >> cell % cellsOfCount & 1);
  }
  void add(uint32_t cell, uint32_t epoch, uint32_t writes) {
    uint32_t i = cell / cellsOfCount;
    if (i >= words.size())
      words.resize(i + 1);
    Word &word = words[i];
    if (word.epoch != epoch || word.writes != writes)
      word = {epoch, writes, 0};
    word.cells |= uint64_t{1} << cell % cellsOfCount;
  }

private:
  struct Word {
    uint32_t epoch = 0, writes = 0;
    uint64_t cells = 0;
  };
  std::vector<Word> words;
};

struct WarpState {
  Knowledge knowledge;
  CellsRead cellsRead;
  /// Counts instructions that access memory, and synchronisations.
  uint32_t clock = 1;
  /// The clock at the warp's last synchronisation or operation. Whoever knows
  /// of one access after it knows of all up to the next.
  uint32_t epoch = 0;
  /// Number of the instruction that made the last access, in the run, and the
  /// clock of its first one.
  uint64_t instruction = 0;
  uint32_t instructionClock = 0;
  /// Shared by the operations issued since the knowledge last changed.
  std::shared_ptr<const Knowledge> snapshot;
  /// tcgen05.ld and st since the last wait.
  NumberSet loads, stores;
  /// Strict profile: what the warp has learnt of without
  /// fence::after_thread_sync, beyond what `fencedPipe` covers, and loads and
  /// stores waited for without fence::before_thread_sync.
  NumberSet notFencedAfter, notFencedBefore;
  /// Strict profile: lanes that have accessed memory since bar.warp.sync or a
  /// barrier, tcgen05.ld and st that were waited for since, and the clock then,
  /// or a later one of its own that the warp has learnt of by waiting.
  LaneMask notSyncedLanes = 0;
  NumberSet notSynced;
  uint32_t syncedClock = 0;
  VectorClock fencedPipe;
  /// The knowledge that relaxed arrivals at cluster barriers carry: the
  /// knowledge at the last fence.mbarrier_init, and allocations since.
  Knowledge initFence;
  bool hasInitFence = false;
  /// Knowledge at the last fence of each scope, which later strong writes
  /// publish, and what strong reads have found, which later fences acquire.
  std::array<std::shared_ptr<const Knowledge>, 4> fences;
  std::vector<Publication> found;
  /// Clock of the last release to the proxy of tensor maps.
  uint32_t mapRelease = 0;
};

/// A warp's last acquire of a tensor map: what is ordered before it is visible
/// to uses of the map that are ordered after it.
struct MapAcquire {
  AccessRecord record;
  Knowledge covered;
};

struct OperationState {
  std::shared_ptr<const Knowledge> knowledge;
  /// Strict profile; null when nothing is missing.
  std::shared_ptr<const NumberSet> notFencedAfter;
  std::shared_ptr<const VectorClock> fencedPipe;
  uint32_t pc = noPc;
  uint32_t warp = 0;
  /// Clock of the issuing warp.
  uint32_t clock = 0;
  /// Number in NumberSets; not used by the tensor pipe.
  uint32_t number = 0;
  uint8_t lane = 0;
  OperationProxy proxy = OperationProxy::Async;
};

struct CtaState {
  ShadowCells shared;
  /// Counts writes, for each CellsRead::cellsOfCount cells of `shared`.
  std::vector<uint32_t> sharedWrites;
  ShadowCells tmem;
  std::unordered_map<uint32_t, MbarrierState> mbarriers;
  std::array<Meeting, 16> barriers;
  /// Flags in shared memory, by offset.
  Locations published;

  /// `size` bytes of shared memory from `offset` on are written.
  void noteWrite(uint32_t offset, uint32_t size) {
    constexpr uint32_t bytes = 4 * CellsRead::cellsOfCount;
    for (uint32_t i = offset / bytes; i * bytes < offset + size; ++i)
      ++sharedWrites[i];
  }
};

struct ClusterCheck {
  /// The numbers of the launches of all devices, and that of its own one.
  uint32_t number = 0, numberInLaunch = 0;
  Machine *machine = nullptr;
  std::vector<WarpState> warps;
  std::vector<CtaState> ctas;
  std::vector<OperationState> operations;
  uint32_t nextNumber = 0;
  ReadLists reads;
  Meeting barrier;
};

/// Calls `each(byte, mask)` for the pieces of 4 bytes that [from, to) touches,
/// with the first byte in the piece and a mask of the bytes in it.
template <typename Each>
void forPieces(uint64_t from, uint64_t to, const Each &each) {
  for (uint64_t byte = from; byte < to;) {
    uint64_t end = std::min(to, (byte | 3) + 1);
    each(byte, static_cast<uint32_t>(((1u << (end - byte)) - 1) << (byte & 3)));
    byte = end;
  }
}

/// A cell of memory, for reports.
struct Spot {
  enum Kind : uint8_t { Shared, Tmem, Global } kind;
  uint64_t at;
};

/// An access that is compared with a cell.
struct AccessView {
  ClusterCheck &cluster;
  AccessRecord record;
  bool write = false;
  const Knowledge &knowledge;
  /// For operations.
  const OperationState *operation = nullptr;
  /// For threads: up to this clock, other lanes of the warp are ordered before.
  uint32_t lanesClock = 0;
  /// For threads: WarpState::epoch, and from which clock on accesses of the
  /// warp are made by the same instruction.
  uint32_t epoch = 0;
  uint32_t instructionClock = 0;
  /// For a store of a thread: the bytes from address `keptFrom` on that it
  /// leaves as they were.
  uint32_t kept = 0;
  uint64_t keptFrom = 0;
  /// Earlier read and write that were found to be in order: neighbouring cells
  /// mostly have the same ones.
  mutable AccessRecord passed[2] = {};
};

struct Checker::Impl {
  explicit Impl(const RunOptions &options)
      : strict(options.profile == CheckProfile::Strict) {}

  const bool strict;
  /// The launch before may still run; false when that has been reported.
  bool mayOverlap = false, overlapReported = false;
  /// All clusters, by number; the memory of ended ones is gone.
  std::vector<std::unique_ptr<ClusterCheck>> clusters;
  /// Clusters that have started, by launch.
  std::map<const Machine *, uint32_t> started;
  /// Where launches follow each other on devices that run together: what comes
  /// before the next launch of a device, as an agent of no cluster has it.
  std::map<unsigned, Knowledge> ended;
  GlobalShadow global;
  /// Lists of global cells.
  ReadLists globalReads;
  /// Flags in global memory, by address.
  Locations published;
  /// Acquires of tensor maps, by address, one for each warp.
  std::map<uint64_t, std::vector<MapAcquire>> mapAcquires;

  ClusterCheck &stateOf(const Cluster &cluster) { return *cluster.check; }
  ClusterCheck &stateOf(const Cta &cta) { return *cta.cluster->check; }
  CtaState &ctaState(const Cta &cta) { return stateOf(cta).ctas[cta.rank]; }
  uint32_t warpNumber(const Warp &warp) const {
    return warp.cta.rank * warp.machine.warpsPerCta + warp.index;
  }
  WarpState &stateOf(const Warp &warp) {
    return stateOf(warp.cta).warps[warpNumber(warp)];
  }
  MbarrierState &mbarrier(Cta &cta, uint32_t offset) {
    return ctaState(cta).mbarriers[offset];
  }

  /// An epoch of the warp ends: later accesses are told from earlier ones.
  void endEpoch(Warp &warp);
  /// The same where what the warp knows may have changed.
  void tick(Warp &warp);
  /// The clock of a warp advances when another instruction than at its last
  /// access makes one.
  void tellInstructionsApart(Warp &warp);
  /// The knowledge that a warp passes on when it releases; its clock advances.
  Knowledge release(Warp &warp);
  /// The same of an arrival of `lanes` alone: what other lanes have done since
  /// the last synchronisation of the warp is not theirs to pass on.
  Knowledge releaseOf(Warp &warp, LaneMask lanes);
  /// The lanes of the warp have met.
  void lanesSynced(Warp &warp);
  /// AccessView::lanesClock of an access of the warp.
  uint32_t lanesClockOf(const WarpState &state) const {
    return strict ? state.syncedClock : state.epoch;
  }
  /// The warp learns what a completed phase carries.
  void acquire(Warp &warp, const Knowledge &knowledge);
  /// The knowledge has changed.
  void learnt(WarpState &state) { state.snapshot = nullptr; }
  /// A strong access of a location (GlobalOrder.cpp): what a read acquires
  /// there, and what a write publishes.
  void acquireAt(Warp &warp, Locations &locations, uint64_t location,
                 MemoryOrder order);
  Publications publicationsOf(Warp &warp, MemoryOrder order);
  /// Whether threads of the warp are in the scope of those who have published,
  /// and those in `scope` of the warp.
  bool covers(const Publication &publication, const Warp &warp,
              SyncScope scope);
  /// Whether strong accesses have scopes that include each other.
  bool areMorallyStrong(const AccessRecord &a, const AccessRecord &b) const;
  /// The smallest scope with both agents in it.
  SyncScope scopeOfBoth(const AccessRecord &a, const AccessRecord &b) const;
  void publish(Publications &at, const Publication &publication);
  /// Everything that a cluster, which has ended, did and knew.
  Knowledge allOf(const ClusterCheck &cluster) const;
  uint32_t ctaOf(const AccessRecord &record) const;

  /// Compares an access with the cell's and enters it (Cells.cpp).
  void access(ShadowCell &cell, ReadLists &lists, const AccessView &now,
              Spot spot);
  /// Profile cutlass: whether a store keeps the bytes that another warp of the
  /// CTA has accessed, without being ordered after it. Where that warp has put
  /// them memory ends up the same whoever comes first.
  bool repeats(const AccessRecord &earlier, const AccessView &now,
               Spot spot) const;
  /// The writes of the cell that a store repeats, and the reads of them that it
  /// is not ordered after: later accesses are compared with these as well.
  std::vector<AccessRecord> repeatedBy(const ShadowCell &cell, ReadLists &lists,
                                       const AccessView &now, Spot spot);
  /// Whether a read is ordered after one of the writes that the cell's repeats.
  bool followsRepeated(const ShadowCell &cell, ReadLists &lists,
                       const AccessView &now) const;
  /// Enters a read beside, or in place of, those of the cell. Whether there is
  /// a record now for weak reads of the whole cell by any lanes of the warp.
  bool enterRead(ShadowCell &cell, ReadLists &lists, const AccessView &now);
  /// Whether `record`, a read of `now`, can stand for an earlier read from now
  /// on: what conflicts with the one conflicts with the other. May make it so
  /// by adding the other's bytes or lanes.
  bool takesOver(const AccessRecord &read, AccessRecord &record,
                 const AccessView &now) const;
  /// A weak read of a thread. Whether it is ordered after the cell's write and
  /// there is a record as enterRead says.
  bool readCell(ShadowCell &cell, ReadLists &lists, const AccessView &now,
                Spot spot);
  /// Loads of lanes one behind another in a page that nobody has written.
  bool readStripe(const AccessView &now, uint64_t address, unsigned size);
  /// The same for bytes of global memory.
  void enterRange(GlobalShadow::Page &page, const AccessView &now,
                  uint64_t begin, uint64_t end, unsigned laneBytes = 0);
  void accessGlobal(const AccessView &now, uint64_t address, uint64_t size);
  /// Reports an access that may come before the end of the launch before.
  void compareWithLastLaunch(const AccessView &now, uint64_t address);
  void compare(const AccessRecord &earlier, bool earlierWrote,
               const AccessView &now, Spot spot) {
    if (earlier.valid() && !(earlier == now.passed[earlierWrote]) &&
        compareSlowly(earlier, earlierWrote, now, spot))
      now.passed[earlierWrote] = earlier;
  }
  /// False when something has been reported or the accesses do not overlap.
  bool compareSlowly(const AccessRecord &earlier, bool earlierWrote,
                     const AccessView &now, Spot spot);
  bool ordered(const AccessRecord &earlier, bool earlierWrote,
               const AccessView &now) const;
  bool lacksTcgen05Fence(const AccessRecord &earlier, bool earlierWrote,
                         const AccessView &now) const;
  void reportConflict(ReportKind kind, const AccessRecord &earlier,
                      const char *earlierWhat, const AccessView &now,
                      const char *nowWhat, const std::string &place,
                      const char *why);
  std::string describe(const AccessRecord &record) const;
  /// As the machine reaches it.
  std::string describe(Spot spot, Machine &machine) const;
};

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H
