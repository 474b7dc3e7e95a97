//===- Checker.h - happens-before checking of a run -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Told of every access and every synchronisation of a run, it keeps vector
// clocks and shadow memory and reports accesses that nothing orders. Warps and
// asynchronous operations are its agents.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_CHECKER_H
#define NVFP4_SIMULATOR_CHECK_CHECKER_H

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

/// Memory ordering of a thread's access.
enum class Ordering : uint8_t {
  Weak,
  Relaxed,
  Acquire,
  Release,
  AcquireRelease
};

/// Which threads an access or a fence can synchronise with, the fewest first.
enum class SyncScope : uint8_t { Cta, Cluster, Gpu, System };

/// Ordering of an access, with its scope where it is not weak.
struct MemoryOrder {
  Ordering ordering = Ordering::Weak;
  SyncScope scope = SyncScope::Gpu;

  MemoryOrder() = default;
  MemoryOrder(Ordering ordering, SyncScope scope = SyncScope::Gpu)
      : ordering(ordering), scope(scope) {}
  bool isWeak() const { return ordering == Ordering::Weak; }
  bool acquires() const {
    return ordering == Ordering::Acquire ||
           ordering == Ordering::AcquireRelease;
  }
  bool releases() const {
    return ordering == Ordering::Release ||
           ordering == Ordering::AcquireRelease;
  }
  /// Whether other devices learn what happened before.
  bool releasesToSystem() const {
    return releases() && scope == SyncScope::System;
  }
};

/// The path that an asynchronous operation takes to memory.
enum class OperationProxy : uint8_t {
  /// cp.async, st.async, red.async and tcgen05.ld and st.
  Generic,
  Async,
  /// The tensor pipe, whose operations complete in order of issue.
  TensorPipe,
};

struct Place;
struct Publications;

/// A write of a thread that takes effect later.
struct PendingWrite {
  /// The warp, by its cluster and its number there, and its clock.
  uint32_t cluster = 0, warp = 0, clock = 0;
  /// The order that others can acquire at the address from then on; may be
  /// null.
  std::shared_ptr<const Publications> published;
  /// WriteInfo::isSum.
  bool isSum = false;
};

/// More about a write.
struct WriteInfo {
  /// It is released to the proxy of tensor maps.
  bool mapRelease = false;
  /// A bit for each byte that it leaves as it was.
  uint32_t kept = 0;
  /// `red`, which reads, but tells its thread nothing.
  bool isReduction = false;
  /// An atomic operation that leaves what it finds.
  bool isUnchanged = false;
  /// An integer sum without a result: such operations commute.
  bool isSum = false;
  /// Set where it takes effect later.
  PendingWrite *pending = nullptr;
};

class Checker {
public:
  /// The lane of an access that all lanes make together.
  static constexpr unsigned manyLanes = 32;

  explicit Checker(const RunOptions &options);
  ~Checker();

  void clusterStarted(Machine &machine, Cluster &cluster);
  void clusterEnded(Cluster &cluster);

  /// An access of a thread, through the generic proxy.
  void threadAccess(Warp &warp, const Place &place, unsigned size,
                    Access access, unsigned lane, MemoryOrder order = {},
                    const WriteInfo &info = {});
  /// Weak loads of `lanes`, of `size` bytes each, whose bytes lie
  /// `offset[lane]` behind `origin` in shared or global memory: the same as
  /// threadAccess for each, where there is nothing to tell of any.
  void warpLoad(Warp &warp, const Place &origin, const int32_t *offset,
                unsigned size, LaneMask lanes);
  /// A write has taken effect.
  void writeTookEffect(const PendingWrite &write, uint64_t address);
  /// Whether a write comes before what the warp does next.
  bool isBefore(const PendingWrite &write, Warp &warp) const;

  /// Two lanes of one store put different values at `place`, where that of
  /// `other` is found afterwards.
  void lanesDiffer(Warp &warp, const Place &place, unsigned lane,
                   unsigned other);

  // Asynchronous operations. -------------------------------------------------
  /// An operation issued by a thread.
  uint32_t beginOperation(Warp &warp, unsigned lane, OperationProxy proxy);
  void operationShared(uint32_t operation, Cta &cta, uint32_t offset,
                       uint32_t size, Access access);
  void operationGlobal(uint32_t operation, Cluster &cluster, uint64_t address,
                       uint64_t size, Access access);
  /// `quarters` has a bit for each 32 lanes.
  void operationTmem(uint32_t operation, Cta &cta, unsigned quarters,
                     unsigned column, unsigned count, Access access);
  /// The operation uses the tensor map at a global address.
  void tensorMapUsed(Warp &warp, uint64_t address, unsigned lane);
  /// The operation arrives on, or counts on, an mbarrier.
  void operationArrived(uint32_t operation, Cta &cta, uint32_t offset);
  /// The thread has waited for the operations of a bulk group; `readOnly` when
  /// only for the reads of their sources.
  void operationsWaited(Warp &warp, const std::vector<uint32_t> &operations,
                        bool readOnly);
  /// Profile cutlass: tcgen05.alloc has written the address. The warp knows of
  /// it, and so does the cluster after its next barrier, relaxed or not.
  void allocationWritten(Warp &warp, uint32_t operation);
  /// tcgen05.wait: loads or stores of the warp's threads are complete.
  void tmemWaited(Warp &warp, bool stores);

  // Synchronisation of threads. ----------------------------------------------
  void mbarrierInitialized(Warp &warp, Cta &cta, uint32_t offset);
  /// A thread uses an mbarrier, whose initialisation must be ordered before.
  void mbarrierUsed(Warp &warp, Cta &cta, uint32_t offset);
  /// The arrival of the threads `lanes` of the warp, together.
  void threadArrived(Warp &warp, Cta &cta, uint32_t offset, bool release,
                     LaneMask lanes);
  void threadWaited(Warp &warp, Cta &cta, uint32_t offset, bool acquire);
  void phaseCompleted(Cta &cta, uint32_t offset);
  void barrierArrived(Warp &warp, unsigned id);
  void barrierCompleted(Cta &cta, unsigned id);
  void barrierLeft(Warp &warp, unsigned id);
  void clusterArrived(Warp &warp, bool release);
  void clusterCompleted(Cluster &cluster);
  void clusterLeft(Warp &warp, bool acquire);
  /// bar.warp.sync, or (`memory` false) another instruction that the lanes of
  /// a warp execute together.
  void warpSynced(Warp &warp, bool memory);
  /// fence and membar.
  void memoryFence(Warp &warp, SyncScope scope);
  /// fence.proxy.async for the named kinds of memory.
  void proxyFence(Warp &warp, bool shared, bool global);
  /// fence.proxy.tensormap: release, or acquire of the map at `address`.
  void tensorMapRelease(Warp &warp);
  void tensorMapAcquire(Warp &warp, uint64_t address);
  void mbarrierInitFence(Warp &warp);
  void tcgen05Fence(Warp &warp, bool before);
  /// griddepcontrol.wait.
  void gridWaited(Warp &warp);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_CHECKER_H
