//===- Interpreter.cpp - executing instructions of one warp -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner loop, and the checks that only marked instructions need: lanes
// that must execute together, and reads of registers never written.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Machine.h"

#include <algorithm>
#include <cstdio>

namespace nvfp4::sim {

void Machine::runWarp(Warp &warp, unsigned quantum) {
  if (!warp.selectGroup(chooseGroup(warp))) {
    removeReady(warp);
    return;
  }
  const Inst *code = kernel.code.data();
  while (quantum-- > 0) {
    LaneGroup *group = &warp.group();
    if (group->pc == group->reconvergePc) {
      warp.reconverge();
      if (!warp.selectGroup(chooseGroup(warp)))
        break;
      continue;
    }
    const Inst &inst = code[group->pc];
    LaneMask mask = group->mask;
    if (inst.guard.valid() && !(inst.flags & FlagOwnGuard)) {
      mask &= warp.predicate(inst.guard);
      if (!mask) {
        ++group->pc;
        continue;
      }
    }
    now += options.delays != DelayMode::Cycles;
    ++result.statistics.warpInstructions;
    result.statistics.threadInstructions += std::popcount(mask);
    if (options.trace)
      traceStep(warp, inst, mask);
    Step step = inst.flags ? checkedStep(warp, inst, mask)
                           : inst.handler(warp, inst, mask);
    switch (step) {
    case Step::Next:
      ++warp.group().pc;
      break;
    case Step::Jump:
      if (warp.groups.size() > 1 || warp.groups.empty() ||
          warp.group().state != LaneGroup::State::Ready)
        if (!warp.selectGroup(chooseGroup(warp))) {
          removeReady(warp);
          return;
        }
      break;
    case Step::Block:
      if (!warp.selectGroup(chooseGroup(warp))) {
        removeReady(warp);
        return;
      }
      break;
    case Step::Stop:
      return;
    }
  }
  if (!warp.hasReadyGroup())
    removeReady(warp);
}

Step Machine::checkedStep(Warp &warp, const Inst &inst, LaneMask &mask) {
  if ((inst.flags & FlagTracked) && !checkTracked(warp, mask))
    return Step::Stop;
  if ((inst.flags & FlagUsesLoads) && !warp.openLoads.empty())
    closeLoads(warp);
  if (!(inst.flags & (FlagAligned | FlagMemberMask)))
    return inst.handler(warp, inst, mask);
  LaneMask own = mask;
  if (!gatherMembers(warp, inst, mask))
    return warp.groups.empty() || stopFlag ? Step::Stop : Step::Block;
  if (checker)
    checker->warpSynced(warp, /*memory=*/false);
  Step step = inst.handler(warp, inst, mask);
  if (own == mask)
    return step;
  // Other groups took part: they go on where the instruction ends.
  uint32_t pc = warp.group().pc;
  for (size_t i = 0; i < warp.groups.size(); ++i) {
    LaneGroup &other = warp.groups[i];
    if (i == warp.current || other.state != LaneGroup::State::Parked ||
        other.pc != pc)
      continue;
    other.state = step == Step::Block ? LaneGroup::State::Parked
                                      : LaneGroup::State::Ready;
    if (step == Step::Next)
      ++other.pc;
  }
  return step;
}

bool Machine::gatherMembers(Warp &warp, const Inst &inst, LaneMask &mask) {
  LaneMask members = warp.live;
  LaneMask guard = allLanes;
  if (inst.guard.valid())
    guard = warp.predicate(inst.guard);
  if (inst.flags & FlagMemberMask) {
    const uint32_t *plane = warp.narrow(inst.op[inst.memberOperand]);
    unsigned first = std::countr_zero(mask);
    members &= plane[first];
    if (mask & ~plane[first])
      return warp.fault(ReportKind::IllegalOperand,
                        "a lane executes the instruction but is not in its "
                        "member mask",
                        std::countr_zero(mask & ~plane[first])) != Step::Stop;
  }
  LaneGroup &own = warp.group();
  LaneMask present = mask;
  for (const LaneGroup &other : warp.groups)
    if (&other != &own && other.state == LaneGroup::State::Parked &&
        other.pc == own.pc)
      present |= other.mask & guard;
  if ((present & members) == members) {
    mask = present & members;
    return true;
  }
  own.state = LaneGroup::State::Parked;
  own.wait = WaitKind::WarpSync;
  own.waitDetail = members & ~present;
  return false;
}

void Machine::closeLoads(Warp &warp) {
  if (options.profile == CheckProfile::Strict)
    return;
  const auto &used = kernel.loadsUsed.at(warp.group().pc);
  std::vector<uint32_t> complete;
  std::erase_if(warp.openLoads, [&](std::pair<uint32_t, uint32_t> load) {
    if (std::find(used.begin(), used.end(), load.first) == used.end())
      return false;
    complete.push_back(load.second);
    return true;
  });
  checker->operationsWaited(warp, complete, /*readOnly=*/true);
}

bool Machine::checkTracked(Warp &warp, LaneMask mask) {
  const TrackedAccess &access = kernel.trackedAccesses.at(warp.group().pc);
  bool strict = options.profile == CheckProfile::Strict;
  for (uint32_t use : access.uses) {
    LaneMask missing = mask & ~warp.trackedWritten[use];
    if (!missing)
      continue;
    // Compilers hoist computations to where their operands are not set yet.
    if (!strict && kernel.code[warp.group().pc].flags & FlagComputes) {
      for (uint32_t def : access.defs)
        warp.trackedWritten[def] &= ~missing;
      mask &= ~missing;
      continue;
    }
    warp.note(ReportKind::UninitializedRead,
              "register " + kernel.trackedRegisters[use].second +
                  " is read before it is written",
              std::countr_zero(missing));
    warp.trackedWritten[use] |= missing;
  }
  for (uint32_t def : access.defs)
    warp.trackedWritten[def] |= mask;
  return true;
}

void Machine::traceStep(Warp &warp, const Inst &inst, LaneMask mask) {
  (void)inst;
  char bits[16];
  std::snprintf(bits, sizeof bits, "%08x", mask);
  *options.trace << now << " " << warp.describe() << " " << bits << " "
                 << describePlace(kernel, warp.group().pc) << "\n";
}

} // namespace nvfp4::sim
