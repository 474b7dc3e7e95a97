//===- PlainCopy.cpp - cp.async ---------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of 4, 8 or 16 bytes from global to shared memory, their groups, and
// arrival on an mbarrier when the thread's earlier copies are complete.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Copy.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

struct PlainAttributes : InstAttributes {
  unsigned bytes = 16;
  AddressOperand destination, source;
  bool hasSize = false;
  bool ignores = false;
};

Step copy(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<PlainAttributes>();
  Machine &machine = warp.machine;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t target = warp.addressOf(inst.op[0], a.destination.wide,
                                     a.destination.offset, lane);
    uint64_t source =
        warp.addressOf(inst.op[1], a.source.wide, a.source.offset, lane);
    unsigned size = a.bytes;
    if (a.hasSize)
      size = std::min(size, warp.narrow(inst.op[2])[lane]);
    if (a.ignores && warp.predicate(inst.op[3]) >> lane & 1)
      size = 0;
    Place to;
    if (!resolve(warp, StateSpace::Shared, target, a.bytes, a.bytes, lane, to))
      return Step::Stop;
    Place from;
    if (size && !resolve(warp, StateSpace::Global, source, size, 1, lane, from))
      return Step::Stop;
    std::shared_ptr<CopyGroup> group = openGroup(warp.plainCopies[lane]);
    ++group->writing;
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Generic);
    group->operations.push_back(operation.id);
    Warp *issuer = &warp;
    Cta *cta = &warp.cta;
    ++cta->cluster->pendingOperations;
    unsigned width = a.bytes;
    auto offset = static_cast<uint32_t>(to.address);
    machine.schedule(machine.delayFor(AsyncKind::CopyIn, warp.cta), [=,
                                                                     &machine] {
      --cta->cluster->pendingOperations;
      std::vector<uint8_t> bytes(width, 0);
      if (size && !machine.memory.read(source, bytes.data(), size))
        return operation.fault(ReportKind::OutOfBounds,
                               "cp.async reads freed global memory");
      std::vector<uint8_t> written = machine.memory.writtenMarks(source, size);
      if (!written.empty())
        written.resize(width, 1);
      if (size && machine.checker)
        machine.checker->operationGlobal(operation.id, *cta->cluster, source,
                                         size, Access::Read);
      if (!writeShared(operation, *cta, offset, bytes, TensorSwizzle::None,
                       written))
        return;
      --group->writing;
      machine.wake(*issuer);
    });
  }
  return Step::Next;
}

Step commit(Warp &warp, const Inst &, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    ThreadCopies &copies = warp.plainCopies[std::countr_zero(rest)];
    copies.committed.push_back(openGroup(copies));
    copies.open = nullptr;
  }
  return Step::Next;
}

/// wait_group N, or wait_all with sub[0] set.
Step wait(Warp &warp, const Inst &inst, LaneMask mask) {
  auto allowed = static_cast<size_t>(inst.immediate);
  bool all = inst.sub[0];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    ThreadCopies &copies = warp.plainCopies[std::countr_zero(rest)];
    for (size_t i = 0; i + allowed < copies.committed.size(); ++i)
      if (copies.committed[i]->writing)
        return warp.block(WaitKind::CopyGroup, 0, allowed);
    if (all && copies.open && copies.open->writing)
      return warp.block(WaitKind::CopyGroup);
  }
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    ThreadCopies &copies = warp.plainCopies[std::countr_zero(rest)];
    if (all && copies.open) {
      copies.committed.push_back(copies.open);
      copies.open = nullptr;
    }
    while (copies.committed.size() > allowed) {
      if (warp.machine.checker)
        warp.machine.checker->operationsWaited(
            warp, copies.committed.front()->operations, false);
      copies.committed.erase(copies.committed.begin());
    }
  }
  return Step::Next;
}

struct ArriveAttributes : InstAttributes {
  bool wide = false;
  bool noIncrement = false;
};

/// An arrival that waits for copies of a thread.
struct CopyArrival {
  std::vector<std::shared_ptr<CopyGroup>> groups;
  AsyncOperation operation;
  Cta *cta = nullptr;
  uint32_t address = 0;
};

