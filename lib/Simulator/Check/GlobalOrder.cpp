//===- GlobalOrder.cpp - order through memory, tensor maps ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that poll flags or count with atomics pass on their knowledge: a
// release, or a strong write after a fence, publishes it at the location; an
// acquire, or a strong read before a fence, takes it over. The scopes of both
// must include the other thread: across devices both are the system. Tensor
// maps have a proxy of their own.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

#include <algorithm>

namespace nvfp4::sim {

bool Checker::Impl::covers(const Publication &publication, const Warp &warp,
                           SyncScope scope) {
  SyncScope both = SyncScope::Cta;
  if (publication.machine != &warp.machine)
    both = SyncScope::System;
  else if (publication.severalClusters ||
           publication.cluster != stateOf(warp.cta).number)
    both = SyncScope::Gpu;
  else if (publication.severalCtas || publication.cta != warp.cta.rank)
    both = SyncScope::Cluster;
  return publication.scope >= both && scope >= both;
}

void Checker::Impl::publish(Publications &at, const Publication &publication) {
  auto isSameGroup = [&](const Publication &known) {
    if (known.machine != publication.machine ||
        known.scope != publication.scope)
      return false;
    return known.scope >= SyncScope::Gpu ||
           (known.cluster == publication.cluster &&
            (known.scope == SyncScope::Cluster ||
             known.cta == publication.cta));
  };
  auto found = std::find_if(at.list.begin(), at.list.end(), isSameGroup);
  if (found == at.list.end()) {
    at.list.push_back(publication);
    return;
  }
  found->severalClusters |=
      publication.severalClusters || found->cluster != publication.cluster;
  found->severalCtas |=
      publication.severalCtas || found->cta != publication.cta;
  // Others may hold what was there.
  auto joined = std::make_shared<Knowledge>(*found->knowledge);
  joined->join(found->cluster, *publication.knowledge, publication.cluster);
  found->knowledge = std::move(joined);
}

void Checker::Impl::acquireAt(Warp &warp, Locations &locations,
                              uint64_t location, MemoryOrder order) {
  auto at = locations.find(location);
  if (at == locations.end())
    return;
  WarpState &state = stateOf(warp);
  bool learns = false;
  for (const Publication &publication : at->second.list) {
    if (!covers(publication, warp, order.scope))
      continue;
    if (order.acquires()) {
      state.knowledge.join(stateOf(warp.cta).number, *publication.knowledge,
                           publication.cluster);
      learns = true;
      continue;
    }
    auto isSame = [&](const Publication &known) {
      return known.knowledge == publication.knowledge;
    };
    if (std::none_of(state.found.begin(), state.found.end(), isSame))
      state.found.push_back(publication);
  }
  if (learns)
    tick(warp);
}

Publications Checker::Impl::publicationsOf(Warp &warp, MemoryOrder order) {
  Publications result;
  Publication mine;
  mine.machine = &warp.machine;
  mine.cluster = stateOf(warp.cta).number;
  mine.cta = warp.cta.rank;
  mine.scope = order.scope;
  if (order.releases()) {
    mine.knowledge = std::make_shared<const Knowledge>(release(warp));
    result.list.push_back(std::move(mine));
    return result;
  }
  const auto &fences = stateOf(warp).fences;
  std::shared_ptr<const Knowledge> wider;
  for (int scope = static_cast<int>(order.scope); scope >= 0; --scope) {
    if (!fences[scope] || fences[scope] == wider)
      continue;
    mine.scope = static_cast<SyncScope>(scope);
    mine.knowledge = wider = fences[scope];
    result.list.push_back(mine);
  }
  return result;
}

void Checker::writeTookEffect(const PendingWrite &write, uint64_t address) {
  if (write.published)
    for (const Publication &publication : write.published->list)
      impl->publish(impl->published[address], publication);
}

bool Checker::isBefore(const PendingWrite &write, Warp &warp) const {
  const Knowledge &knowledge = impl->stateOf(warp).knowledge;
  const ClusterKnowledge *known =
      write.cluster == impl->stateOf(warp.cta).number
          ? &knowledge.own
          : knowledge.find(write.cluster);
  return known && write.clock <= known->clock.of(write.warp);
}

void Checker::memoryFence(Warp &warp, SyncScope scope) {
  WarpState &state = impl->stateOf(warp);
  std::erase_if(state.found, [&](const Publication &publication) {
    if (!impl->covers(publication, warp, scope))
      return false;
    state.knowledge.join(impl->stateOf(warp.cta).number, *publication.knowledge,
                         publication.cluster);
    return true;
  });
  auto known = std::make_shared<const Knowledge>(impl->release(warp));
  for (unsigned s = 0; s <= static_cast<unsigned>(scope); ++s)
    state.fences[s] = known;
}

void Checker::tensorMapRelease(Warp &warp) {
  WarpState &state = impl->stateOf(warp);
  state.mapRelease = state.clock;
  impl->tick(warp);
}

void Checker::tensorMapAcquire(Warp &warp, uint64_t address) {
  MapAcquire acquire;
  acquire.record.setAgent(impl->warpNumber(warp));
  acquire.record.cluster = impl->stateOf(warp.cta).number;
  acquire.record.clock = impl->stateOf(warp).clock;
  acquire.covered = impl->stateOf(warp).knowledge;
  impl->tick(warp);
  std::vector<MapAcquire> &list = impl->mapAcquires[address];
  for (MapAcquire &known : list)
    if (known.record.sameAgent(acquire.record)) {
      known = std::move(acquire);
      return;
    }
  list.push_back(std::move(acquire));
}

void Checker::tensorMapUsed(Warp &warp, uint64_t address, unsigned lane) {
  constexpr unsigned mapBytes = 128;
  if (!warp.machine.memory.find(address, mapBytes))
    return;
  GlobalShadow::Page &page = impl->global.page(address);
  if (!page.cells)
    return;
  ClusterCheck &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  AccessView now{cluster, {}, false, state.knowledge};
  now.record.setAgent(impl->warpNumber(warp));
  now.record.pc = warp.group().pc;
  now.record.cluster = cluster.number;
  now.record.lane = lane;
  // The acquire may be another warp's, when it is ordered before the use.
  auto isCovered = [&](const AccessRecord &write) {
    for (const MapAcquire &acquire : impl->mapAcquires[address]) {
      if (!acquire.record.sameAgent(now.record) &&
          !impl->ordered(acquire.record, true, now))
        continue;
      const ClusterKnowledge *known = write.cluster == acquire.record.cluster
                                          ? &acquire.covered.own
                                          : acquire.covered.find(write.cluster);
      if (known && write.clock <= known->clock.of(write.agent()))
        return true;
    }
    return false;
  };
  std::string place = "the tensor map at " +
                      impl->describe(Spot{Spot::Global, address}, warp.machine);
  for (unsigned byte = 0; byte < mapBytes; byte += 4) {
    const AccessRecord &write =
        page.cells[(address + byte) % GlobalShadow::pageBytes / 4].write;
    if (!write.valid() || write.isOperation)
      continue;
    bool same = write.sameAgent(now.record);
    if (!same && !impl->ordered(write, true, now)) {
      impl->reportConflict(ReportKind::DataRace, write, "a write", now, "use",
                           place, "that nothing orders before it");
      return;
    }
    uint32_t agent = write.agent();
    const auto &writers = impl->clusters[write.cluster]->warps;
    bool released = write.isMapRelease || writers.empty() ||
                    writers[agent].mapRelease >= write.clock;
    if (released && isCovered(write))
      continue;
    impl->reportConflict(
        ReportKind::MissingTensorMapFence, write, "a write", now, "use", place,
        released ? "without fence.proxy.tensormap::generic.acquire in between"
                 : "without a release to the tensor-map proxy in between");
    return;
  }
}

} // namespace nvfp4::sim
