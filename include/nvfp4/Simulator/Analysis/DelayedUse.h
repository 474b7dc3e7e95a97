//===- DelayedUse.h ---------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.ld delivers its registers at tcgen05.wait::ld. A use that some path
// reaches from the load without a wait is a bug whatever the timing, so it is
// found once, on the flow graph.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ANALYSIS_DELAYEDUSE_H
#define NVFP4_SIMULATOR_ANALYSIS_DELAYEDUSE_H

#include "nvfp4/Simulator/Analysis/ControlFlow.h"

namespace nvfp4::sim {

/// A use of a register and the load that has not been waited for.
struct DelayedUse {
  uint32_t use = noPc;
  uint32_t load = noPc;
  int32_t reg = -1;
  /// The instruction only computes with the register. Its results count as not
  /// waited for, too, and uses of them are indirect.
  bool computes = false;
  bool indirect = false;
};

/// All such uses, one for each pair of instructions.
std::vector<DelayedUse> findDelayedUses(const FlowGraph &graph,
                                        const std::vector<Effects> &effects);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ANALYSIS_DELAYEDUSE_H
