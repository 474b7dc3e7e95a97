//===- Mbarrier.cpp - mbarrier instructions ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait,
// try_wait, pending_count. A state token is `phase << 32 | pending`.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Access.h"
#include "nvfp4/Simulator/Machine/Explorer.h"

namespace nvfp4::sim {
namespace {

struct MbarrierAttributes : InstAttributes {
  StateSpace space = StateSpace::Generic;
  bool wideAddress = false;
  bool relaxed = false;
  bool clusterScope = false;
  bool parity = false;
  bool mayWait = false;
  bool expectTransactions = false;
  bool hasCount = false;
  bool hasState = false;
  bool drop = false;
};

bool addressFor(Warp &warp, const Inst &inst, unsigned lane,
                uint32_t &address) {
  const auto &a = inst.attr<MbarrierAttributes>();
  return sharedAddressOf(
      warp, a.space,
      warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane), lane,
      address);
}

Step misuse(Warp &warp, unsigned lane, std::string message) {
  return warp.fault(ReportKind::MbarrierMisuse, std::move(message),
                    static_cast<int>(lane));
}

Step initialize(Warp &warp, const Inst &inst, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!addressFor(warp, inst, lane, address))
      return Step::Stop;
    uint32_t count = warp.narrow(inst.op[1])[lane];
    if (count == 0 || count >= 1u << 20)
      return misuse(warp, lane,
                    "expected an arrival count of 1 to 2^20 - 1, "
                    "but got " +
                        std::to_string(count));
    // The object occupies its bytes: writing them checks the address and
    // tells the checker.
    uint64_t image = count;
    Place place;
    if (!resolve(warp, StateSpace::Shared, address, 8, 8, lane, place))
      return Step::Stop;
    if (place.cta != &warp.cta)
      return misuse(warp, lane, "mbarrier.init of another CTA's mbarrier");
    writePlace(warp, place, &image, 8, lane);
    uint32_t offset = address & sharedOffsetMask;
    auto [entry, inserted] = place.cta->mbarriers.try_emplace(offset);
    Mbarrier &barrier = entry->second;
    if (!inserted && !barrier.waiters.warps.empty())
      return misuse(warp, lane,
                    "mbarrier at shared offset " + std::to_string(offset) +
                        " is initialised while threads wait on it");
    if (!inserted)
      warp.note(ReportKind::MbarrierMisuse,
                "mbarrier at shared offset " + std::to_string(offset) +
                    " is initialised again without mbarrier.inval",
                static_cast<int>(lane));
    barrier = Mbarrier();
    barrier.expected = barrier.pending = count;
    barrier.initPc = warp.group().pc;
    barrier.id = warp.machine.nextMbarrierId++;
    if (warp.machine.checker)
      warp.machine.checker->mbarrierInitialized(warp, *place.cta, offset);
  }
  return Step::Next;
}

Step invalidate(Warp &warp, const Inst &inst, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!addressFor(warp, inst, lane, address))
      return Step::Stop;
    Mbarrier *barrier = warp.machine.mbarrierAt(
        warp.cta, address, warp.group().pc, "mbarrier.inval");
    if (!barrier)
      return Step::Stop;
    if (!barrier->waiters.warps.empty())
      return misuse(warp, lane, "mbarrier.inval while threads wait");
    Place place;
    uint64_t image = 0;
    if (!resolve(warp, StateSpace::Shared, address, 8, 8, lane, place))
      return Step::Stop;
    writePlace(warp, place, &image, 8, lane);
    place.cta->mbarriers.erase(address & sharedOffsetMask);
  }
  return Step::Next;
}

Step transactions(Warp &warp, const Inst &inst, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!addressFor(warp, inst, lane, address))
      return Step::Stop;
    auto bytes = static_cast<int32_t>(warp.narrow(inst.op[1])[lane]);
    uint32_t pc = warp.group().pc;
    bool ok =
        inst.sub[0]
            ? warp.machine.completeTransactions(warp.cta, address, bytes, pc)
            : warp.machine.expectTransactions(warp.cta, address, bytes, pc);
    if (!ok)
      return Step::Stop;
  }
  return Step::Next;
}

