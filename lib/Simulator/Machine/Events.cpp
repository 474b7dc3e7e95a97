//===- Events.cpp - asynchronous operations in time -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delays by mode, the event queue, and the tensor pipe, which completes its
// operations in the order of issue.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/Machine.h"
#include "nvfp4/Simulator/Machine/RemoteWrites.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

#include <algorithm>

namespace nvfp4::sim {

void Machine::schedule(uint64_t delay, std::function<void()> effect,
                       const void *chain, bool background) {
  if (options.explorer) {
    effects.push_back(
        {options.explorer->started(), chain, background, std::move(effect)});
    return;
  }
  if (options.timeline)
    options.timeline->operationEnds(now + delay);
  if (options.delays == DelayMode::Immediate) {
    effect();
    progress();
    return;
  }
  events.push({now + delay, nextSequence++, std::move(effect)});
}

/// The model of cycles: copies queue for the copy engine of their SM.
static uint64_t costOf(const CycleCosts &costs, AsyncKind kind, uint64_t now,
                       Cta &cta, uint64_t bytes) {
  if (kind == AsyncKind::TmemLoadStore)
    return costs.tensorMemory;
  uint64_t rate = std::max<uint64_t>(costs.copyBytes, 1);
  if (kind == AsyncKind::CopyIn || kind == AsyncKind::CopyOutRead)
    cta.copyFree = std::max(now, cta.copyFree) + (bytes + rate - 1) / rate;
  uint64_t queued = std::max(now, cta.copyFree) - now;
  return kind == AsyncKind::CopyOutRead ? queued : queued + costs.copyLatency;
}

uint64_t Machine::delayFor(AsyncKind kind, Cta &cta, uint64_t bytes) {
  uint64_t most = std::max<uint64_t>(options.maximumDelay, 1);
  switch (options.delays) {
  case DelayMode::Immediate:
    return 0;
  case DelayMode::Uniform:
    if (kind == AsyncKind::TensorPipe)
      most = std::max<uint64_t>(most / 8, 1);
    return 1 + random.below(most);
  case DelayMode::Adversarial:
    break;
  case DelayMode::Cycles:
    return costOf(options.costs, kind, now, cta, bytes);
  }
  // Each seed favours one class of operations and starves another.
  bool slow = (options.seed >> (static_cast<unsigned>(kind) % 6)) & 1;
  if (kind == AsyncKind::CopyOutWrite || kind == AsyncKind::CopyOutRead)
    slow = slow || options.seed % 2 == 0;
  return slow ? 4 * most + random.below(4 * most) : 1 + random.below(16);
}

uint64_t Machine::delayFor(AsyncKind kind, Cta &cta, uint64_t bytes,
                           uint64_t globalAddress) {
  uint64_t delay = delayFor(kind, cta, bytes);
  if (remoteWrites)
    delay += remoteWrites->linkDelay(kind, globalAddress, bytes);
  return delay;
}

bool Machine::timesOut() {
  if (options.explorer)
    return false;
  bool isRandom = options.delays == DelayMode::Uniform ||
                  options.delays == DelayMode::Adversarial;
  return isRandom && random.below(4) == 0;
}

void Machine::scheduleOnPipe(Cta &cta, std::function<void()> effect,
                             PipeCost cost, bool usesMemory) {
  uint64_t time = std::max(now, cta.pipeTime);
  if (options.delays == DelayMode::Cycles) {
    cta.pipeFree = std::max(now, cta.pipeFree) + cost.interval;
    time = std::max(time, cta.pipeFree + cost.tail);
  } else {
    time += delayFor(AsyncKind::TensorPipe, cta);
  }
  if (options.delays == DelayMode::Immediate)
    time = now;
  cta.pipeTime = time;
  cta.pipePending += usesMemory;
  Cluster *cluster = cta.cluster;
  ++cluster->pendingOperations;
  Cta *owner = &cta;
  schedule(
      time - now,
      [=, effect = std::move(effect)] {
        effect();
        owner->pipePending -= usesMemory;
        --cluster->pendingOperations;
      },
      owner);
}

void Machine::runEvents() {
  while (!events.empty() && events.top().time <= now && !stopFlag) {
    std::function<void()> effect =
        std::move(const_cast<Event &>(events.top()).effect);
    events.pop();
    effect();
    progress();
  }
}

void Machine::wake(Warp &warp) {
  if (options.explorer)
    options.explorer->wakes(options.explorer->warp(memory.device, warp.agent));
  warp.wake();
  if (warp.hasReadyGroup())
    makeReady(warp);
}

void Machine::wake(WaitList &list) {
  std::vector<Warp *> warps = std::move(list.warps);
  list.warps.clear();
  for (Warp *warp : warps)
    wake(*warp);
}

void Machine::makeReady(Warp &warp) {
  if (warp.readyIndex >= 0)
    return;
  warp.readyAt = std::max(warp.readyAt, now + options.costs.wake);
  warp.readyIndex = static_cast<int32_t>(ready.size());
  ready.push_back(&warp);
}

void Machine::removeReady(Warp &warp) {
  if (warp.readyIndex < 0)
    return;
  Warp *last = ready.back();
  ready[warp.readyIndex] = last;
  last->readyIndex = warp.readyIndex;
  ready.pop_back();
  warp.readyIndex = -1;
}

} // namespace nvfp4::sim
