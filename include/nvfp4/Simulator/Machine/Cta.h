//===- Cta.h - CTAs, clusters and their barriers ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State that threads of a CTA or a cluster share: shared memory, mbarriers,
// named barriers, tensor memory, the tensor pipe.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_CTA_H
#define NVFP4_SIMULATOR_MACHINE_CTA_H

#include "nvfp4/Simulator/Machine/Warp.h"
#include "nvfp4/Simulator/TensorCore/Tmem.h"

#include <array>
#include <unordered_map>

namespace nvfp4::sim {

/// Warps to wake when something happens.
struct WaitList {
  std::vector<Warp *> warps;
  void add(Warp &warp) { warps.push_back(&warp); }
};

/// An mbarrier object (PTX 9.7.13.15).
struct Mbarrier {
  uint32_t expected = 0;
  uint32_t pending = 0;
  int64_t transactions = 0;
  /// Completed phases since init; its parity is what waits test.
  uint64_t phase = 0;
  WaitList waiters;
  uint32_t initPc = noPc;
  /// Identifies this life of the object to the checker.
  uint32_t id = 0;
};

/// A named barrier (bar.sync and its kin).
struct NamedBarrier {
  uint32_t arrived = 0;
  /// Threads it waits for; 0 before the first arrival.
  uint32_t expected = 0;
  uint64_t generation = 0;
  /// Result of bar.red.
  uint32_t population = 0;
  bool all = true;
  bool any = false;
  uint32_t lastPopulation = 0;
  bool lastAll = false;
  bool lastAny = false;
  bool wholeCta = false;
  WaitList waiters;
};

struct Cluster;
struct ClusterCheck;

/// One CTA.
struct Cta {
  Cluster *cluster = nullptr;
  unsigned rank = 0;
  std::array<uint32_t, 3> id{};
  std::vector<uint8_t> shared;
  ByteMask sharedWritten;
  std::unordered_map<uint32_t, Mbarrier> mbarriers;
  std::array<NamedBarrier, 16> barriers;
  std::unique_ptr<Tmem> tmem;
  WaitList tmemWaiters;
  std::vector<std::unique_ptr<Warp>> warps;
  unsigned liveWarps = 0;
  unsigned liveThreads = 0;
  /// When the newest operation of this CTA's tensor pipe completes.
  uint64_t pipeTime = 0;
  /// In the model of cycles: from when on the tensor pipe, the copy engine and
  /// the four schedulers are free.
  uint64_t pipeFree = 0;
  uint64_t copyFree = 0;
  std::array<uint64_t, 4> issueFree{};
  /// Operations in it that use tensor memory.
  unsigned pipePending = 0;
  /// cta_group used by tcgen05 so far: 0, 1 or 2.
  unsigned ctaGroup = 0;

  Tmem &tensorMemory() {
    if (!tmem)
      tmem = std::make_unique<Tmem>();
    return *tmem;
  }
  bool exited() const { return liveWarps == 0; }
};

/// The CTAs of a cluster and its barrier.
struct Cluster {
  std::array<uint32_t, 3> id{};
  std::vector<std::unique_ptr<Cta>> ctas;
  /// barrier.cluster: threads that have arrived in this phase.
  unsigned arrived = 0;
  uint64_t generation = 0;
  WaitList waiters;
  unsigned liveCtas = 0;
  unsigned liveThreads = 0;
  /// Asynchronous operations that still refer to this cluster.
  unsigned pendingOperations = 0;
  /// The checker's view of the cluster.
  ClusterCheck *check = nullptr;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_CTA_H
