//===- StrategyCost.h - predicted times of a tile ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floors that no kernel beats and a cycle-approximate model of ours.
// docs/Rationale/Strategy.md derives the formulas and lists their errors.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_STRATEGYCOST_H
#define NVFP4_STRATEGY_TCGEN05_STRATEGYCOST_H

#include "nvfp4/KernelTarget/Candidate.h"
#include "nvfp4/KernelTarget/Problem.h"
#include "nvfp4/Strategy/Tcgen05/Machine.h"

#include <vector>

namespace nvfp4::strategy {

Floor computeFloor(const Problem &problem, const Machine &machine);

/// Bytes that must come from or go to DRAM, each once.
double uniqueBytes(const Problem &problem);

/// Cycles between two block-scaled products of 32 bytes of K in the steady
/// state, for an instruction of m x n.
double issueInterval(int64_t m, int64_t n, int64_t ctas);

/// Bytes a second from DRAM with `bytes` in flight on every SM.
double dramRate(const Machine &machine, double bytes);

/// Tiles of equal cost, in the order of the scheduler.
struct TileRun {
  int64_t count;
  double cycles;
};

/// The cycles of the busiest slot when tile i goes to slot i modulo `slots`.
double packRoundRobin(const std::vector<TileRun> &runs, int64_t slots);

/// The same when the next tile goes to the slot that is free first.
double packFirstFree(const std::vector<TileRun> &runs, int64_t slots);

/// Predicts a legal, complete tile. All zero but `fixed` and `total` if no
/// group has work.
Prediction predict(const Tile &tile, const Problem &problem,
                   const Machine &machine);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_STRATEGYCOST_H
