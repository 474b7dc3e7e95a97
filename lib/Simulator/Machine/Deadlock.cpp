//===- Deadlock.cpp - who waits for what ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called when no warp can run and no asynchronous operation is outstanding.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"

#include <cstdio>

namespace nvfp4::sim {
namespace {

std::string describeMbarrier(Machine &machine, Warp &warp,
                             const LaneGroup &group) {
  auto address = static_cast<uint32_t>(group.waitAddress);
  Cta *cta = machine.ctaAt(warp.cta, address);
  uint32_t offset = address & sharedOffsetMask;
  std::string text = "mbarrier at shared offset " + std::to_string(offset);
  if (!cta || !cta->mbarriers.count(offset))
    return text;
  const Mbarrier &barrier = cta->mbarriers.at(offset);
  return text + " (phase " + std::to_string(barrier.phase) + ", " +
         std::to_string(barrier.pending) + " of " +
         std::to_string(barrier.expected) +
         " arrivals pending, transaction "
         "count " +
         std::to_string(barrier.transactions) + ")";
}

std::string describeWait(Machine &machine, Warp &warp, const LaneGroup &group) {
  switch (group.wait) {
  case WaitKind::Mbarrier:
    return describeMbarrier(machine, warp, group);
  case WaitKind::NamedBarrier: {
    const NamedBarrier &barrier = warp.cta.barriers[group.waitAddress % 16];
    return "barrier " + std::to_string(group.waitAddress) + " (" +
           std::to_string(barrier.arrived) + " threads of " +
           std::to_string(barrier.wholeCta ? warp.cta.liveThreads
                                           : barrier.expected) +
           " have arrived)";
  }
  case WaitKind::ClusterBarrier:
    return "cluster barrier (" + std::to_string(warp.cta.cluster->arrived) +
           " threads of " + std::to_string(warp.cta.cluster->liveThreads) +
           " have arrived)";
  case WaitKind::BulkGroup:
    return "bulk copies";
  case WaitKind::CopyGroup:
    return "asynchronous copies";
  case WaitKind::TmemAllocation:
    return group.waitDetail ? "tensor memory allocation of " +
                                  std::to_string(group.waitDetail) + " columns"
                            : "tcgen05.alloc in the other CTA of the pair";
  case WaitKind::TensorPipe:
    return "tensor memory loads or stores";
  case WaitKind::WarpSync:
    return "lanes of its own warp";
  default:
    return "nothing known";
  }
}

} // namespace

void Machine::reportDeadlock() {
  Report report;
  report.kind = ReportKind::Deadlock;
  report.message = "nothing can run; waiting are";
  unsigned listed = 0;
  unsigned total = 0;
  for (auto &cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps)
        for (const LaneGroup &group : warp->groups) {
          if (report.pc == noPc) {
            report.pc = group.pc;
            report.where = warp->describe();
          }
          if (++total > 24)
            continue;
          ++listed;
          char mask[16];
          std::snprintf(mask, sizeof mask, "%08x", group.mask);
          report.message += "\n    " + warp->describe() + " lanes " + mask +
                            " at " + describePlace(kernel, group.pc) + " for " +
                            describeWait(*this, *warp, group);
        }
  if (total > listed)
    report.message += "\n    and " + std::to_string(total - listed) + " more";
  stop(std::move(report));
}

} // namespace nvfp4::sim