Step arrive(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MbarrierAttributes>();
  Machine &machine = warp.machine;
  uint32_t pc = warp.group().pc;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!addressFor(warp, inst, lane, address))
      return Step::Stop;
    Mbarrier *barrier =
        machine.mbarrierAt(warp.cta, address, pc, "mbarrier.arrive");
    if (!barrier)
      return Step::Stop;
    Cta &owner = *machine.ctaAt(warp.cta, address);
    uint64_t token = barrier->phase << 32 | barrier->pending;
    uint32_t value = a.hasCount ? warp.narrow(inst.op[1])[lane] : 1;
    uint32_t count = a.expectTransactions ? 1 : value;
    if (a.expectTransactions &&
        !machine.expectTransactions(warp.cta, address,
                                    static_cast<int32_t>(value), pc))
      return Step::Stop;
    if (a.drop) {
      if (barrier->expected < count)
        return misuse(warp, lane,
                      "mbarrier.arrive_drop drops more threads "
                      "than the mbarrier expects");
      barrier->expected -= count;
    }
    if (machine.checker)
      machine.checker->threadArrived(warp, owner, address & sharedOffsetMask,
                                     !a.relaxed, mask);
    if (!machine.arrive(warp.cta, address, count, pc))
      return Step::Stop;
    if (a.hasState)
      warp.wide(inst.op[2])[lane] = token;
  }
  return Step::Next;
}

/// A lane has asked for a phase, which is complete if `isDone`.
void tellExplorer(Warp &warp, const Inst &inst, unsigned lane, bool isDone,
                  bool mayWait) {
  using Aspect = Machine::Aspect;
  using Use = Explorer::Use;
  Machine &machine = warp.machine;
  uint32_t address = 0;
  addressFor(warp, inst, lane, address);
  uint64_t complete =
      machine.mbarrierAt(warp.cta, address, warp.group().pc, "a wait")->phase;
  auto uses = [&](Aspect aspect, Use use) {
    machine.options.explorer->uses(
        machine.mbarrierObject(warp.cta, address, aspect, complete), use);
  };
  if (!isDone)
    return uses(Aspect::Mbarrier, Use::Read);
  uses(Aspect::LastPhase, Use::Read);
  // One that skips a phase had better come before.
  bool isNext = machine.seesNextPhase(warp, address, complete);
  uses(Aspect::Mbarrier, mayWait && isNext ? Use::Wait : Use::Read);
}

Step wait(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MbarrierAttributes>();
  Machine &machine = warp.machine;
  LaneGroup &group = warp.group();
  uint32_t pc = group.pc;
  LaneMask done = 0;
  Mbarrier *missing = nullptr;
  uint32_t missingAddress = 0;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!addressFor(warp, inst, lane, address))
      return Step::Stop;
    Mbarrier *barrier = machine.mbarrierAt(warp.cta, address, pc, "a wait");
    if (!barrier)
      return Step::Stop;
    if (machine.ctaAt(warp.cta, address) != &warp.cta)
      return misuse(warp, lane,
                    "wait on an mbarrier of CTA rank " +
                        std::to_string(address >> sharedRankShift) +
                        "; only a CTA's own can be waited on");
    if (group.waitedPhase && group.waitAddress == address &&
        barrier->phase > group.waitedPhase)
      warp.note(ReportKind::MbarrierMisuse,
                "mbarrier at shared offset " +
                    std::to_string(address & sharedOffsetMask) +
                    " completed phase " + std::to_string(group.waitedPhase) +
                    " before a thread that waits for phase " +
                    std::to_string(group.waitedPhase - 1) +
                    " has seen it: the waiter is lapped",
                static_cast<int>(lane));
    bool complete =
        a.parity ? (barrier->phase & 1) != (warp.narrow(inst.op[1])[lane] & 1)
                 : barrier->phase != warp.wide(inst.op[1])[lane] >> 32;
    if (complete) {
      done |= 1u << lane;
    } else {
      missing = barrier;
      missingAddress = address;
    }
  }
  if (missing && a.mayWait && !group.arrived && !machine.timesOut()) {
    missing->waiters.add(warp);
    if (!group.waitedPhase)
      group.waitedPhase = missing->phase + 1;
    // One that comes too late waits for what will not be.
    if (machine.options.explorer && missing->phase > 0)
      machine.options.explorer->uses(
          machine.mbarrierObject(warp.cta, missingAddress,
                                 Machine::Aspect::Mbarrier, missing->phase),
          Explorer::Use::Read);
    return warp.block(WaitKind::Mbarrier, missingAddress, 1);
  }
  if (machine.options.explorer)
    for (LaneMask rest = mask; rest; rest &= rest - 1) {
      unsigned lane = std::countr_zero(rest);
      tellExplorer(warp, inst, lane, done >> lane & 1, a.mayWait);
    }
  group.arrived = false;
  group.waitedPhase = 0;
  warp.setPredicate(inst.op[2], mask, done);
  if (machine.checker)
    for (LaneMask rest = done; rest; rest &= rest - 1) {
      uint32_t address = 0;
      addressFor(warp, inst, std::countr_zero(rest), address);
      machine.checker->threadWaited(warp, warp.cta, address & sharedOffsetMask,
                                    !a.relaxed);
    }
  return Step::Next;
}

