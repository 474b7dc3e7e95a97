//===- Cycles.cpp - the model of cycles -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Cycles.h. Warps run in the order of the times at which they may issue,
// one instruction at a time, and events at theirs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"
#include "nvfp4/Simulator/Machine/Warp.h"

#include <algorithm>
#include <charconv>

namespace nvfp4::sim {

namespace {

struct NamedCost {
  const char *name;
  uint64_t CycleCosts::*value;
};
constexpr NamedCost namedCosts[] = {
    {"instruction", &CycleCosts::instruction},
    {"wake", &CycleCosts::wake},
    {"turnaround", &CycleCosts::turnaround},
    {"copy-bytes", &CycleCosts::copyBytes},
    {"copy-latency", &CycleCosts::copyLatency},
    {"tensor-memory", &CycleCosts::tensorMemory},
    {"tensor-copy", &CycleCosts::tensorCopy},
    {"mma-tail", &CycleCosts::mmaTail},
    {"mma-pair-tail", &CycleCosts::mmaPairTail},
    {"link-bytes", &CycleCosts::linkBytes},
    {"link-latency", &CycleCosts::linkLatency},
};
constexpr uint64_t largestCost = 1'000'000'000;

/// Results of a tcgen05.mma are there this much earlier when A lies in tensor
/// memory.
constexpr uint64_t tmemOperandGain = 24;

std::string allNames() {
  std::string names;
  for (const NamedCost &cost : namedCosts)
    names += (names.empty() ? "" : ", ") + std::string(cost.name);
  return names;
}

} // namespace

std::string CycleCosts::set(const std::string &list) {
  CycleCosts changed = *this;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string item = list.substr(begin, end - begin);
    begin = end + 1;
    size_t equals = std::min(item.find('='), item.size());
    std::string name = item.substr(0, equals);
    const auto *found =
        std::find_if(std::begin(namedCosts), std::end(namedCosts),
                     [&](const NamedCost &cost) { return name == cost.name; });
    if (found == std::end(namedCosts))
      return "expected a cost of " + allNames() + ", but got '" + name + "'";
    bool isRate = found->value == &CycleCosts::copyBytes ||
                  found->value == &CycleCosts::linkBytes;
    uint64_t smallest = isRate ? 1 : 0;
    uint64_t value = 0;
    const char *text = item.data() + std::min(equals + 1, item.size());
    const char *last = item.data() + item.size();
    auto [stop, error] = std::from_chars(text, last, value);
    if (error != std::errc() || stop != last || value < smallest ||
        value > largestCost)
      return "expected " + name + "=NUMBER with a number from " +
             std::to_string(smallest) + " to " + std::to_string(largestCost) +
             ", but got '" + item + "'";
    changed.*found->value = value;
  }
  *this = changed;
  return {};
}

std::vector<std::pair<const char *, uint64_t>> CycleCosts::list() const {
  std::vector<std::pair<const char *, uint64_t>> all;
  for (const NamedCost &cost : namedCosts)
    all.emplace_back(cost.name, this->*cost.value);
  return all;
}

PipeCost CycleCosts::tcgen05Mma(unsigned m, unsigned n, unsigned ctas,
                                bool aInTmem, bool sparse) const {
  // A CTA of a pair multiplies its rows by all columns and reads half of B. One
  // CTA alone takes as long for 64 rows as for 128.
  uint64_t rows = m / ctas;
  uint64_t multiply = (ctas == 1 ? 128 : rows) * uint64_t{n} / 256;
  uint64_t columns = n / ctas * (sparse ? 2 : 1);
  uint64_t read = ((aInTmem ? 0 : rows) + columns) * 32 / 128;
  uint64_t tail = ctas == 2 ? mmaPairTail : mmaTail;
  return {std::max(multiply, read),
          tail - (aInTmem ? std::min(tail, tmemOperandGain) : 0)};
}

PipeCost CycleCosts::wgmma(unsigned n) const { return {n / 2, 0}; }

std::string describeCycles(const Kernel &kernel,
                           const RunStatistics &statistics) {
  return readableName(kernel.name) + ": about " +
         std::to_string(statistics.ticks) + " cycles, by a model, and " +
         std::to_string(statistics.warpInstructions) + " warp instructions";
}

uint64_t Machine::nextTime() const {
  // Where nothing can run a wait may have to time out, and that is now.
  if (events.empty() && ready.empty())
    return now;
  uint64_t time = ~uint64_t{0};
  if (!events.empty())
    time = events.top().time;
  for (Warp *warp : ready)
    time = std::min(
        time, std::max(warp->readyAt, warp->cta.issueFree[warp->index % 4]));
  return time;
}

Warp *Machine::pickWarp(unsigned &quantum) {
  if (options.delays != DelayMode::Cycles) {
    Warp *warp = ready[random.below(ready.size())];
    quantum = 1 + static_cast<unsigned>(random.below(64));
    return warp;
  }
  auto slot = [](Warp &warp) -> uint64_t & {
    return warp.cta.issueFree[warp.index % 4];
  };
  Warp *next = nullptr;
  uint64_t time = 0;
  for (Warp *warp : ready) {
    uint64_t at = std::max(warp->readyAt, slot(*warp));
    if (next && at >= time)
      continue;
    next = warp;
    time = at;
  }
  if (!events.empty() && events.top().time <= time) {
    now = std::max(now, events.top().time);
    return nullptr;
  }
  now = std::max(now, time);
  next->readyAt = now + options.costs.instruction;
  slot(*next) = now + 1;
  quantum = 1;
  return next;
}

} // namespace nvfp4::sim
