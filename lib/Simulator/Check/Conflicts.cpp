//===- Conflicts.cpp - accesses against shadow memory -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules for two accesses of one cell. A conflicting pair must be ordered;
// an asynchronous access to what a thread wrote needs a proxy fence besides.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

#include <algorithm>
#include <cstdio>

namespace nvfp4::sim {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

} // namespace

bool Checker::Impl::ordered(const AccessRecord &earlier, bool earlierWrote,
                            const AccessView &now) const {
  const ClusterKnowledge *known = &now.knowledge.own;
  if (earlier.cluster != now.cluster.number) {
    known = now.knowledge.find(earlier.cluster);
    if (!known)
      return false;
  }
  uint32_t agent = earlier.agent();
  if (!earlier.isOperation) {
    // An operation comes after what its issuer did before.
    if (now.operation && agent == now.operation->warp &&
        earlier.cluster == now.cluster.number)
      return earlier.clock <= now.operation->clock;
    return earlier.clock <= known->clock.of(agent);
  }
  const OperationState &operation =
      clusters[earlier.cluster]->operations[agent];
  if (operation.proxy != OperationProxy::TensorPipe)
    return known->operations.has(operation.number + earlierWrote);
  // Operations of a pipe are performed in order of issue.
  if (now.operation && now.operation->proxy == OperationProxy::TensorPipe &&
      now.operation->warp == operation.warp &&
      earlier.cluster == now.cluster.number)
    return true;
  return agent < known->pipe.of(operation.warp);
}

bool Checker::Impl::lacksTcgen05Fence(const AccessRecord &earlier,
                                      bool earlierWrote,
                                      const AccessView &now) const {
  if (!strict || !earlier.isOperation || !now.operation ||
      !now.operation->notFencedAfter)
    return false;
  uint32_t agent = earlier.agent();
  const OperationState &operation =
      clusters[earlier.cluster]->operations[agent];
  if (operation.proxy != OperationProxy::TensorPipe)
    return now.operation->notFencedAfter->has(operation.number + earlierWrote);
  if (now.operation->proxy == OperationProxy::TensorPipe &&
      now.operation->warp == operation.warp)
    return false;
  return agent >= now.operation->fencedPipe->of(operation.warp);
}

uint32_t Checker::Impl::ctaOf(const AccessRecord &record) const {
  const ClusterCheck &cluster = *clusters[record.cluster];
  uint32_t warp = record.agent();
  return (record.isOperation ? cluster.operations[warp].warp : warp) /
         cluster.machine->warpsPerCta;
}

SyncScope Checker::Impl::scopeOfBoth(const AccessRecord &a,
                                     const AccessRecord &b) const {
  if (a.cluster == b.cluster)
    return ctaOf(a) == ctaOf(b) ? SyncScope::Cta : SyncScope::Cluster;
  return clusters[a.cluster]->machine == clusters[b.cluster]->machine
             ? SyncScope::Gpu
             : SyncScope::System;
}

bool Checker::Impl::areMorallyStrong(const AccessRecord &a,
                                     const AccessRecord &b) const {
  if (!a.isStrong || !b.isStrong)
    return false;
  auto smaller = static_cast<SyncScope>(std::min(a.scope, b.scope));
  return smaller == SyncScope::System || smaller >= scopeOfBoth(a, b);
}

std::string Checker::Impl::describe(const AccessRecord &record) const {
  const ClusterCheck &cluster = *clusters[record.cluster];
  const Machine &machine = *cluster.machine;
  uint32_t warp = record.agent();
  std::string lane;
  if (record.isOperation) {
    const OperationState &operation = cluster.operations[warp];
    warp = operation.warp;
    lane = " lane " + std::to_string(operation.lane) + " (asynchronous)";
  } else if (record.lane < AccessRecord::manyLanes) {
    lane = " lane " + std::to_string(record.lane);
  }
  std::string text = "cta rank " + std::to_string(warp / machine.warpsPerCta) +
                     " warp " + std::to_string(warp % machine.warpsPerCta) +
                     lane;
  if (started.at(&machine) > 1)
    text = "cluster " + std::to_string(cluster.numberInLaunch) + " " + text;
  return machine.deviceName() + text;
}

std::string Checker::Impl::describe(Spot spot, Machine &machine) const {
  switch (spot.kind) {
  case Spot::Shared:
    return "shared offset " + std::to_string(spot.at);
  case Spot::Tmem:
    return "tensor memory column " + std::to_string(spot.at % Tmem::columns);
  case Spot::Global:
    break;
  }
  const Allocation *allocation = machine.memory.find(spot.at, 1);
  if (!allocation)
    return "global address " + hex(spot.at);
  return "global address " + hex(spot.at) + " (byte " +
         std::to_string(spot.at - allocation->address) + " of '" +
         (allocation->name.empty() ? "allocation" : allocation->name) + "'" +
         (machine.system
              ? " of device " + std::to_string(allocation->owner->device)
              : "") +
         ")";
}

