//===- Control.cpp - branches and ends --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bra, brx.idx, ret, exit, trap, brkpt, nanosleep, and no-ops: pmevent,
// setmaxnreg (its register pool is checked), griddepcontrol.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {
namespace {

Step branch(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneMask taken = mask;
  if (inst.guard.valid())
    taken &= warp.predicate(inst.guard);
  if (!taken)
    return Step::Next;
  auto target = static_cast<uint32_t>(inst.immediate);
  if (taken == mask)
    warp.group().pc = target;
  else
    warp.diverge(taken, target);
  return Step::Jump;
}

void decodeBra(DecodeContext &context) {
  context.take("uni");
  if (!context.expectOperands(1))
    return;
  const Operand &label = context.operand(0);
  if (label.kind != Operand::Kind::Label) {
    context.error(label, "unknown label '" + label.name + "'");
    return;
  }
  context.inst.immediate = label.target;
  context.inst.flags |= FlagOwnGuard;
  context.inst.handler = branch;
  context.effects.flow = Flow::Branch;
  context.effects.targets.push_back(static_cast<uint32_t>(label.target));
}

struct TableAttributes : InstAttributes {
  std::vector<uint32_t> targets;
};

Step branchIndexed(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &targets = inst.attr<TableAttributes>().targets;
  const uint32_t *index = warp.narrow(inst.op[0]);
  LaneMask guard = inst.guard.valid() ? warp.predicate(inst.guard) : allLanes;
  uint32_t here = warp.group().pc;
  for (LaneMask rest = mask; rest;) {
    unsigned lane = std::countr_zero(rest);
    bool jumps = guard >> lane & 1;
    uint32_t target = here + 1;
    LaneMask same = rest & ~guard;
    if (jumps) {
      if (index[lane] >= targets.size())
        return warp.fault(ReportKind::IllegalOperand,
                          "expected a branch index below " +
                              std::to_string(targets.size()) + ", but got " +
                              std::to_string(index[lane]),
                          static_cast<int>(lane));
      target = targets[index[lane]];
      same = 0;
      for (LaneMask r = rest & guard; r; r &= r - 1)
        if (index[std::countr_zero(r)] == index[lane])
          same |= r & -r;
    }
    rest &= ~same;
    if (rest)
      warp.splitOff(same, target, here);
    else
      warp.group().pc = target;
  }
  return Step::Jump;
}

void decodeBrx(DecodeContext &context) {
  context.take("idx");
  context.take("uni");
  if (!context.expectOperands(2))
    return;
  auto &attributes = context.makeAttributes<TableAttributes>();
  for (const TargetList &list : context.tables.function.targetLists)
    if (list.name == context.operand(1).name)
      attributes.targets.assign(list.targets.begin(), list.targets.end());
  if (attributes.targets.empty()) {
    context.error("unknown target list '" + context.operand(1).name + "'");
    return;
  }
  context.inst.op[0] = context.source(0, Type::B32);
  context.inst.flags |= FlagOwnGuard;
  context.inst.handler = branchIndexed;
  context.effects.flow = Flow::IndexedBranch;
  context.effects.targets = attributes.targets;
}

Step exitThread(Warp &warp, const Inst &, LaneMask mask) {
  LaneGroup &group = warp.group();
  // Lanes whose guard is false go on.
  if (mask != group.mask)
    ++group.pc;
  warp.exitLanes(mask);
  return Step::Jump;
}

void decodeExit(DecodeContext &context) {
  context.take("uni");
  if (!context.expectOperands(0))
    return;
  context.inst.handler = exitThread;
  context.effects.flow = Flow::Exit;
}

Step trap(Warp &warp, const Inst &, LaneMask mask) {
  return warp.fault(ReportKind::Trap, "the program executes a trap",
                    std::countr_zero(mask));
}

void decodeTrap(DecodeContext &context) {
  context.inst.handler = trap;
  context.effects.flow = Flow::None;
}

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

void decodeNanosleep(DecodeContext &context) {
  context.expectType({Type::U32});
  if (context.expectOperands(1))
    context.inst.op[0] = context.source(0, Type::U32);
  context.inst.handler = nothing;
}

void decodePmevent(DecodeContext &context) {
  context.take("mask");
  context.inst.handler = nothing;
}

void decodeSetmaxnreg(DecodeContext &context) {
  context.expectAny({"inc", "dec"});
  context.take("sync");
  context.take("aligned");
  context.expectType({Type::U32});
  if (!context.expectOperands(1))
    return;
  int64_t count = context.literal(0);
  if (count < 24 || count > 256 || count % 8)
    context.error("expected a register count from 24 to 256 that is a multiple "
                  "of 8, but got " +
                  std::to_string(count));
  context.inst.flags |= FlagAligned;
  context.inst.handler = nothing;
}

Step gridWait(Warp &warp, const Inst &, LaneMask) {
  if (Checker *checker = warp.machine.checker.get())
    checker->gridWaited(warp);
  return Step::Next;
}

void decodeGriddepcontrol(DecodeContext &context) {
  bool waits = context.expectAny({"launch_dependents", "wait"}) == 1;
  context.expectOperands(0);
  context.inst.handler = waits ? gridWait : nothing;
}

} // namespace

void addControlInstructions(InstructionTable &table) {
  table.add("bra", decodeBra);
  table.add("brx", decodeBrx);
  table.add("ret", decodeExit);
  table.add("exit", decodeExit);
  table.add("trap", decodeTrap);
  table.add("brkpt", decodeTrap);
  table.add("nanosleep", decodeNanosleep);
  table.add("pmevent", decodePmevent);
  table.add("setmaxnreg", decodeSetmaxnreg);
  table.add("griddepcontrol", decodeGriddepcontrol);
}

} // namespace nvfp4::sim
