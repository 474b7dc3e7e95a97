//===- Tcgen05.cpp - tcgen05 allocation, commit, fences ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// alloc, dealloc, relinquish_alloc_permit, commit, fence, and the table entry
// that hands the other tcgen05 instructions to their files.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"

#include "Copy.h"
#include "Families.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <cstring>

namespace nvfp4::sim {

bool useCtaGroup(Warp &warp, unsigned group) {
  Cta &cta = warp.cta;
  if (cta.ctaGroup && cta.ctaGroup != group) {
    warp.fault(ReportKind::MixedCtaGroup,
               "expected cta_group::" + std::to_string(cta.ctaGroup) +
                   " as in earlier tcgen05 instructions of the kernel, but "
                   "got cta_group::" +
                   std::to_string(group));
    return false;
  }
  cta.ctaGroup = group;
  if (group == 2 && cta.cluster->ctas.size() % 2) {
    warp.fault(ReportKind::IllegalOperand,
               "cta_group::2 needs a cluster of an even number of CTAs, but "
               "got " +
                   std::to_string(cta.cluster->ctas.size()));
    return false;
  }
  return true;
}

std::vector<Cta *> groupCtas(Cta &cta, unsigned group) {
  if (group == 1)
    return {&cta};
  auto &ctas = cta.cluster->ctas;
  return {ctas[cta.rank & ~1u].get(), ctas[cta.rank | 1u].get()};
}

bool checkColumns(const AsyncOperation &operation, Cta &cta, unsigned column,
                  unsigned count, const char *what) {
  if (cta.tmem && cta.tmem->isAllocated(column, count))
    return true;
  operation.fault(ReportKind::TmemAllocation,
                  std::string(what) + " columns " + std::to_string(column) +
                      " to " + std::to_string(column + count - 1) +
                      " of CTA rank " + std::to_string(cta.rank) +
                      ", which are not allocated");
  return false;
}

namespace {

bool legalColumns(uint32_t columns) {
  return columns >= 32 && columns <= 512 && std::has_single_bit(columns);
}

/// The part of an allocation that is the CTA's own.
Step allocateHere(Warp &warp, const Inst &inst, LaneMask mask) {
  unsigned lane = std::countr_zero(mask);
  uint32_t columns = warp.narrow(inst.op[1])[lane];
  if (!useCtaGroup(warp, inst.sub[0]))
    return Step::Stop;
  if (!legalColumns(columns))
    return warp.fault(ReportKind::TmemAllocation,
                      "expected a power of two from 32 to 512 columns, but "
                      "got " +
                          std::to_string(columns));
  Tmem &tmem = warp.cta.tensorMemory();
  if (tmem.relinquished)
    return warp.fault(ReportKind::TmemAllocation,
                      "allocation after relinquish_alloc_permit");
  if (tmem.lastColumns && columns > tmem.lastColumns)
    return warp.fault(ReportKind::TmemAllocation,
                      "expected at most " + std::to_string(tmem.lastColumns) +
                          " columns, as in the preceding allocation, but got " +
                          std::to_string(columns));
  int first = tmem.allocate(columns);
  if (first < 0) {
    warp.cta.tmemWaiters.add(warp);
    return warp.block(WaitKind::TmemAllocation, 0, columns);
  }
  tmem.lastColumns = columns;
  ++tmem.allocations;
  auto address = static_cast<uint32_t>(first);
  uint64_t target =
      warp.addressOf(inst.op[0], inst.sub[1] & 1, inst.immediate, lane);
  uint32_t shared = 0;
  StateSpace space = inst.sub[1] & 2 ? StateSpace::Generic : StateSpace::Shared;
  if (!sharedAddressOf(warp, space, target, lane, shared))
    return Step::Stop;
  if (warp.machine.options.profile == CheckProfile::Strict)
    return storeBytes(warp, StateSpace::Shared, shared, &address, 4, lane)
               ? Step::Next
               : Step::Stop;
  // Kernels reuse the slot for asynchronous copies without a proxy fence: in
  // practice the write counts as one of the asynchronous proxy.
  AsyncOperation operation = beginOperation(warp, lane, OperationProxy::Async);
  std::vector<uint8_t> bytes(4);
  std::memcpy(bytes.data(), &address, 4);
  if (shared % 4 || !warp.machine.ctaAt(warp.cta, shared))
    return warp.fault(ReportKind::Misaligned,
                      "expected a shared address that is a multiple of 4");
  if (!writeShared(operation, *warp.machine.ctaAt(warp.cta, shared),
                   shared & sharedOffsetMask, bytes, TensorSwizzle::None))
    return Step::Stop;
  if (Checker *checker = warp.machine.checker.get())
    checker->allocationWritten(warp, operation.id);
  return Step::Next;
}

/// The CTAs of a pair allocate together: who comes first waits for the other.
Step allocate(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneGroup &group = warp.group();
  if (!group.arrived) {
    Step step = allocateHere(warp, inst, mask);
    if (step != Step::Next || inst.sub[0] != 2)
      return step;
    group.arrived = true;
    group.arrivalGeneration = warp.cta.tensorMemory().allocations;
  }
  for (Cta *cta : groupCtas(warp.cta, 2)) {
    if (cta == &warp.cta)
      continue;
    warp.machine.wake(cta->tmemWaiters);
    if (cta->tensorMemory().allocations < group.arrivalGeneration) {
      warp.cta.tmemWaiters.add(warp);
      return warp.block(WaitKind::TmemAllocation);
    }
  }
  group.arrived = false;
  return Step::Next;
}

Step deallocate(Warp &warp, const Inst &inst, LaneMask mask) {
  unsigned lane = std::countr_zero(mask);
  uint32_t address = warp.narrow(inst.op[0])[lane];
  uint32_t columns = warp.narrow(inst.op[1])[lane];
  if (!useCtaGroup(warp, inst.sub[0]))
    return Step::Stop;
  Tmem &tmem = warp.cta.tensorMemory();
  if (!legalColumns(columns) || (address >> 16) ||
      !tmem.release(address & 0xffff, columns))
    return warp.fault(ReportKind::TmemAllocation,
                      "expected an allocation of " + std::to_string(columns) +
                          " columns at column " +
                          std::to_string(address & 0xffff) +
                          ", but there is none");
  if (warp.cta.pipePending)
    return warp.fault(ReportKind::TmemAllocation,
                      "tensor memory is released while tensor operations are "
                      "in flight");
  warp.machine.wake(warp.cta.tmemWaiters);
  return Step::Next;
}

Step relinquish(Warp &warp, const Inst &inst, LaneMask) {
  if (!useCtaGroup(warp, inst.sub[0]))
    return Step::Stop;
  warp.cta.tensorMemory().relinquished = true;
  return Step::Next;
}

/// Arrives on mbarriers when the earlier operations of the pipe are complete.
Step commit(Warp &warp, const Inst &inst, LaneMask mask) {
  Machine &machine = warp.machine;
  if (!useCtaGroup(warp, inst.sub[0] & 3))
    return Step::Stop;
  bool multicast = inst.sub[0] & 4;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t barrier = 0;
    StateSpace space =
        inst.sub[1] & 2 ? StateSpace::Generic : StateSpace::Shared;
    if (!sharedAddressOf(
            warp, space,
            warp.addressOf(inst.op[0], inst.sub[1] & 1, inst.immediate, lane),
            lane, barrier))
      return Step::Stop;
    uint32_t ranks = multicast ? warp.narrow(inst.op[1])[lane] & 0xffff : 0;
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::TensorPipe);
    ++machine.result.statistics.commits;
    Cta *cta = &warp.cta;
    Cta *leader = groupCtas(*cta, inst.sub[0] & 3)[0];
    machine.scheduleOnPipe(
        *leader,
        [=, &machine] {
          auto arrive = [&](uint32_t, uint32_t address) {
            if (machine.checker)
              if (Cta *target = machine.ctaAt(*cta, address))
                machine.checker->operationArrived(operation.id, *target,
                                                  address & sharedOffsetMask);
            machine.arrive(*cta, address, 1, operation.pc);
          };
          if (multicast)
            forMulticast(ranks, barrier, false, arrive);
          else
            arrive(0, barrier);
        },
        {}, /*usesMemory=*/false);
  }
  return Step::Next;
}