/// Looks again until the copies are done.
void arriveWhenDone(Machine &machine,
                    const std::shared_ptr<const CopyArrival> &arrival) {
  bool pending = std::any_of(arrival->groups.begin(), arrival->groups.end(),
                             [](const auto &group) { return group->writing; });
  if (pending) {
    machine.schedule(1 + machine.random.below(64),
                     [&machine, arrival] { arriveWhenDone(machine, arrival); });
    return;
  }
  Cta &cta = *arrival->cta;
  --cta.cluster->pendingOperations;
  if (machine.checker) {
    uint32_t offset = arrival->address & sharedOffsetMask;
    machine.checker->operationArrived(arrival->operation.id, cta, offset);
    for (const auto &group : arrival->groups)
      for (uint32_t copy : group->operations)
        machine.checker->operationArrived(copy, cta, offset);
  }
  machine.arrive(cta, arrival->address, 1, arrival->operation.pc);
}

/// Arrives when all copies the thread has issued so far are complete.
Step arriveOn(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ArriveAttributes>();
  Machine &machine = warp.machine;
  uint32_t pc = warp.group().pc;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0;
    if (!sharedAddressOf(
            warp, StateSpace::Generic,
            warp.addressOf(inst.op[0], a.wide, inst.immediate, lane), lane,
            address))
      return Step::Stop;
    Mbarrier *barrier =
        machine.mbarrierAt(warp.cta, address, pc, "cp.async.mbarrier.arrive");
    if (!barrier)
      return Step::Stop;
    if (!a.noIncrement)
      ++barrier->pending;
    auto arrival = std::make_shared<CopyArrival>();
    ThreadCopies &copies = warp.plainCopies[lane];
    arrival->groups.assign(copies.committed.begin(), copies.committed.end());
    if (copies.open)
      arrival->groups.push_back(copies.open);
    arrival->operation = beginOperation(warp, lane, OperationProxy::Generic);
    arrival->cta = &warp.cta;
    arrival->address = address;
    ++warp.cta.cluster->pendingOperations;
    machine.schedule(1,
                     [&machine, arrival] { arriveWhenDone(machine, arrival); });
  }
  return Step::Next;
}

} // namespace

void decodePlainCopy(DecodeContext &context) {
  Inst &inst = context.inst;
  if (context.take("commit_group")) {
    context.expectOperands(0);
    inst.handler = commit;
    return;
  }
  if (context.take("wait_all") || context.take("wait_group")) {
    if (context.operandCount() == 1)
      inst.immediate = context.literal(0);
    else
      inst.sub[0] = 1;
    inst.handler = wait;
    return;
  }
  if (context.take("mbarrier")) {
    context.expectAny({"arrive"});
    auto &a = context.makeAttributes<ArriveAttributes>();
    a.noIncrement = context.take("noinc");
    context.takeAny({"shared", "shared::cta"});
    context.expectType({Type::B64});
    AddressOperand address = context.address(0);
    inst.op[0] = address.base;
    inst.immediate = address.offset;
    a.wide = address.wide;
    inst.handler = arriveOn;
    return;
  }
  auto &a = context.makeAttributes<PlainAttributes>();
  context.takeCacheHints();
  context.takeAny({"shared", "shared::cta"});
  context.expectAny({"global"});
  if (!context.expectOperands(3, 5))
    return;
  a.destination = context.address(0);
  a.source = context.address(1);
  int64_t bytes = context.literal(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    context.error("expected a size of 4, 8 or 16, but got " +
                  std::to_string(bytes));
    return;
  }
  a.bytes = static_cast<unsigned>(bytes);
  inst.op[0] = a.destination.base;
  inst.op[1] = a.source.base;
  if (context.operandCount() > 3) {
    const Operand &extra = context.operand(3);
    bool predicate =
        extra.kind == Operand::Kind::Register &&
        context.tables.function.registers[extra.reg].type == Type::Pred;
    a.ignores = predicate;
    a.hasSize = !predicate;
    if (predicate)
      inst.op[3] = context.source(3, Type::Pred);
    else
      inst.op[2] = context.source(3, Type::B32);
  }
  inst.handler = copy;
}

} // namespace nvfp4::sim
