//===- Exploration.cpp - a machine whose steps are chosen -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of an explorer: a warp goes on until it has used something that
// others can use, or waits, or has ended.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Exploration.h"

#include <algorithm>

namespace nvfp4::sim {

void Machine::listCandidates(std::vector<Candidate> &candidates) {
  startClusters();
  Explorer &explorer = *options.explorer;
  for (Warp *warp : ready) {
    const LastRead &last = lastReads[warp];
    bool waits = last.isRepeated && last.changes == explorer.changes();
    candidates.push_back(
        {this, warp, 0, explorer.warp(memory.device, warp->agent), waits});
  }
  for (size_t i = 0; i < effects.size(); ++i) {
    const void *chain = effects[i].chain;
    bool isFirst = !chain || std::none_of(effects.begin(), effects.begin() + i,
                                          [&](const Effect &effect) {
                                            return effect.chain == chain;
                                          });
    if (isFirst && !effects[i].background)
      candidates.push_back({this, nullptr, i, effects[i].agent, false});
  }
}

void Machine::take(const Candidate &candidate) {
  Explorer &explorer = *options.explorer;
  if (!candidate.warp) {
    std::function<void()> perform =
        std::move(effects[candidate.effect].perform);
    effects.erase(effects.begin() + candidate.effect);
    perform();
    progress();
    return;
  }
  Warp &warp = *candidate.warp;
  ++lastReads[&warp].steps;
  do {
    runWarp(warp, 1);
    bool isOver =
        result.statistics.warpInstructions > options.maximumInstructions;
    if (isOver || isStalled())
      reportNoEnd(warp, isOver);
  } while (!stopFlag && !explorer.hasUsed() && warp.readyIndex >= 0);
  LastRead &last = lastReads[&warp];
  std::vector<uint64_t> objects = explorer.onlyRead();
  uint32_t pc = warp.groups.empty() ? 0 : warp.group().pc;
  last.isRepeated = !objects.empty() && objects == last.objects &&
                    pc == last.pc && last.changes == explorer.changes();
  last.objects = std::move(objects);
  last.pc = pc;
  last.changes = explorer.changes();
}

bool Machine::hasEnded() const {
  return ready.empty() && liveClusters == 0 && waitingClusters.empty() &&
         effects.empty() && events.empty();
}

bool Machine::goOn(bool mayReport) {
  if (!effects.empty()) {
    std::function<void()> perform = std::move(effects.front().perform);
    effects.erase(effects.begin());
    perform();
    return true;
  }
  if (ready.empty() && liveClusters != 0 && unblock())
    return true;
  if (!mayReport || liveClusters == 0)
    return false;
  if (ready.empty())
    reportDeadlock();
  else
    reportNoEnd(*ready.front(), /*isOver=*/false);
  return true;
}

void Machine::usesWord(const Cta *shared, uint64_t address, Explorer::Use use) {
  if (!options.explorer)
    return;
  Explorer::Object object =
      shared ? objectOf(*shared, Aspect::Word,
                        static_cast<uint32_t>(address / 4), 0)
             : address / 4;
  options.explorer->uses(object, use);
}

uint64_t Machine::objectOf(const Cta &cta, Aspect aspect, uint32_t index,
                           uint64_t phase) {
  const Warp &first = *cta.warps.front();
  uint64_t number = uint64_t{first.machine.memory.device} << 16 | first.agent;
  number = number << 3 | static_cast<uint64_t>(aspect);
  number = number << 18 | index;
  // Words of global memory have no top bit.
  return uint64_t{1} << 63 | (number << 20 ^ phase);
}

bool Machine::seesNextPhase(Warp &warp, uint32_t sharedAddress,
                            uint64_t complete) {
  uint64_t &seen = lastReads[&warp].seen[sharedAddress];
  bool isNext = complete <= seen + 1;
  seen = complete;
  return isNext;
}

void exploreSchedule(Explorer &explorer, std::vector<Machine *> running,
                     const std::function<void(Machine &)> &ended) {
  std::vector<Machine::Candidate> candidates;
  std::vector<Explorer::Agent> enabled, waiting;
  while (!running.empty()) {
    candidates.clear();
    enabled.clear();
    waiting.clear();
    for (Machine *machine : running)
      machine->listCandidates(candidates);
    for (const Machine::Candidate &candidate : candidates)
      (candidate.waits ? waiting : enabled).push_back(candidate.agent);
    if (!enabled.empty()) {
      Explorer::Agent agent = explorer.choose(enabled, waiting);
      if (explorer.isRedundant() || explorer.hasDiverged())
        return;
      auto chosen = std::find_if(
          candidates.begin(), candidates.end(),
          [&](const auto &candidate) { return candidate.agent == agent; });
      chosen->machine->take(*chosen);
      if (chosen->machine->hasStopped())
        return;
      continue;
    }
    auto through = std::find_if(
        running.begin(), running.end(),
        [](const Machine *machine) { return machine->hasEnded(); });
    if (through != running.end()) {
      Machine *machine = *through;
      running.erase(through);
      if (ended)
        ended(*machine);
      continue;
    }
    bool wentOn = false;
    for (bool mayReport : {false, true})
      for (Machine *machine : running)
        wentOn = wentOn || machine->goOn(mayReport);
    if (!wentOn ||
        std::any_of(running.begin(), running.end(), [](const Machine *machine) {
          return machine->hasStopped();
        }))
      return;
  }
}

} // namespace nvfp4::sim
