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

#include "nvfp4/Strategy/Problem.h"
#include "nvfp4/Strategy/Tcgen05/Machine.h"
#include "nvfp4/Strategy/Tile.h"

#include <vector>

namespace nvfp4::strategy {

/// Microseconds that the data sheet allows: every byte once, every product.
struct Floor {
  double memory;
  double math;
  double getTotal() const { return memory > math ? memory : math; }
};

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

/// What holds back the main loop or the whole.
enum class Limit { Fixed, DRAM, Fill, Product, Epilogue, TileNumber, Decode };
const char *stringify(Limit limit);

struct Prediction {
  /// Microseconds from launch to end.
  double total;
  /// Of it: work of the busiest SM; DRAM, which runs beside it; launch, first
  /// tile and tail.
  double busy;
  double dram;
  double fixed;
  /// With those that fill up clusters.
  int64_t tiles;
  /// Tiles over slots (CTAs, pairs or clusters of them that run at once).
  double waves;
  /// The share of slot time before the end of the busiest without a tile.
  double idle;
  Limit limit;
};

/// Predicts a legal, complete tile. All zero but `fixed` and `total` if no
/// group has work.
Prediction predict(const Tile &tile, const Problem &problem,
                   const Machine &machine);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_STRATEGYCOST_H
