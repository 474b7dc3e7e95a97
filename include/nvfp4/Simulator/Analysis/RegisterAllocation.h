//===- RegisterAllocation.h - virtual registers to lane planes --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilers declare thousands of virtual registers; a plane of 32 lanes for
// each would not fit a cache. Registers whose live ranges do not overlap share
// a plane. Registers that may be read before they are written keep their own,
// so that such reads can be caught at run time.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ANALYSIS_REGISTERALLOCATION_H
#define NVFP4_SIMULATOR_ANALYSIS_REGISTERALLOCATION_H

#include "nvfp4/Simulator/Analysis/ControlFlow.h"

namespace nvfp4::sim {

/// The result: byte offsets of planes, by virtual register.
struct RegisterAllocation {
  static constexpr uint32_t unused = ~0u;
  std::vector<uint32_t> offsets;
  /// Registers live at the entry of the kernel.
  std::vector<int32_t> liveAtEntry;
  uint32_t bytes = 0;
  size_t planes = 0;
};

/// Allocates planes. Lanes advance separately but each follows the flow graph,
/// so live ranges of the graph are valid for every lane.
RegisterAllocation allocateRegisters(const Function &function,
                                     const FlowGraph &graph,
                                     const std::vector<Effects> &effects,
                                     const std::vector<bool> &guarded);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ANALYSIS_REGISTERALLOCATION_H
