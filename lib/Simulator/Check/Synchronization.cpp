//===- Synchronization.cpp - barriers, mbarriers and fences -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrivals put what a warp knows into the open phase of a meeting; a completed
// phase hands it on to those who wait.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

namespace nvfp4::sim {

void Checker::Impl::endEpoch(Warp &warp) {
  WarpState &state = stateOf(warp);
  state.epoch = state.clock++;
  state.knowledge.own.clock.raise(warpNumber(warp), state.clock);
}

void Checker::Impl::tick(Warp &warp) {
  endEpoch(warp);
  learnt(stateOf(warp));
}

void Checker::Impl::tellInstructionsApart(Warp &warp) {
  WarpState &state = stateOf(warp);
  uint64_t instruction = warp.machine.result.statistics.warpInstructions;
  if (state.instruction == instruction)
    return;
  state.instruction = instruction;
  state.instructionClock = ++state.clock;
  state.knowledge.own.clock.raise(warpNumber(warp), state.clock);
}

Knowledge Checker::Impl::release(Warp &warp) {
  WarpState &state = stateOf(warp);
  Knowledge handed = state.knowledge;
  if (strict)
    handed.own.operations.removeAll(state.notFencedBefore);
  tick(warp);
  return handed;
}

Knowledge Checker::Impl::releaseOf(Warp &warp, LaneMask lanes) {
  WarpState &state = stateOf(warp);
  bool isWhole = !(state.notSyncedLanes & ~lanes);
  NumberSet notSynced = state.notSynced;
  uint32_t synced = state.syncedClock;
  Knowledge handed = release(warp);
  if (!strict || lanes == allLanes)
    return handed;
  handed.own.operations.removeAll(notSynced);
  if (!isWhole) {
    handed.own.clock.forget(warpNumber(warp));
    handed.own.clock.raise(warpNumber(warp), synced);
  }
  return handed;
}

void Checker::Impl::lanesSynced(Warp &warp) {
  WarpState &state = stateOf(warp);
  state.notSyncedLanes = 0;
  state.notSynced.clear();
  state.syncedClock = state.clock;
}

void Checker::Impl::acquire(Warp &warp, const Knowledge &knowledge) {
  WarpState &state = stateOf(warp);
  if (strict) {
    NumberSet fresh = knowledge.own.operations;
    fresh.removeAll(state.knowledge.own.operations);
    state.notFencedAfter.addAll(fresh);
    // All lanes of the warp know what came back to it.
    state.syncedClock =
        std::max(state.syncedClock, knowledge.own.clock.of(warpNumber(warp)));
  }
  state.knowledge.join(knowledge);
  tick(warp);
}

void Checker::mbarrierInitialized(Warp &warp, Cta &cta, uint32_t offset) {
  MbarrierState fresh;
  fresh.init.setAgent(impl->warpNumber(warp));
  fresh.init.cluster = impl->stateOf(warp.cta).number;
  fresh.init.lane = AccessRecord::manyLanes;
  fresh.init.clock = impl->stateOf(warp).clock;
  fresh.init.pc = warp.group().pc;
  fresh.initAfterFence = !impl->strict && impl->stateOf(warp).hasInitFence;
  fresh.clusterPhase = cta.cluster->generation;
  impl->mbarrier(cta, offset) = fresh;
}

void Checker::mbarrierUsed(Warp &warp, Cta &cta, uint32_t offset) {
  MbarrierState &state = impl->mbarrier(cta, offset);
  if (!state.init.valid())
    return;
  AccessView now{
      impl->stateOf(warp.cta), {}, false, impl->stateOf(warp).knowledge};
  now.record.setAgent(impl->warpNumber(warp));
  now.record.pc = warp.group().pc;
  now.record.cluster = now.cluster.number;
  now.record.lane = AccessRecord::manyLanes;
  if (state.init.sameAgent(now.record) || impl->ordered(state.init, true, now))
    return;
  if (state.initAfterFence && cta.cluster->generation > state.clusterPhase)
    return;
  bool remote = &cta != &warp.cta;
  impl->reportConflict(
      remote ? ReportKind::MissingMbarrierInitFence : ReportKind::DataRace,
      state.init, "its initialisation", now, "use",
      "the mbarrier at shared offset " + std::to_string(offset),
      remote ? "that no fence.mbarrier_init and cluster barrier order before it"
             : "that nothing orders before it");
  state.init = AccessRecord();
}

void Checker::threadArrived(Warp &warp, Cta &cta, uint32_t offset, bool release,
                            LaneMask lanes) {
  mbarrierUsed(warp, cta, offset);
  if (release)
    impl->mbarrier(cta, offset).pending.join(impl->releaseOf(warp, lanes));
}

void Checker::threadWaited(Warp &warp, Cta &cta, uint32_t offset,
                           bool acquire) {
  mbarrierUsed(warp, cta, offset);
  if (acquire)
    impl->acquire(warp, impl->mbarrier(cta, offset).done);
}

void Checker::phaseCompleted(Cta &cta, uint32_t offset) {
  impl->mbarrier(cta, offset).complete();
}

void Checker::barrierArrived(Warp &warp, unsigned id) {
  impl->ctaState(warp.cta).barriers[id].pending.join(impl->release(warp));
}

void Checker::barrierCompleted(Cta &cta, unsigned id) {
  impl->ctaState(cta).barriers[id].complete();
}

void Checker::barrierLeft(Warp &warp, unsigned id) {
  impl->lanesSynced(warp);
  impl->acquire(warp, impl->ctaState(warp.cta).barriers[id].done);
}

void Checker::clusterArrived(Warp &warp, bool release) {
  Meeting &meeting = impl->stateOf(warp.cta).barrier;
  // A relaxed arrival still carries what fence.mbarrier_init has released, and
  // in profile cutlass where tensor memory has been allocated.
  if (release)
    meeting.pending.join(impl->release(warp));
  else
    meeting.pending.join(impl->stateOf(warp).initFence);
}

void Checker::clusterCompleted(Cluster &cluster) {
  impl->stateOf(cluster).barrier.complete();
}

void Checker::clusterLeft(Warp &warp, bool acquire) {
  if (acquire)
    impl->acquire(warp, impl->stateOf(warp.cta).barrier.done);
}

void Checker::warpSynced(Warp &warp, bool memory) {
  // Kernels rely on shuffles and elections to order lanes; the text does not.
  if (memory)
    impl->lanesSynced(warp);
  if (memory || !impl->strict)
    impl->tick(warp);
}

void Checker::gridWaited(Warp &warp) {
  impl->stateOf(warp).knowledge.gridWaited = true;
  impl->tick(warp);
}

void Checker::proxyFence(Warp &warp, bool shared, bool global) {
  ClusterKnowledge &known = impl->stateOf(warp).knowledge.own;
  if (shared)
    known.fencedShared.join(known.clock);
  if (global) {
    known.fencedGlobal.join(known.clock);
    for (auto &[cluster, part] : impl->stateOf(warp).knowledge.others)
      part.fencedGlobal.join(part.clock);
  }
  impl->tick(warp);
}

void Checker::mbarrierInitFence(Warp &warp) {
  impl->stateOf(warp).initFence = impl->release(warp);
  impl->stateOf(warp).hasInitFence = true;
}

void Checker::tcgen05Fence(Warp &warp, bool before) {
  WarpState &state = impl->stateOf(warp);
  if (before) {
    state.notFencedBefore.clear();
    return;
  }
  state.notFencedAfter.clear();
  state.fencedPipe.join(state.knowledge.own.pipe);
}

} // namespace nvfp4::sim
