//===- GlobalOrder.cpp - order through memory, tensor maps ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that poll flags or count with atomics pass on their knowledge: a
// release, or a strong write after a fence, publishes it at the location; an
// acquire, or a strong read before a fence, takes it over. Scopes are not
// looked at. Tensor maps have a proxy of their own.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

namespace nvfp4::sim {

void Checker::Impl::synchronize(Warp &warp,
                                std::map<uint64_t, Published> &locations,
                                uint64_t location, Access access,
                                Ordering ordering) {
  WarpState &state = stateOf(warp);
  uint32_t cluster = stateOf(warp.cta).number;
  if (access != Access::Write) {
    auto found = locations.find(location);
    if (found != locations.end()) {
      const Published &published = found->second;
      if (ordering == Ordering::Acquire ||
          ordering == Ordering::AcquireRelease) {
        state.knowledge.join(cluster, published.knowledge, published.cluster);
        tick(warp);
      } else {
        state.found.push_back(published);
      }
    }
  }
  if (access == Access::Read)
    return;
  bool releases =
      ordering == Ordering::Release || ordering == Ordering::AcquireRelease;
  if (!releases && !state.fence)
    return;
  auto [entry, inserted] = locations.try_emplace(location);
  Published &published = entry->second;
  if (inserted)
    published.cluster = cluster;
  if (releases)
    published.knowledge.join(published.cluster, release(warp), cluster);
  else
    published.knowledge.join(published.cluster, *state.fence, cluster);
}

void Checker::memoryFence(Warp &warp) {
  WarpState &state = impl->stateOf(warp);
  for (const Published &published : state.found)
    state.knowledge.join(impl->stateOf(warp.cta).number, published.knowledge,
                         published.cluster);
  state.found.clear();
  state.fence = std::make_shared<const Knowledge>(impl->release(warp));
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
  if (!impl->machine.memory.find(address, mapBytes))
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
  std::string place =
      "the tensor map at " + impl->describe(Spot{Spot::Global, address});
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
