//===- Warp.h - 32 threads and their lane groups ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp's registers are planes of 32 lanes. Its threads are partitioned into
// groups that share a program counter; a branch splits a group, and the parts
// wait for each other where the branch reconverges.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_WARP_H
#define NVFP4_SIMULATOR_MACHINE_WARP_H

#include "nvfp4/Simulator/Decode/Kernel.h"
#include "nvfp4/Simulator/Machine/Memory.h"
#include "nvfp4/Simulator/Machine/Report.h"

#include <array>
#include <bit>
#include <memory>

namespace nvfp4::sim {

class Machine;
struct Cta;

/// The object that a waiting group waits for, to explain a deadlock.
enum class WaitKind : uint8_t {
  None,
  Mbarrier,
  NamedBarrier,
  ClusterBarrier,
  BulkGroup,
  CopyGroup,
  TmemAllocation,
  TensorPipe,
  WarpSync,
  Spin,
};

/// Lanes at one program counter.
struct LaneGroup {
  enum class State : uint8_t { Ready, Waiting, Parked };
  uint32_t pc = 0;
  LaneMask mask = 0;
  State state = State::Ready;
  /// Innermost reconvergence record, or -1, and a copy of its pc.
  int32_t record = -1;
  uint32_t reconvergePc = noPc;
  /// The object that the group waits for.
  WaitKind wait = WaitKind::None;
  uint64_t waitAddress = 0;
  uint64_t waitDetail = 0;
  /// An arrival that has been made by the instruction at `pc`, so that it is
  /// not repeated when the instruction runs again.
  bool arrived = false;
  uint64_t arrivalGeneration = 0;
  /// While it waits on an mbarrier: the phase it waits for, plus one.
  uint64_t waitedPhase = 0;
};

/// Where the parts of a diverged group meet.
struct Reconvergence {
  uint32_t pc = noPc;
  LaneMask expected = 0;
  LaneMask present = 0;
  int32_t parent = -1;
};

/// A group of bulk or non-bulk asynchronous copies of one thread.
struct CopyGroup {
  /// Operations whose source is still being read, and that are still writing.
  unsigned reading = 0;
  unsigned writing = 0;
  std::vector<uint32_t> operations;
  /// The last instruction of it.
  uint32_t pc = noPc;
  /// The thread has waited for its reads at least.
  bool waited = false;
};

/// Copies of one thread: the open group and the committed ones, oldest first.
struct ThreadCopies {
  std::shared_ptr<CopyGroup> open;
  std::vector<std::shared_ptr<CopyGroup>> committed;
};

/// Register values an asynchronous operation will deliver at a wait.
struct DelayedResult {
  std::vector<Ref> refs;
  LaneMask mask = 0;
  /// refs.size() planes of 32 values, filled when the operation completes.
  std::vector<uint32_t> values;
  bool ready = false;
  /// The checker's number of the operation.
  uint32_t operation = 0;
};

class Warp {
public:
  Warp(Machine &machine, Cta &cta, unsigned index, unsigned agent,
       LaneMask lanes);

  // Registers. -----------------------------------------------------------
  uint8_t *plane(Ref ref) const {
    return base[ref.bits >> 31] + (ref.bits & Ref::offsetMask);
  }
  uint32_t *narrow(Ref ref) const {
    return reinterpret_cast<uint32_t *>(plane(ref));
  }
  uint64_t *wide(Ref ref) const {
    return reinterpret_cast<uint64_t *>(plane(ref));
  }
  /// A predicate as a lane mask, with its negation applied.
  LaneMask predicate(Ref ref) const {
    LaneMask value = *narrow(ref);
    return ref.negated() ? ~value : value;
  }
  void setPredicate(Ref ref, LaneMask lanes, LaneMask value) const {
    uint32_t *mask = narrow(ref);
    *mask = (*mask & ~lanes) | (value & lanes);
  }
  /// The address in an operand: `base + offset` for one lane.
  uint64_t addressOf(Ref ref, bool isWide, int64_t offset,
                     unsigned lane) const {
    if (isWide)
      return wide(ref)[lane] + offset;
    return static_cast<uint32_t>(narrow(ref)[lane] + offset);
  }

  // Lane groups (LaneGroups.cpp). ------------------------------------------
  LaneGroup &group() { return groups[current]; }
  /// Makes a ready group current, preferring variety by `random`; false when
  /// there is none.
  bool selectGroup(uint64_t random);
  /// Splits the current group: `lanes` go to `target`, the others to the next
  /// instruction.
  void diverge(LaneMask lanes, uint32_t target);
  /// Splits off `lanes` of the current group to run at `pc` on their own, to
  /// meet again where `branch` reconverges.
  void splitOff(LaneMask lanes, uint32_t pc, uint32_t branch);
  /// The current group is at its reconvergence point.
  void reconverge();
  /// Ends `lanes` of the current group. The group is removed when empty.
  void exitLanes(LaneMask lanes);
  /// Makes waiting groups ready, so that they try again.
  void wake();
  /// Lets lanes that wait for a reconvergence go on alone. Returns whether
  /// there were any. The last resort before a deadlock is reported.
  bool releaseReconvergence();
  bool hasReadyGroup() const;

  /// Makes the current group wait and returns Step::Block.
  Step block(WaitKind kind, uint64_t address = 0, uint64_t detail = 0);
  /// Reports an error at the current instruction and stops the run.
  Step fault(ReportKind kind, std::string message, int lane = -1);
  /// Whether all lanes execute the current instruction, called `name` in the
  /// report of an error if they do not.
  bool requireAllLanes(LaneMask mask, const char *name);
  /// Reports a finding at the current instruction; the run goes on.
  void note(ReportKind kind, std::string message, int lane = -1);
  /// "cta (0,0,0) warp 1 lane 3".
  std::string describe(int lane = -1) const;

  Machine &machine;
  Cta &cta;
  const Kernel &kernel;
  /// %warpid, and the number of the warp in the whole grid.
  const unsigned index;
  const unsigned agent;
  /// Threads that have not exited.
  LaneMask live;
  std::vector<LaneGroup> groups;
  std::vector<Reconvergence> records;
  size_t current = 0;
  /// In the model of cycles: when its next instruction may start.
  uint64_t readyAt = 0;
  /// Position in the scheduler's ready list, or -1.
  int32_t readyIndex = -1;

  uint8_t *base[2] = {};
  /// Local memory of the 32 threads, and which bytes were written.
  std::vector<uint8_t> local;
  ByteMask localWritten;
  /// Lanes in which each tracked register has been written.
  std::vector<LaneMask> trackedWritten;
  /// For each lane the generation of the cluster barrier that it last arrived
  /// at, plus one; 0 before its first arrival.
  std::array<uint64_t, 32> clusterArrivals{};
  /// Carry flag of add.cc and its kin.
  LaneMask carry = 0;

  std::vector<ThreadCopies> bulkCopies;
  std::vector<ThreadCopies> plainCopies;
  std::vector<std::shared_ptr<DelayedResult>> tmemLoads;
  /// Loads whose registers are used before they are waited for, and that were
  /// not yet: where they stand, and the checker's numbers of them.
  std::vector<std::pair<uint32_t, uint32_t>> openLoads;
  unsigned tmemStoresPending = 0;
  std::vector<std::vector<std::shared_ptr<DelayedResult>>> wgmmaGroups;
  std::vector<std::shared_ptr<DelayedResult>> wgmmaOpen;

private:
  void finishRecord(int32_t record);

  std::unique_ptr<uint64_t[]> storage;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_WARP_H
