//===- ControlFlow.h - basic blocks and post-dominators ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The flow graph of a decoded kernel, and for each branch the instruction where
// diverged lanes meet again: the start of its immediate post-dominator.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ANALYSIS_CONTROLFLOW_H
#define NVFP4_SIMULATOR_ANALYSIS_CONTROLFLOW_H

#include "nvfp4/Simulator/Decode/DecodeContext.h"

namespace nvfp4::sim {

/// Instructions [begin, end) with one entry and one exit.
struct BasicBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  std::vector<uint32_t> successors;
  std::vector<uint32_t> predecessors;
  /// The last instruction may leave the kernel.
  bool exits = false;
};

/// The flow graph of one kernel; block 0 is the entry.
struct FlowGraph {
  std::vector<BasicBlock> blocks;
  /// Instruction to block.
  std::vector<uint32_t> blockOf;
};

/// Builds the graph. `guarded[i]` says whether instruction i has a guard.
FlowGraph buildFlowGraph(const std::vector<Effects> &effects,
                         const std::vector<bool> &guarded);

/// The immediate post-dominator of each block, or noPc when the kernel's end
/// is the only one (or cannot be reached). Guarded exits do not count: lanes
/// that exit are no longer waited for, the others still meet.
std::vector<uint32_t> immediatePostDominators(const FlowGraph &graph);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ANALYSIS_CONTROLFLOW_H