void Checker::Impl::reportConflict(ReportKind kind, const AccessRecord &earlier,
                                   const char *earlierWhat,
                                   const AccessView &now, const char *nowWhat,
                                   const std::string &place, const char *why) {
  Report report;
  report.kind = kind;
  report.message = std::string(nowWhat) + " of " + place + " after " +
                   earlierWhat + " " + why;
  report.pc = now.record.pc;
  report.where = describe(now.record);
  report.otherPc = earlier.pc;
  report.otherWhere = describe(earlier);
  report.otherKernel = &clusters[earlier.cluster]->machine->kernel;
  now.cluster.machine->report(std::move(report));
}

void Checker::lanesDiffer(Warp &warp, const Place &place, unsigned lane,
                          unsigned other) {
  Spot::Kind kind =
      place.space == StateSpace::Shared ? Spot::Shared : Spot::Global;
  Report report;
  report.kind = ReportKind::DataRace;
  report.message = "write of " +
                   impl->describe(Spot{kind, place.address}, warp.machine) +
                   " by two lanes of one instruction with different values";
  report.pc = report.otherPc = warp.group().pc;
  report.where = warp.describe(static_cast<int>(lane));
  report.otherWhere = warp.describe(static_cast<int>(other));
  warp.machine.report(std::move(report));
}

bool Checker::Impl::compareSlowly(const AccessRecord &earlier,
                                  bool earlierWrote, const AccessView &now,
                                  Spot spot) {
  if (!(earlier.bytes & now.record.bytes))
    return false;
  if (areMorallyStrong(earlier, now.record))
    return true;
  const char *nowWhat = now.write ? "write" : "read";
  const char *what = earlierWrote ? "a write" : "a read";
  if (earlier.sameAgent(now.record)) {
    // Lanes of a warp between two of its synchronisations. One instruction
    // may touch a cell from several lanes, but not in another round of a loop.
    bool otherLane = earlier.lane != now.record.lane &&
                     !(earlierWrote && earlier.lane == AccessRecord::manyLanes);
    if (earlier.isOperation || earlier.clock <= now.lanesClock ||
        earlier.clock >= now.instructionClock || !otherLane)
      return true;
    reportConflict(ReportKind::DataRace, earlier, what, now, nowWhat,
                   describe(spot, *now.cluster.machine),
                   "by another lane of the warp, without bar.warp.sync in "
                   "between");
    return false;
  }
  if (earlierWrote && now.write && repeats(earlier, now, spot))
    return false;
  if (!ordered(earlier, earlierWrote, now)) {
    reportConflict(ReportKind::DataRace, earlier, what, now, nowWhat,
                   describe(spot, *now.cluster.machine),
                   earlier.isStrong && now.record.isStrong
                       ? "that nothing orders before it, and one of the two "
                         "has a scope without the other's thread"
                       : "that nothing orders before it");
    return false;
  }
  if (spot.kind == Spot::Tmem) {
    if (!lacksTcgen05Fence(earlier, earlierWrote, now))
      return true;
    reportConflict(ReportKind::MissingTcgen05Fence, earlier, what, now, nowWhat,
                   describe(spot, *now.cluster.machine),
                   "without tcgen05.fence::after_thread_sync in between");
    return false;
  }
  if (!now.operation || now.operation->proxy == OperationProxy::Generic ||
      earlier.isOperation || !(earlierWrote || strict))
    return true;
  const ClusterKnowledge *known = earlier.cluster == now.cluster.number
                                      ? &now.knowledge.own
                                      : now.knowledge.find(earlier.cluster);
  const VectorClock &fenced =
      spot.kind == Spot::Global ? known->fencedGlobal : known->fencedShared;
  if (earlier.clock <= fenced.of(earlier.agent()))
    return true;
  reportConflict(ReportKind::MissingProxyFence, earlier, what, now, nowWhat,
                 describe(spot, *now.cluster.machine),
                 "by a thread, without fence.proxy.async in between");
  return false;
}

void Checker::Impl::compareWithLastLaunch(const AccessView &now,
                                          uint64_t address) {
  if (now.knowledge.gridWaited)
    return;
  mayOverlap = false;
  overlapReported = true;
  Report report;
  report.kind = ReportKind::DataRace;
  report.message = std::string(now.write ? "write" : "read") + " of " +
                   describe(Spot{Spot::Global, address}, *now.cluster.machine) +
                   " before griddepcontrol.wait, while the launch before may "
                   "still run";
  report.pc = now.record.pc;
  report.where = describe(now.record);
  now.cluster.machine->report(std::move(report));
}

} // namespace nvfp4::sim
