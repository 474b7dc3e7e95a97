//===- RemoteWrites.cpp - memory of other devices ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pending writes are kept by line. An event performs a write together with
// earlier ones of its line; it finds nothing where that has been done already.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/RemoteWrites.h"

#include "nvfp4/Simulator/Machine/Access.h"
#include "nvfp4/Simulator/Machine/Explorer.h"

#include <algorithm>
#include <cstring>

namespace nvfp4::sim {

void RemoteWrites::write(Warp &warp, const Place &place, const void *data,
                         unsigned size, unsigned lane, MemoryOrder order,
                         bool mapRelease) {
  PendingWrite pending;
  if (Checker *checker = machine.checker.get()) {
    WriteInfo info;
    info.mapRelease = mapRelease;
    info.pending = &pending;
    checker->threadAccess(warp, place, size, Access::Write, lane, order, info);
  }
  const auto *bytes = static_cast<const uint8_t *>(data);
  perform(warp, place, pending,
          [place, copy = std::vector<uint8_t>(bytes, bytes + size)] {
            std::copy(copy.begin(), copy.end(), place.data);
            place.written->set(place.writtenOffset, copy.size());
          });
}

void RemoteWrites::perform(Warp &warp, const Place &place,
                           const PendingWrite &write,
                           std::function<void()> effect) {
  // The checker finds writes that publish nothing where they matter.
  bool background = !write.published;
  uint64_t line = place.address / lineBytes, number = nextNumber++;
  lines[line].push_back({number, place.address, write, std::move(effect)});
  ++warp.cta.cluster->pendingOperations;
  Cluster *cluster = warp.cta.cluster;
  // A write is a packet with some bytes of address.
  auto takeEffect = [=, this] {
    --cluster->pendingOperations;
    auto found = lines.find(line);
    if (found == lines.end())
      return;
    size_t count = 0;
    while (count < found->second.size() &&
           found->second[count].number <= number)
      ++count;
    performFirst(found->second, count);
    if (found->second.empty())
      lines.erase(found);
  };
  machine.schedule(delayTo(place.address, 32), takeEffect, /*chain=*/nullptr,
                   background);
}

void RemoteWrites::performFirst(Line &line, size_t count) {
  for (; count > 0; --count) {
    Pending pending = std::move(line.front());
    line.pop_front();
    pending.effect();
    if (pending.write.published)
      machine.usesWord(/*shared=*/nullptr, pending.address,
                       pending.write.isSum ? Explorer::Use::Arrive
                                           : Explorer::Use::Write);
    if (machine.checker)
      machine.checker->writeTookEffect(pending.write, pending.address);
    machine.progress();
  }
}

void RemoteWrites::beforeAccess(Warp &warp, uint64_t address) {
  auto found = lines.find(address / lineBytes);
  if (found != lines.end()) {
    performFirst(found->second, found->second.size());
    lines.erase(found);
  }
  if (machine.options.delays == DelayMode::Cycles)
    warp.readyAt = std::max(
        warp.readyAt, machine.now + 2 * machine.options.costs.linkLatency);
}

void RemoteWrites::beforeRelease(Warp &warp) {
  for (auto line = lines.begin(); line != lines.end();) {
    Line &writes = line->second;
    size_t count = writes.size();
    if (machine.checker)
      while (count > 0 &&
             !machine.checker->isBefore(writes[count - 1].write, warp))
        --count;
    performFirst(writes, count);
    line = writes.empty() ? lines.erase(line) : std::next(line);
  }
  if (machine.options.delays == DelayMode::Cycles)
    warp.readyAt = std::max(warp.readyAt, lastEffect);
}

bool RemoteWrites::isSlowLink(uint64_t address) const {
  uint64_t to = (address - globalBase) / deviceSpan;
  uint64_t link =
      machine.options.seed + machine.memory.device * deviceLimit + to;
  return Random(link).next() >> 63;
}

uint64_t RemoteWrites::delayTo(uint64_t address, uint64_t bytes) {
  uint64_t most = std::max<uint64_t>(machine.options.maximumDelay, 1);
  switch (machine.options.delays) {
  case DelayMode::Immediate:
    return 0;
  case DelayMode::Uniform:
    return 1 + machine.random.below(most);
  case DelayMode::Adversarial:
    return isSlowLink(address) ? 4 * most + machine.random.below(4 * most)
                               : 1 + machine.random.below(16);
  case DelayMode::Cycles:
    break;
  }
  const CycleCosts &costs = machine.options.costs;
  uint64_t rate = std::max<uint64_t>(costs.linkBytes, 1);
  outFree = std::max(machine.now, outFree) + (bytes + rate - 1) / rate;
  lastEffect = outFree + costs.linkLatency;
  return lastEffect - machine.now;
}

uint64_t RemoteWrites::linkDelay(AsyncKind kind, uint64_t address,
                                 uint64_t bytes) {
  Allocation *allocation = machine.memory.find(address, 1);
  if (!allocation || allocation->owner == &machine.memory)
    return 0;
  bool isWrite = kind == AsyncKind::CopyOutWrite;
  if (machine.options.delays == DelayMode::Adversarial)
    return isSlowLink(address) ? 4 * machine.options.maximumDelay : 0;
  if (machine.options.delays != DelayMode::Cycles)
    return 0;
  const CycleCosts &costs = machine.options.costs;
  uint64_t rate = std::max<uint64_t>(costs.linkBytes, 1);
  uint64_t &free = isWrite ? outFree : inFree;
  free = std::max(machine.now, free) + (bytes + rate - 1) / rate;
  return free - machine.now + costs.linkLatency * (isWrite ? 1 : 2);
}

} // namespace nvfp4::sim
