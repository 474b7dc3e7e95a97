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

namespace nvfp4::sim {

bool Checker::Impl::ordered(const AccessRecord &earlier,
                            const Knowledge &knowledge) const {
  if (earlier.isOperation)
    return knowledge.operations.has(earlier.agent);
  return earlier.clock <= knowledge.clockOf(earlier.agent);
}

std::string Checker::Impl::describe(const ClusterState &cluster,
                                    const AccessRecord &record) const {
  uint32_t warp = record.agent;
  std::string lane;
  if (record.isOperation) {
    const OperationState &operation = cluster.operations[record.agent / 2];
    warp = operation.warp;
    lane = " lane " + std::to_string(operation.lane) + " (asynchronous)";
  }
  return "cta rank " + std::to_string(warp / machine.warpsPerCta) + " warp " +
         std::to_string(warp % machine.warpsPerCta) + lane;
}

void Checker::Impl::reportConflict(ClusterState &cluster, ReportKind kind,
                                   const AccessRecord &earlier,
                                   const char *earlierWhat,
                                   const AccessRecord &now, const char *nowWhat,
                                   const std::string &place, const char *why) {
  Report report;
  report.kind = kind;
  report.message = std::string(nowWhat) + " of " + place + " after " +
                   earlierWhat + " " + why;
  report.pc = now.pc;
  report.where = describe(cluster, now);
  report.otherPc = earlier.pc;
  report.otherWhere = describe(cluster, earlier);
  machine.report(std::move(report));
}

void Checker::Impl::access(ClusterState &cluster, ShadowCell &cell,
                           const AccessRecord &record, bool write,
                           const Knowledge &knowledge,
                           const NumberSet *notFencedAfter,
                           const std::string &place) {
  const char *nowWhat = write ? "write" : "read";
  auto compare = [&](const AccessRecord &earlier, bool earlierWrote) {
    if (!earlier.valid() || earlier.sameAgent(record) ||
        !(earlier.bytes & record.bytes) ||
        (earlier.isAtomic && record.isAtomic))
      return;
    // Both numbers of one operation are the same agent.
    if (earlier.isOperation && record.isOperation &&
        earlier.agent / 2 == record.agent / 2)
      return;
    const char *what = earlierWrote ? "a write" : "a read";
    if (!ordered(earlier, knowledge)) {
      reportConflict(cluster, ReportKind::DataRace, earlier, what, record,
                     nowWhat, place, "that nothing orders before it");
      return;
    }
    if (record.isOperation && !earlier.isOperation &&
        (earlierWrote || strict) && !notFencedAfter &&
        earlier.clock > knowledge.fencedOf(earlier.agent))
      reportConflict(cluster, ReportKind::MissingProxyFence, earlier, what,
                     record, nowWhat, place,
                     "by a thread, without fence.proxy.async in between");
    if (notFencedAfter && earlier.isOperation &&
        notFencedAfter->has(earlier.agent))
      reportConflict(cluster, ReportKind::MissingTcgen05Fence, earlier, what,
                     record, nowWhat, place,
                     "without tcgen05.fence::after_thread_sync in between");
  };
  compare(cell.write, true);
  if (write) {
    for (const AccessRecord &read : cell.reads)
      compare(read, false);
    cell.write = record;
    cell.reads.clear();
    return;
  }
  // Reads that are ordered before this one are covered by it.
  std::erase_if(cell.reads, [&](const AccessRecord &read) {
    return (read.sameAgent(record) || ordered(read, knowledge)) &&
           read.isOperation == record.isOperation;
  });
  cell.reads.push_back(record);
}

} // namespace nvfp4::sim
