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

Knowledge Checker::Impl::release(Warp &warp) {
  WarpState &state = stateOf(warp);
  Knowledge handed = state.knowledge;
  if (strict)
    handed.operations.removeAll(state.notFencedBefore);
  ++state.clock;
  state.knowledge.clock[warpNumber(warp)] = state.clock;
  return handed;
}

void Checker::Impl::acquire(Warp &warp, const Meeting &meeting) {
  WarpState &state = stateOf(warp);
  if (strict) {
    NumberSet fresh = meeting.done.operations;
    fresh.removeAll(state.knowledge.operations);
    state.notFencedAfter.addAll(fresh);
  }
  state.knowledge.join(meeting.done);
}

void Checker::mbarrierInitialized(Warp &warp, Cta &cta, uint32_t offset) {
  MbarrierState fresh;
  fresh.init.agent = impl->warpNumber(warp);
  fresh.init.clock = impl->stateOf(warp).clock;
  fresh.init.pc = warp.group().pc;
  impl->mbarrier(cta, offset) = fresh;
}

void Checker::mbarrierUsed(Warp &warp, Cta &cta, uint32_t offset) {
  MbarrierState &state = impl->mbarrier(cta, offset);
  const Knowledge &knowledge = impl->stateOf(warp).knowledge;
  AccessRecord now;
  now.agent = impl->warpNumber(warp);
  now.pc = warp.group().pc;
  if (!state.init.valid() || state.init.sameAgent(now) ||
      impl->ordered(state.init, knowledge))
    return;
  bool remote = &cta != &warp.cta;
  impl->reportConflict(
      impl->stateOf(cta),
      remote ? ReportKind::MissingMbarrierInitFence : ReportKind::DataRace,
      state.init, "its initialisation", now, "use",
      "the mbarrier at shared offset " + std::to_string(offset),
      remote ? "that no fence.mbarrier_init and cluster barrier order before it"
             : "that nothing orders before it");
  state.init = AccessRecord();
}

void Checker::threadArrived(Warp &warp, Cta &cta, uint32_t offset,
                            bool release) {
  mbarrierUsed(warp, cta, offset);
  if (release)
    impl->mbarrier(cta, offset).pending.join(impl->release(warp));
}

void Checker::threadWaited(Warp &warp, Cta &cta, uint32_t offset,
                           bool acquire) {
  mbarrierUsed(warp, cta, offset);
  if (acquire)
    impl->acquire(warp, impl->mbarrier(cta, offset));
}

void Checker::phaseCompleted(Cta &cta, uint32_t offset) {
  impl->mbarrier(cta, offset).complete();
}

void Checker::barrierArrived(Warp &warp, unsigned id) {
  impl->stateOf(warp.cta).ctas[warp.cta.rank].barriers[id].pending.join(
      impl->release(warp));
}

void Checker::barrierCompleted(Cta &cta, unsigned id) {
  impl->stateOf(cta).ctas[cta.rank].barriers[id].complete();
}

void Checker::barrierLeft(Warp &warp, unsigned id) {
  impl->acquire(warp, impl->stateOf(warp.cta).ctas[warp.cta.rank].barriers[id]);
}

void Checker::clusterArrived(Warp &warp, bool release) {
  Meeting &meeting = impl->stateOf(warp.cta).barrier;
  // A relaxed arrival still carries what fence.mbarrier_init has released.
  if (release)
    meeting.pending.join(impl->release(warp));
  else
    meeting.pending.join(impl->stateOf(warp).initFence);
}

void Checker::clusterCompleted(Cluster &cluster) {
  impl->clusters.at(&cluster)->barrier.complete();
}

void Checker::clusterLeft(Warp &warp, bool acquire) {
  if (acquire)
    impl->acquire(warp, impl->stateOf(warp.cta).barrier);
}

void Checker::proxyFence(Warp &warp) {
  WarpState &state = impl->stateOf(warp);
  state.knowledge.fence();
  ++state.clock;
  state.knowledge.clock[impl->warpNumber(warp)] = state.clock;
}

void Checker::mbarrierInitFence(Warp &warp) {
  impl->stateOf(warp).initFence = impl->release(warp);
}

void Checker::tcgen05Fence(Warp &warp, bool before) {
  WarpState &state = impl->stateOf(warp);
  (before ? state.notFencedBefore : state.notFencedAfter).clear();
}

} // namespace nvfp4::sim
