//===- Checker.cpp - accesses and asynchronous operations -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry points for accesses, and what operations know: an operation starts
// with what its issuer knows, and whoever learns of its completion may touch
// what it touched.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

#include "nvfp4/Simulator/Machine/Explorer.h"

namespace nvfp4::sim {

/// Stands for no cluster.
static constexpr uint32_t noCluster = ~0u;

Checker::Checker(const RunOptions &options)
    : impl(std::make_unique<Impl>(options)) {}
Checker::~Checker() = default;

void Checker::clusterStarted(Machine &machine, Cluster &cluster) {
  auto state = std::make_unique<ClusterCheck>();
  state->number = static_cast<uint32_t>(impl->clusters.size());
  state->numberInLaunch = impl->started[&machine]++;
  state->machine = &machine;
  impl->mayOverlap |= machine.config.programmatic && !impl->overlapReported;
  state->warps.resize(cluster.ctas.size() * machine.warpsPerCta);
  auto before = impl->ended.find(machine.memory.device);
  for (uint32_t i = 0; i < state->warps.size(); ++i) {
    Knowledge &knowledge = state->warps[i].knowledge;
    knowledge.own.clock.raise(i, 1);
    if (before != impl->ended.end())
      knowledge.join(state->number, before->second, noCluster);
  }
  state->ctas.resize(cluster.ctas.size());
  size_t cells = machine.sharedBytes / 4 + 1;
  for (CtaState &cta : state->ctas) {
    cta.shared = ShadowCells(cells);
    cta.sharedWrites.resize(cells / CellsRead::cellsOfCount + 1);
  }
  cluster.check = state.get();
  impl->clusters.push_back(std::move(state));
}

void Checker::clusterEnded(Cluster &cluster) {
  // Accesses of global memory remember their agent and instruction.
  ClusterCheck &state = impl->stateOf(cluster);
  if (state.machine->system)
    impl->ended[state.machine->memory.device].join(
        noCluster, impl->allOf(state), state.number);
  state.ctas.clear();
  state.warps.clear();
  state.reads = ReadLists();
  for (OperationState &operation : state.operations)
    operation.knowledge = nullptr;
}

Knowledge Checker::Impl::allOf(const ClusterCheck &cluster) const {
  Knowledge all;
  for (uint32_t i = 0; i < cluster.warps.size(); ++i) {
    all.join(cluster.warps[i].knowledge);
    all.own.clock.raise(i, cluster.warps[i].clock);
  }
  for (uint32_t id = 0; id < cluster.operations.size(); ++id)
    if (cluster.operations[id].proxy == OperationProxy::TensorPipe)
      all.own.pipe.raise(cluster.operations[id].warp, id + 1);
  for (uint32_t number = 0; number < cluster.nextNumber; ++number)
    all.own.operations.add(number);
  // The end of a launch is a fence of every kind.
  all.own.fencedGlobal = all.own.clock;
  for (auto &[number, part] : all.others)
    part.fencedGlobal = part.clock;
  all.gridWaited = false;
  return all;
}

void Checker::threadAccess(Warp &warp, const Place &place, unsigned size,
                           Access access, unsigned lane, MemoryOrder order,
                           const WriteInfo &info) {
  if (place.space != StateSpace::Shared && place.space != StateSpace::Global)
    return;
  bool isShared = place.space == StateSpace::Shared;
  impl->stateOf(warp).notSyncedLanes |=
      lane < manyLanes ? LaneMask(1) << lane : warp.group().mask;
  ClusterCheck &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  impl->tellInstructionsApart(warp);
  AccessView now{cluster,
                 {},
                 access != Access::Read,
                 state.knowledge,
                 /*operation=*/nullptr,
                 impl->lanesClockOf(state),
                 state.epoch,
                 state.instructionClock,
                 info.kept,
                 place.address};
  now.record.setAgent(impl->warpNumber(warp));
  now.record.clock = state.clock;
  now.record.pc = warp.group().pc;
  now.record.isStrong = access == Access::Atomic || !order.isWeak();
  if (now.record.isStrong)
    now.record.scope = static_cast<uint32_t>(order.scope);
  now.record.isMapRelease = info.mapRelease;
  now.record.cluster = cluster.number;
  now.record.lane = lane;
  if (info.pending)
    *info.pending = {cluster.number, now.record.agent(), state.clock, nullptr,
                     info.isSum};
  if (now.record.isStrong && !info.pending)
    for (uint64_t byte = place.address & ~uint64_t{3};
         byte < place.address + size; byte += 4)
      warp.machine.usesWord(isShared ? place.cta : nullptr, byte,
                            access == Access::Read || info.isUnchanged
                                ? Explorer::Use::Read
                            : info.isSum ? Explorer::Use::Arrive
                                         : Explorer::Use::Write);
  if (now.record.isStrong) {
    Locations &locations =
        isShared ? impl->ctaState(*place.cta).published : impl->published;
    if (access != Access::Write && !info.isReduction)
      impl->acquireAt(warp, locations, place.address, order);
    if (access != Access::Read) {
      Publications published = impl->publicationsOf(warp, order);
      if (info.pending)
        info.pending->published =
            std::make_shared<const Publications>(std::move(published));
      else if (!published.list.empty())
        for (const Publication &publication : published.list)
          impl->publish(locations[place.address], publication);
    }
  }
  if (!isShared)
    return impl->accessGlobal(now, place.address, size);
  CtaState &cta = cluster.ctas[place.cta->rank];
  auto offset = static_cast<uint32_t>(place.address);
  if (now.write)
    cta.noteWrite(offset, size);
  for (uint32_t byte = offset; byte < offset + size;) {
    uint32_t end = std::min(offset + size, (byte | 3) + 1);
    now.record.bytes = ((1u << (end - byte)) - 1) << (byte & 3);
    impl->access(cta.shared[byte / 4], cluster.reads, now,
                 {Spot::Shared, byte & ~3u});
    byte = end;
  }
}

void Checker::warpLoad(Warp &warp, const Place &origin, const int32_t *offset,
                       unsigned size, LaneMask lanes) {
  bool isShared = origin.space == StateSpace::Shared;
  ClusterCheck &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  state.notSyncedLanes |= lanes;
  impl->tellInstructionsApart(warp);
  AccessView now{cluster,
                 {},
                 /*write=*/false,
                 state.knowledge,
                 /*operation=*/nullptr,
                 impl->lanesClockOf(state),
                 state.epoch,
                 state.instructionClock};
  now.record.setAgent(impl->warpNumber(warp));
  now.record.clock = state.clock;
  now.record.pc = warp.group().pc;
  now.record.cluster = cluster.number;
  bool isStripe = !isShared && lanes == allLanes && offset[0] == 0;
  for (unsigned lane = 1; lane < 32 && isStripe; ++lane)
    isStripe = offset[lane] == static_cast<int32_t>(lane * size);
  if (isStripe && !impl->mayOverlap) {
    now.record.lane = AccessRecord::laneByLane;
    if (impl->readStripe(now, origin.address, size))
      return;
  }
  // Lanes that read the same bytes do it together: neighbours, and both halves
  // of the warp, as in products of matrices.
  bool twice =
      lanes == allLanes && std::equal(offset, offset + 16, offset + 16);
  for (LaneMask rest = twice ? lanes & 0xffff : lanes; rest;) {
    unsigned lane = std::countr_zero(rest);
    unsigned next = lane;
    while (next < 32 && (rest >> next & 1) && offset[next] == offset[lane])
      rest &= ~(LaneMask{1} << next++);
    now.record.lane = next == lane + 1 && !twice ? lane : manyLanes;
    uint64_t from = origin.address + offset[lane];
    if (!isShared) {
      impl->accessGlobal(now, from, size);
      continue;
    }
    CtaState &cta = cluster.ctas[origin.cta->rank];
    bool isOwn = origin.cta == &warp.cta;
    forPieces(from, from + size, [&](uint64_t byte, uint32_t bytes) {
      auto cell = static_cast<uint32_t>(byte / 4);
      uint32_t writes = cta.sharedWrites[cell / CellsRead::cellsOfCount];
      if (isOwn && state.cellsRead.has(cell, state.epoch, writes))
        return;
      now.record.bytes = bytes;
      if (impl->readCell(cta.shared[cell], cluster.reads, now,
                         {Spot::Shared, byte & ~uint64_t{3}}) &&
          isOwn)
        state.cellsRead.add(cell, state.epoch, writes);
    });
  }
}

uint32_t Checker::beginOperation(Warp &warp, unsigned lane,
                                 OperationProxy proxy) {
  ClusterCheck &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  auto id = static_cast<uint32_t>(cluster.operations.size());
  if (!state.snapshot)
    state.snapshot = std::make_shared<const Knowledge>(state.knowledge);
  OperationState operation;
  operation.knowledge = state.snapshot;
  operation.pc = warp.group().pc;
  operation.warp = impl->warpNumber(warp);
  operation.clock = state.clock;
  operation.lane = static_cast<uint8_t>(lane);
  operation.proxy = proxy;
  if (impl->strict) {
    operation.notFencedAfter =
        std::make_shared<const NumberSet>(state.notFencedAfter);
    operation.fencedPipe =
        std::make_shared<const VectorClock>(state.fencedPipe);
  }
  if (proxy != OperationProxy::TensorPipe) {
    operation.number = cluster.nextNumber;
    cluster.nextNumber += 2;
  }
  cluster.operations.push_back(std::move(operation));
  // Later accesses of the warp are not ordered before the operation.
  impl->endEpoch(warp);
  return id;
}

namespace {

AccessView viewOf(ClusterCheck &cluster, uint32_t id, Access access) {
  const OperationState &operation = cluster.operations[id];
  AccessView now{
      cluster, {}, access != Access::Read, *operation.knowledge, &operation};
  now.record.setAgent(id);
  now.record.isOperation = 1;
  now.record.pc = operation.pc;
  now.record.bytes = 15;
  now.record.isStrong = access == Access::Atomic;
  if (now.record.isStrong)
    now.record.scope = static_cast<uint32_t>(SyncScope::Gpu);
  now.record.cluster = cluster.number;
  return now;
}

} // namespace

void Checker::operationShared(uint32_t id, Cta &cta, uint32_t offset,
                              uint32_t size, Access access) {
  ClusterCheck &cluster = impl->stateOf(cta);
  AccessView now = viewOf(cluster, id, access);
  CtaState &state = cluster.ctas[cta.rank];
  if (now.write)
    state.noteWrite(offset, size);
  for (uint32_t byte = offset & ~3u; byte < offset + size; byte += 4)
    impl->access(state.shared[byte / 4], cluster.reads, now,
                 {Spot::Shared, byte});
}

void Checker::operationGlobal(uint32_t id, Cluster &cluster, uint64_t address,
                              uint64_t size, Access access) {
  ClusterCheck &state = impl->stateOf(cluster);
  impl->accessGlobal(viewOf(state, id, access), address, size);
}

void Checker::operationTmem(uint32_t id, Cta &cta, unsigned quarters,
                            unsigned column, unsigned count, Access access) {
  ClusterCheck &cluster = impl->stateOf(cta);
  const OperationState &operation = cluster.operations[id];
  bool write = access != Access::Read;
  if (operation.proxy != OperationProxy::TensorPipe) {
    WarpState &warp = cluster.warps[operation.warp];
    (write ? warp.stores : warp.loads).add(operation.number + write);
  }
  AccessView now = viewOf(cluster, id, access);
  ShadowCells &cells = cluster.ctas[cta.rank].tmem;
  if (!cells)
    cells = ShadowCells(size_t{4} * Tmem::columns);
  for (unsigned quarter = 0; quarter < 4; ++quarter)
    if (quarters >> quarter & 1)
      for (unsigned c = column; c < column + count; ++c)
        impl->access(cells[quarter * Tmem::columns + c], cluster.reads, now,
                     {Spot::Tmem, c});
}

void Checker::operationArrived(uint32_t id, Cta &cta, uint32_t offset) {
  ClusterCheck &cluster = impl->stateOf(cta);
  const OperationState &operation = cluster.operations[id];
  Knowledge &pending = impl->mbarrier(cta, offset).pending;
  // Everything ordered before the operation is ordered before the agents that
  // learn of its completion. The text excludes earlier accesses of the issuer
  // itself; kernels rely on them.
  if (impl->strict) {
    Knowledge before = *operation.knowledge;
    before.own.clock.forget(operation.warp);
    pending.join(before);
  } else {
    pending.join(*operation.knowledge);
    pending.own.clock.raise(operation.warp, operation.clock);
  }
  if (operation.proxy == OperationProxy::TensorPipe) {
    pending.own.pipe.raise(operation.warp, id + 1);
    return;
  }
  pending.own.operations.add(operation.number);
  pending.own.operations.add(operation.number + 1);
}

void Checker::allocationWritten(Warp &warp, uint32_t id) {
  operationsWaited(warp, {id}, /*readOnly=*/false);
  // Kernels read the slot after a cluster barrier with relaxed arrivals.
  const OperationState &operation = impl->stateOf(warp.cta).operations[id];
  impl->stateOf(warp).initFence.own.operations.add(operation.number + 1);
}

void Checker::operationsWaited(Warp &warp,
                               const std::vector<uint32_t> &operations,
                               bool readOnly) {
  ClusterCheck &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  for (uint32_t id : operations) {
    const OperationState &operation = cluster.operations[id];
    if (operation.proxy == OperationProxy::TensorPipe) {
      state.knowledge.own.pipe.raise(operation.warp, id + 1);
      continue;
    }
    state.knowledge.own.operations.add(operation.number);
    if (!readOnly)
      state.knowledge.own.operations.add(operation.number + 1);
  }
  impl->learnt(state);
}

void Checker::tmemWaited(Warp &warp, bool stores) {
  WarpState &state = impl->stateOf(warp);
  NumberSet &done = stores ? state.stores : state.loads;
  state.knowledge.own.operations.addAll(done);
  if (impl->strict) {
    state.notFencedBefore.addAll(done);
    state.notSynced.addAll(done);
  }
  done.clear();
  impl->learnt(state);
}

} // namespace nvfp4::sim
