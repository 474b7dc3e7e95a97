//===- ControlFlowTest.cpp - flow graph and post-dominators -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Post-dominators of hand-drawn graphs, and of random graphs against the
// definition: d post-dominates b when b cannot reach the exit without d.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Analysis/ControlFlow.h"

#include <algorithm>
#include <gtest/gtest.h>

#include <random>

using namespace nvfp4::sim;

namespace {

/// Whether `from` can reach an exit without passing `without`.
bool reachesExit(const FlowGraph &graph, uint32_t from, uint32_t without) {
  std::vector<bool> seen(graph.blocks.size(), false);
  std::vector<uint32_t> work;
  if (from != without)
    work.push_back(from);
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    if (seen[b])
      continue;
    seen[b] = true;
    if (graph.blocks[b].exits && graph.blocks[b].successors.empty())
      return true;
    for (uint32_t s : graph.blocks[b].successors)
      if (s != without)
        work.push_back(s);
  }
  return false;
}

TEST(ControlFlow, RandomGraphsMatchTheDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    uint32_t count = 3 + random() % 12;
    std::vector<Effects> effects(count);
    std::vector<bool> guarded(count);
    for (uint32_t i = 0; i < count; ++i) {
      unsigned kind = random() % 4;
      guarded[i] = random() % 3 != 0;
      if (kind == 0) {
        effects[i].flow = Flow::Branch;
        effects[i].targets = {static_cast<uint32_t>(random() % count)};
      } else if (kind == 1 && random() % 3 == 0) {
        effects[i].flow = Flow::Exit;
      }
    }
    FlowGraph graph = buildFlowGraph(effects, guarded);
    std::vector<uint32_t> dominators = immediatePostDominators(graph);
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      if (!reachesExit(graph, b, noPc))
        continue;
      std::vector<uint32_t> postDominators;
      for (uint32_t d = 0; d < graph.blocks.size(); ++d)
        if (d != b && !reachesExit(graph, b, d))
          postDominators.push_back(d);
      if (dominators[b] == noPc) {
        EXPECT_TRUE(postDominators.empty());
        continue;
      }
      // The immediate one is post-dominated by all the others.
      EXPECT_NE(std::find(postDominators.begin(), postDominators.end(),
                          dominators[b]),
                postDominators.end());
      for (uint32_t d : postDominators)
        EXPECT_TRUE(d == dominators[b] ||
                    !reachesExit(graph, dominators[b], d));
    }
  }
}

} // namespace