Step fence(Warp &warp, const Inst &inst, LaneMask) {
  if (Checker *checker = warp.machine.checker.get())
    checker->tcgen05Fence(warp, inst.sub[0] == 0);
  return Step::Next;
}

void setBase(DecodeContext &context, size_t i) {
  AddressOperand address = context.address(i);
  context.inst.op[0] = address.base;
  context.inst.immediate = address.offset;
  context.inst.sub[1] |= address.wide;
}

void decodeAlloc(DecodeContext &context) {
  Inst &inst = context.inst;
  inst.sub[0] = takeCtaGroup(context);
  context.take("sync");
  context.take("aligned");
  if (context.takeAny({"shared::cta", "shared"}) < 0)
    inst.sub[1] = 2;
  context.expectType({Type::B32});
  if (!context.expectOperands(2))
    return;
  setBase(context, 0);
  inst.op[1] = context.source(1, Type::B32);
  inst.flags |= FlagAligned;
  inst.handler = allocate;
}

void decodeCommit(DecodeContext &context) {
  Inst &inst = context.inst;
  inst.sub[0] = takeCtaGroup(context);
  context.expectAny({"mbarrier::arrive::one"});
  if (context.takeAny({"shared::cluster", "shared::cta", "shared"}) < 0)
    inst.sub[1] = 2;
  bool multicast = context.take("multicast::cluster");
  if (multicast)
    inst.sub[0] |= 4;
  context.expectType({Type::B64});
  if (!context.expectOperands(multicast ? 2 : 1))
    return;
  setBase(context, 0);
  if (multicast)
    inst.op[1] = context.source(1, Type::B16);
  inst.handler = commit;
}

