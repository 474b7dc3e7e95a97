//===- Deadlock.cpp - who waits for what ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For when no warp can run and no asynchronous operation is outstanding, and
// for when all run in circles.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Access.h"
#include "nvfp4/Simulator/Machine/System.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

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

/// "the word at global address 0x10000000000 (byte 0 of 'flags'), which holds
/// 3".
std::string describeWord(Warp &warp, uint64_t address, unsigned size) {
  uint64_t value = 0;
  std::string text = "the word at address ";
  char number[24];
  std::snprintf(number, sizeof number, "0x%llx",
                static_cast<unsigned long long>(address));
  text += number;
  Machine &machine = warp.machine;
  const Allocation *found =
      isGlobalAddress(address) ? machine.memory.find(address, size) : nullptr;
  if (!found)
    return text;
  std::memcpy(&value, found->data + (address - found->address),
              std::min<unsigned>(size, sizeof value));
  std::string name = found->name.empty() ? "allocation" : found->name;
  text += " (byte " + std::to_string(address - found->address) + " of '" +
          name + "'";
  if (machine.system)
    text += " of device " + std::to_string(found->owner->device);
  return text + "), which holds " + std::to_string(value);
}

} // namespace

std::string Machine::describeRound(Warp &warp) {
  // A round of the loop shows which word it loads.
  constexpr unsigned mostInstructions = 4096;
  for (unsigned i = 0; i < mostInstructions && !stopFlag; ++i) {
    if (!warp.selectGroup(chooseGroup(warp)))
      break;
    LaneGroup &group = warp.group();
    uint64_t address = 0;
    unsigned size = 0;
    if (group.pc != group.reconvergePc &&
        findPolledWord(warp, kernel.code[group.pc], address, size))
      return describeWord(warp, address, size);
    runWarp(warp, 1);
  }
  return "nothing known";
}

std::string Machine::describeWaiting(unsigned &lines) {
  std::string text;
  unsigned left = 0;
  for (auto &cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps) {
        // Running a warp changes its groups.
        std::vector<LaneGroup> groups = warp->groups;
        for (const LaneGroup &group : groups) {
          if (lines == 0) {
            ++left;
            continue;
          }
          --lines;
          bool isReady = group.state == LaneGroup::State::Ready;
          char mask[16];
          std::snprintf(mask, sizeof mask, "%08x", group.mask);
          text += "\n    " + warp->describe() + " lanes " + mask + " at " +
                  describePlace(kernel, group.pc) + " for " +
                  (isReady ? describeRound(*warp)
                           : describeWait(*this, *warp, group));
        }
      }
  if (left)
    text += "\n    and " + std::to_string(left) + " more";
  return text;
}

void Machine::reportDeadlock() {
  Report report;
  report.kind = ReportKind::Deadlock;
  for (auto &cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps)
        if (report.pc == noPc && !warp->groups.empty()) {
          report.pc = warp->groups.front().pc;
          report.where = warp->describe();
        }
  unsigned lines = 24;
  report.message =
      "nothing can run; waiting are" +
      (system ? system->describeWaiting() : describeWaiting(lines));
  stop(std::move(report));
}

void Machine::reportNoEnd(Warp &warp, bool isOver) {
  Report report;
  report.kind = isOver ? ReportKind::InstructionLimit : ReportKind::Livelock;
  report.pc = warp.groups.empty() ? noPc : warp.group().pc;
  report.where = warp.describe();
  if (isOver) {
    report.message = "the kernel has not ended after the limit of " +
                     std::to_string(options.maximumInstructions) +
                     " warp instructions (--max-instructions)";
    return stop(std::move(report));
  }
  unsigned lines = 24;
  report.message =
      "no store, arrival or completion in the last " +
      std::to_string(now - lastProgress) + " warp instructions; waiting are" +
      (system ? system->describeWaiting() : describeWaiting(lines));
  stop(std::move(report));
}

} // namespace nvfp4::sim
