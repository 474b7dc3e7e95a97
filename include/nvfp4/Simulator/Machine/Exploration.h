//===- Exploration.h - machines whose steps are chosen ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_EXPLORATION_H
#define NVFP4_SIMULATOR_MACHINE_EXPLORATION_H

#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

/// Runs machines, which have begun, to their end or to the first that stops, in
/// an order that `explorer` chooses. Calls `ended` for each that has ended.
/// Comes back early where the run is redundant.
void exploreSchedule(Explorer &explorer, std::vector<Machine *> running,
                     const std::function<void(Machine &)> &ended = {});

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_EXPLORATION_H