void decodeTcgen05(DecodeContext &context) {
  Inst &inst = context.inst;
  switch (context.takeAny({"alloc", "dealloc", "relinquish_alloc_permit",
                           "commit", "fence::before_thread_sync",
                           "fence::after_thread_sync", "wait::ld", "wait::st",
                           "ld", "st", "cp", "mma", "shift"})) {
  case 0:
    return decodeAlloc(context);
  case 1:
    inst.sub[0] = takeCtaGroup(context);
    context.take("sync");
    context.take("aligned");
    context.expectType({Type::B32});
    if (!context.expectOperands(2))
      return;
    inst.op[0] = context.source(0, Type::B32);
    inst.op[1] = context.source(1, Type::B32);
    inst.flags |= FlagAligned;
    inst.handler = deallocate;
    return;
  case 2:
    inst.sub[0] = takeCtaGroup(context);
    context.take("sync");
    context.take("aligned");
    context.expectOperands(0);
    inst.flags |= FlagAligned;
    inst.handler = relinquish;
    return;
  case 3:
    return decodeCommit(context);
  case 4:
  case 5:
    inst.sub[0] = context.parsed.modifiers[0] == "fence::after_thread_sync";
    context.expectOperands(0);
    inst.handler = fence;
    return;
  case 6:
    return decodeTmemWait(context);
  case 7:
    inst.sub[0] = 1;
    return decodeTmemWait(context);
  case 8:
    return decodeTmemAccess(context, true);
  case 9:
    return decodeTmemAccess(context, false);
  case 10:
    return decodeTmemCopy(context);
  case 11:
    return decodeTmemMma(context);
  case 12:
    return decodeTmemShift(context);
  default:
    context.unsupported();
  }
}

} // namespace

void addTcgen05Instructions(InstructionTable &table) {
  table.add("tcgen05", decodeTcgen05);
}

} // namespace nvfp4::sim
