//===- Barriers.cpp - bar, barrier and barrier.cluster ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named barriers count threads; one without a count waits for all threads of
// the CTA that have not exited, as the cluster's does for those of all its
// CTAs. An instruction that has to wait runs again
// when it is woken: `arrived` remembers that its arrival has been counted.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/Machine.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

enum BarrierKind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };

struct BarrierAttributes : InstAttributes {
  BarrierKind kind = Sync;
  bool hasCount = false;
  bool hasPredicate = false;
};

void deliverReduction(Warp &warp, const Inst &inst, LaneMask mask,
                      const NamedBarrier &barrier, BarrierKind kind) {
  if (kind == RedPopc)
    for (LaneMask rest = mask; rest; rest &= rest - 1)
      warp.narrow(inst.op[2])[std::countr_zero(rest)] = barrier.lastPopulation;
  else if (kind == RedAnd)
    warp.setPredicate(inst.op[2], mask, barrier.lastAll ? allLanes : 0);
  else if (kind == RedOr)
    warp.setPredicate(inst.op[2], mask, barrier.lastAny ? allLanes : 0);
}

void completeBarrier(Machine &machine, NamedBarrier &barrier, uint64_t object) {
  if (machine.options.explorer)
    machine.options.explorer->follows(object);
  barrier.lastPopulation = barrier.population;
  barrier.lastAll = barrier.all;
  barrier.lastAny = barrier.any;
  barrier.arrived = 0;
  barrier.expected = 0;
  barrier.population = 0;
  barrier.all = true;
  barrier.any = false;
  ++barrier.generation;
  machine.progress();
  machine.wake(barrier.waiters);
}

bool isComplete(const Cta &cta, const NamedBarrier &barrier) {
  return barrier.arrived &&
         (barrier.wholeCta ? barrier.arrived >= cta.liveThreads
                           : barrier.arrived == barrier.expected);
}

Step barrier(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<BarrierAttributes>();
  unsigned lane = std::countr_zero(mask);
  uint32_t id = warp.narrow(inst.op[0])[lane];
  if (id >= 16)
    return warp.fault(ReportKind::IllegalOperand,
                      "expected a barrier below 16, but got " +
                          std::to_string(id));
  Machine &machine = warp.machine;
  Checker *checker = machine.checker.get();
  NamedBarrier &b = warp.cta.barriers[id];
  auto object = [&] {
    return Machine::objectOf(warp.cta, Machine::Aspect::Barrier, id,
                             b.generation);
  };
  LaneGroup &group = warp.group();
  if (group.arrived) {
    // A CTA barrier may have become complete because threads have exited.
    if (b.generation == group.arrivalGeneration && isComplete(warp.cta, b)) {
      if (checker)
        checker->barrierCompleted(warp.cta, id);
      completeBarrier(machine, b, object());
    }
    if (b.generation == group.arrivalGeneration) {
      b.waiters.add(warp);
      return warp.block(WaitKind::NamedBarrier, id);
    }
    group.arrived = false;
    if (checker)
      checker->barrierLeft(warp, id);
    deliverReduction(warp, inst, mask, b, a.kind);
    return Step::Next;
  }
  uint32_t count = a.hasCount ? warp.narrow(inst.op[1])[lane] : 0;
  if (a.hasCount && (count == 0 || count % 32 || count > 1024))
    return warp.fault(ReportKind::IllegalOperand,
                      "expected a thread count that is a multiple of 32, but "
                      "got " +
                          std::to_string(count));
  if (b.arrived && a.hasCount != !b.wholeCta)
    return warp.fault(ReportKind::IllegalOperand,
                      "barrier " + std::to_string(id) +
                          " is used with and without a thread count");
  if (b.arrived && a.hasCount && b.expected != count)
    return warp.fault(ReportKind::IllegalOperand,
                      "barrier " + std::to_string(id) + " expects " +
                          std::to_string(b.expected) +
                          " threads, but this arrival names " +
                          std::to_string(count));
  b.wholeCta = !a.hasCount;
  b.expected = count;
  // With a count, a warp counts as 32 threads even when some have exited.
  b.arrived += a.hasCount && mask == warp.live ? 32 : std::popcount(mask);
  if (a.hasPredicate) {
    LaneMask predicate = warp.predicate(inst.op[3]) & mask;
    b.population += std::popcount(predicate);
    b.all &= predicate == mask;
    b.any |= predicate != 0;
  }
  if (a.hasCount && b.arrived > b.expected)
    return warp.fault(ReportKind::IllegalOperand,
                      "barrier " + std::to_string(id) + " expects " +
                          std::to_string(b.expected) + " threads, but " +
                          std::to_string(b.arrived) + " have arrived");
  machine.progress();
  if (machine.options.explorer)
    machine.options.explorer->uses(object(), Explorer::Use::Arrive);
  if (checker)
    checker->barrierArrived(warp, id);
  uint64_t generation = b.generation;
  if (isComplete(warp.cta, b)) {
    if (checker)
      checker->barrierCompleted(warp.cta, id);
    completeBarrier(machine, b, object());
    if (checker && a.kind != Arrive)
      checker->barrierLeft(warp, id);
    deliverReduction(warp, inst, mask, b, a.kind);
    return Step::Next;
  }
  if (a.kind == Arrive)
    return Step::Next;
  group.arrived = true;
  group.arrivalGeneration = generation;
  b.waiters.add(warp);
  return warp.block(WaitKind::NamedBarrier, id);
}

