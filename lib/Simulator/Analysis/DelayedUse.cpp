//===- DelayedUse.cpp -------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward data flow: the state is, for each delayed register, the load it
// waits for. Joins keep any pending load.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Analysis/DelayedUse.h"

#include <map>
#include <set>

namespace nvfp4::sim {
namespace {

/// Where the value of a register that is not waited for comes from.
struct Origin {
  uint32_t load = noPc;
  bool indirect = false;
};
using Pending = std::map<int32_t, Origin>;

/// Applies one instruction; calls `found` for uses of pending registers.
template <typename F>
void step(const Effects &effect, uint32_t pc, Pending &pending, F found) {
  Origin passed;
  for (int32_t reg : effect.uses)
    if (auto it = pending.find(reg); it != pending.end()) {
      const Origin &origin = it->second;
      found(DelayedUse{pc, origin.load, reg, effect.computes, origin.indirect});
      passed = {origin.load, true};
    }
  if (effect.tmemWait)
    pending.clear();
  for (int32_t reg : effect.defs) {
    if (effect.tmemLoad)
      pending[reg] = {pc, false};
    else if (effect.computes && passed.load != noPc)
      pending[reg] = passed;
    else
      pending.erase(reg);
  }
}

} // namespace

std::vector<DelayedUse> findDelayedUses(const FlowGraph &graph,
                                        const std::vector<Effects> &effects) {
  std::vector<DelayedUse> uses;
  bool any = false;
  for (const Effects &effect : effects)
    any |= effect.tmemLoad;
  if (!any)
    return uses;
  std::vector<Pending> in(graph.blocks.size());
  std::vector<uint32_t> work;
  for (uint32_t b = static_cast<uint32_t>(graph.blocks.size()); b-- > 0;)
    work.push_back(b);
  auto ignore = [](const DelayedUse &) {};
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    Pending pending = in[b];
    for (uint32_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i)
      step(effects[i], i, pending, ignore);
    for (uint32_t successor : graph.blocks[b].successors) {
      size_t before = in[successor].size();
      in[successor].insert(pending.begin(), pending.end());
      if (in[successor].size() != before)
        work.push_back(successor);
    }
  }
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Pending pending = in[b];
    for (uint32_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i)
      step(effects[i], i, pending, [&](const DelayedUse &use) {
        if (seen.insert({use.use, use.load}).second)
          uses.push_back(use);
      });
  }
  return uses;
}

} // namespace nvfp4::sim