Step pendingCount(Warp &warp, const Inst &inst, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    warp.narrow(inst.op[0])[lane] =
        static_cast<uint32_t>(warp.wide(inst.op[1])[lane]);
  }
  return Step::Next;
}

void takeQualifiers(DecodeContext &context, MbarrierAttributes &a) {
  a.relaxed = context.takeAny({"relaxed", "release", "acquire"}) == 0;
  a.clusterScope = context.takeAny({"cta", "cluster"}) == 1;
  if (context.takeAny({"shared", "shared::cta", "shared::cluster"}) >= 0)
    a.space = StateSpace::Shared;
  context.expectType({Type::B64});
}

void setAddress(DecodeContext &context, MbarrierAttributes &a, size_t i) {
  AddressOperand address = context.address(i);
  context.inst.op[0] = address.base;
  context.inst.immediate = address.offset;
  a.wideAddress = address.wide;
}

void decodeArrive(DecodeContext &context, MbarrierAttributes &a) {
  a.expectTransactions = context.take("expect_tx");
  context.take("noComplete");
  takeQualifiers(context, a);
  if (!context.expectOperands(1, 3))
    return;
  size_t next = 0;
  if (context.operand(0).kind != Operand::Kind::Memory) {
    if (context.operand(0).kind == Operand::Kind::Register) {
      a.hasState = true;
      context.inst.op[2] = context.dest(0, Type::B64);
    }
    next = 1;
  }
  setAddress(context, a, next);
  a.hasCount = context.operandCount() > next + 1;
  if (a.hasCount)
    context.inst.op[1] = context.source(next + 1, Type::B32);
  else if (a.expectTransactions)
    context.error("expected a transaction count");
  context.inst.handler = arrive;
}

void decodeWait(DecodeContext &context, MbarrierAttributes &a) {
  a.parity = context.take("parity");
  takeQualifiers(context, a);
  if (!context.expectOperands(3, a.mayWait ? 4 : 3))
    return;
  context.inst.op[2] = context.dest(0, Type::Pred);
  setAddress(context, a, 1);
  context.inst.op[1] = context.source(2, a.parity ? Type::B32 : Type::B64);
  if (context.operandCount() == 4)
    context.inst.op[3] = context.source(3, Type::B32);
  context.inst.handler = wait;
}

void decodeMbarrier(DecodeContext &context) {
  auto &a = context.makeAttributes<MbarrierAttributes>();
  Inst &inst = context.inst;
  // `arrive.expect_tx` must be told from `expect_tx`.
  if (context.take("arrive"))
    return decodeArrive(context, a);
  if (context.take("arrive_drop")) {
    a.drop = true;
    return decodeArrive(context, a);
  }
  switch (context.expectAny({"init", "inval", "expect_tx", "complete_tx",
                             "test_wait", "try_wait", "pending_count"})) {
  case 0:
    takeQualifiers(context, a);
    if (!context.expectOperands(2))
      return;
    setAddress(context, a, 0);
    inst.op[1] = context.source(1, Type::B32);
    inst.handler = initialize;
    return;
  case 1:
    takeQualifiers(context, a);
    if (!context.expectOperands(1))
      return;
    setAddress(context, a, 0);
    inst.handler = invalidate;
    return;
  case 3:
    inst.sub[0] = 1;
    [[fallthrough]];
  case 2:
    takeQualifiers(context, a);
    if (!context.expectOperands(2))
      return;
    setAddress(context, a, 0);
    inst.op[1] = context.source(1, Type::B32);
    inst.handler = transactions;
    return;
  case 4:
    return decodeWait(context, a);
  case 5:
    a.mayWait = true;
    return decodeWait(context, a);
  default:
    context.expectType({Type::B64});
    if (!context.expectOperands(2))
      return;
    inst.op[0] = context.dest(0, Type::B32);
    inst.op[1] = context.source(1, Type::B64);
    inst.handler = pendingCount;
    return;
  }
}

} // namespace

void addMbarrierInstructions(InstructionTable &table) {
  table.add("mbarrier", decodeMbarrier);
}

} // namespace nvfp4::sim