Step warpSync(Warp &warp, const Inst &, LaneMask) {
  if (warp.machine.checker)
    warp.machine.checker->warpSynced(warp, /*memory=*/true);
  return Step::Next;
}

void decodeNamedBarrier(DecodeContext &context) {
  Inst &inst = context.inst;
  if (context.take("warp")) {
    context.take("sync");
    if (!context.expectOperands(1))
      return;
    inst.op[0] = context.source(0, Type::B32);
    inst.flags |= FlagMemberMask;
    inst.memberOperand = 0;
    inst.handler = warpSync;
    return;
  }
  auto &a = context.makeAttributes<BarrierAttributes>();
  bool isBar = context.parsed.opcode == "bar";
  context.take("cta");
  int kind = context.expectAny({"sync", "arrive", "red"});
  bool aligned = context.take("aligned") || isBar;
  if (aligned)
    inst.flags |= FlagAligned;
  size_t next = 0;
  if (kind == 2) {
    int op = context.expectAny({"popc", "and", "or"});
    a.kind = static_cast<BarrierKind>(RedPopc + op);
    context.expectType({op == 0 ? Type::U32 : Type::Pred});
    if (!context.expectOperands(3, 4))
      return;
    inst.op[2] = context.dest(0, op == 0 ? Type::U32 : Type::Pred);
    next = 1;
    a.hasPredicate = true;
    a.hasCount = context.operandCount() == 4;
    inst.op[3] = context.source(context.operandCount() - 1, Type::Pred);
  } else {
    a.kind = kind == 0 ? Sync : Arrive;
    if (!context.expectOperands(kind == 0 ? 1 : 2, 2))
      return;
    a.hasCount = context.operandCount() == 2;
  }
  inst.op[0] = context.source(next, Type::B32);
  if (a.hasCount)
    inst.op[1] = context.source(next + 1, Type::B32);
  inst.handler = barrier;
}

/// The cluster barrier in its phase, or in one of those before.
uint64_t clusterObject(Cluster &cluster, uint64_t before) {
  return Machine::objectOf(*cluster.ctas[0], Machine::Aspect::Cluster, 0,
                           cluster.generation - before);
}

/// Completes the phase when all threads that have not exited have arrived.
void completeClusterPhase(Machine &machine, Cluster &cluster) {
  if (!cluster.arrived || cluster.arrived < cluster.liveThreads)
    return;
  if (machine.options.explorer)
    machine.options.explorer->follows(clusterObject(cluster, 0));
  if (machine.checker)
    machine.checker->clusterCompleted(cluster);
  cluster.arrived = 0;
  ++cluster.generation;
  machine.wake(cluster.waiters);
}

Step clusterArrive(Warp &warp, const Inst &inst, LaneMask mask) {
  Cluster &cluster = *warp.cta.cluster;
  Machine &machine = warp.machine;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t &arrival = warp.clusterArrivals[lane];
    if (arrival == cluster.generation + 1)
      return warp.fault(ReportKind::IllegalOperand,
                        "the thread arrives at the cluster barrier again "
                        "before it has waited",
                        static_cast<int>(lane));
    arrival = cluster.generation + 1;
  }
  cluster.arrived += std::popcount(mask);
  if (machine.options.explorer)
    machine.options.explorer->uses(clusterObject(cluster, 0),
                                   Explorer::Use::Arrive);
  machine.progress();
  if (machine.checker)
    machine.checker->clusterArrived(warp, /*release=*/!inst.sub[0]);
  completeClusterPhase(machine, cluster);
  return Step::Next;
}

Step clusterWait(Warp &warp, const Inst &inst, LaneMask mask) {
  Cluster &cluster = *warp.cta.cluster;
  Machine &machine = warp.machine;
  // Threads may have exited since the last arrival.
  completeClusterPhase(machine, cluster);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    // A thread that has never arrived waits for the first phase.
    uint64_t arrival = warp.clusterArrivals[std::countr_zero(rest)];
    if (cluster.generation >= std::max<uint64_t>(arrival, 1))
      continue;
    cluster.waiters.add(warp);
    return warp.block(WaitKind::ClusterBarrier);
  }
  if (machine.options.explorer)
    machine.options.explorer->follows(clusterObject(cluster, 1));
  if (machine.checker)
    machine.checker->clusterLeft(warp, /*acquire=*/!inst.sub[0]);
  return Step::Next;
}

void decodeBarrier(DecodeContext &context) {
  if (!context.take("cluster"))
    return decodeNamedBarrier(context);
  bool arrive = context.expectAny({"arrive", "wait"}) == 0;
  int order = context.takeAny({"release", "acquire", "relaxed"});
  if (context.take("aligned"))
    context.inst.flags |= FlagAligned;
  context.expectOperands(0);
  context.inst.sub[0] = order == 2;
  context.inst.handler = arrive ? clusterArrive : clusterWait;
}

} // namespace

void addBarrierInstructions(InstructionTable &table) {
  table.add("bar", decodeNamedBarrier);
  table.add("barrier", decodeBarrier);
}

} // namespace nvfp4::sim
