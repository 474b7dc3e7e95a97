//===- CheckerImpl.h - state of the checker ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is kept by cluster, because nothing the checker models
// synchronises beyond one. An operation has two numbers: an even one for what
// it reads and the odd one after it for what it writes, so that a wait for
// reads only can be told from a full wait.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H
#define NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Check/Knowledge.h"
#include "nvfp4/Simulator/Check/Shadow.h"

namespace nvfp4::sim {

/// Something threads arrive at and wait for: what the arrivals of the open
/// phase carry, and what completed phases hand on.
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
};

struct WarpState {
  Knowledge knowledge;
  uint32_t clock = 1;
  /// Tensor-pipe operations issued so far, which commit covers.
  NumberSet pipe;
  /// tcgen05.ld and st since the last wait.
  NumberSet loads, stores;
  /// Strict profile: operations learnt of without fence::after_thread_sync,
  /// and loads and stores waited for without fence::before_thread_sync.
  NumberSet notFencedAfter, notFencedBefore;
  /// Knowledge at the last fence.mbarrier_init.
  Knowledge initFence;
};

struct OperationState {
  Knowledge knowledge;
  NumberSet pipe;
  NumberSet notFencedAfter;
  uint32_t pc = noPc;
  uint32_t warp = 0;
  uint32_t lane = 0;
  bool tensorPipe = false;
};

struct CtaState {
  std::vector<ShadowCell> shared;
  std::vector<ShadowCell> tmem;
  std::unordered_map<uint32_t, MbarrierState> mbarriers;
  std::array<Meeting, 16> barriers;
};

struct ClusterState {
  std::vector<WarpState> warps;
  std::vector<CtaState> ctas;
  std::vector<OperationState> operations;
  Meeting barrier;
};

struct Checker::Impl {
  explicit Impl(Machine &machine)
      : machine(machine),
        strict(machine.options.profile == CheckProfile::Strict) {}

  Machine &machine;
  const bool strict;
  std::unordered_map<const Cluster *, std::unique_ptr<ClusterState>> clusters;

  ClusterState &stateOf(const Cta &cta) { return *clusters.at(cta.cluster); }
  uint32_t warpNumber(const Warp &warp) const {
    return warp.cta.rank * machine.warpsPerCta + warp.index;
  }
  WarpState &stateOf(const Warp &warp) {
    return stateOf(warp.cta).warps[warpNumber(warp)];
  }
  MbarrierState &mbarrier(Cta &cta, uint32_t offset) {
    return stateOf(cta).ctas[cta.rank].mbarriers[offset];
  }

  /// What a warp hands on when it releases; its clock advances.
  Knowledge release(Warp &warp);
  /// The warp learns what a completed phase carries.
  void acquire(Warp &warp, const Meeting &meeting);

  /// Compares an access with the cell's and enters it.
  void access(ClusterState &cluster, ShadowCell &cell,
              const AccessRecord &record, bool write,
              const Knowledge &knowledge, const NumberSet *notFencedAfter,
              const std::string &place);
  bool ordered(const AccessRecord &earlier, const Knowledge &knowledge) const;
  void reportConflict(ClusterState &cluster, ReportKind kind,
                      const AccessRecord &earlier, const char *earlierWhat,
                      const AccessRecord &now, const char *nowWhat,
                      const std::string &place, const char *why);
  std::string describe(const ClusterState &cluster,
                       const AccessRecord &record) const;
};

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_CHECK_CHECKERIMPL_H
