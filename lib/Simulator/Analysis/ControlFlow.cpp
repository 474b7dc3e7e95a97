//===- ControlFlow.cpp - basic blocks and post-dominators -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Post-dominators by the iterative two-finger method on the reversed graph
// with one virtual exit.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Analysis/ControlFlow.h"

#include <algorithm>

namespace nvfp4::sim {

FlowGraph buildFlowGraph(const std::vector<Effects> &effects,
                         const std::vector<bool> &guarded) {
  FlowGraph graph;
  auto count = static_cast<uint32_t>(effects.size());
  std::vector<bool> leader(count + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    if (effects[i].flow == Flow::None)
      continue;
    leader[i + 1] = true;
    for (uint32_t target : effects[i].targets)
      leader[target] = true;
  }
  graph.blockOf.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (leader[i]) {
      if (!graph.blocks.empty())
        graph.blocks.back().end = i;
      graph.blocks.emplace_back();
      graph.blocks.back().begin = i;
    }
    graph.blockOf[i] = static_cast<uint32_t>(graph.blocks.size()) - 1;
  }
  if (!graph.blocks.empty())
    graph.blocks.back().end = count;

  auto link = [&](uint32_t from, uint32_t toPc) {
    if (toPc >= count) { // running off the end ends the kernel
      graph.blocks[from].exits = true;
      return;
    }
    uint32_t to = graph.blockOf[toPc];
    auto &successors = graph.blocks[from].successors;
    if (std::find(successors.begin(), successors.end(), to) != successors.end())
      return;
    successors.push_back(to);
    graph.blocks[to].predecessors.push_back(from);
  };
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    uint32_t last = graph.blocks[b].end - 1;
    const Effects &effect = effects[last];
    for (uint32_t target : effect.targets)
      link(b, target);
    if (effect.flow == Flow::Exit)
      graph.blocks[b].exits = true;
    if (effect.flow == Flow::None || guarded[last])
      link(b, last + 1);
  }
  return graph;
}

std::vector<uint32_t> immediatePostDominators(const FlowGraph &graph) {
  auto count = static_cast<uint32_t>(graph.blocks.size());
  const uint32_t exit = count;
  // Reverse post-order of the reversed graph, from the virtual exit.
  std::vector<uint32_t> order;
  std::vector<uint32_t> position(count + 1, noPc);
  std::vector<uint8_t> state(count + 1, 0);
  std::vector<std::pair<uint32_t, size_t>> stack;
  std::vector<uint32_t> exits;
  auto ends = [&](uint32_t b) {
    return graph.blocks[b].exits && graph.blocks[b].successors.empty();
  };
  for (uint32_t b = 0; b < count; ++b)
    if (ends(b))
      exits.push_back(b);
  auto next = [&](uint32_t node) -> const std::vector<uint32_t> & {
    return node == exit ? exits : graph.blocks[node].predecessors;
  };
  stack.push_back({exit, 0});
  state[exit] = 1;
  while (!stack.empty()) {
    auto &[node, index] = stack.back();
    const std::vector<uint32_t> &list = next(node);
    if (index < list.size()) {
      uint32_t child = list[index++];
      if (!state[child]) {
        state[child] = 1;
        stack.push_back({child, 0});
      }
      continue;
    }
    order.push_back(node);
    stack.pop_back();
  }
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i)
    position[order[i]] = i;

  std::vector<uint32_t> dominator(count + 1, noPc);
  dominator[exit] = exit;
  auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (position[a] > position[b])
        a = dominator[a];
      while (position[b] > position[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : order) {
      if (node == exit)
        continue;
      uint32_t merged = ends(node) ? exit : noPc;
      for (uint32_t successor : graph.blocks[node].successors)
        if (dominator[successor] != noPc)
          merged = merged == noPc ? successor : intersect(merged, successor);
      if (merged != dominator[node]) {
        dominator[node] = merged;
        changed = true;
      }
    }
  }
  dominator.resize(count);
  for (uint32_t &d : dominator)
    if (d == exit)
      d = noPc;
  return dominator;
}

} // namespace nvfp4::sim
