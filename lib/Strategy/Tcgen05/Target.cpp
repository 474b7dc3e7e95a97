//===- Target.cpp - Targets whose kernels use tcgen05 -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The family's functions, for the machine of one target.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Target.h"

#include "nvfp4/Strategy/Tcgen05/StrategySearch.h"

using namespace nvfp4::strategy;

const KernelFeatures &Tcgen05Target::getFeatures() const {
  static constexpr KernelFeatures features = {.linearScales = false,
                                              .packedWeights = false,
                                              .longestGateRun = 64,
                                              .outerGate = true,
                                              .roundsElements = false};
  return features;
}

Machine Tcgen05Target::getMachine(const Problem &problem) const {
  Machine part = machine;
  if (problem.multiprocessors == 0)
    return part;
  double share = double(problem.multiprocessors) / double(machine.sms);
  part.sms = problem.multiprocessors;
  for (double Machine::*rate :
       {&Machine::sharedMemoryFill, &Machine::fillSharedByTwo,
        &Machine::fillSharedByMore, &Machine::peakFp4, &Machine::peakFp8,
        &Machine::peakBf16})
    part.*rate *= share;
  // DRAM serves what all have in flight together.
  for (InFlightPoint &point : part.dramInFlight)
    point.bytes /= share;
  return part;
}

std::optional<Violation>
Tcgen05Target::findViolation(const Tile &tile, const Problem &problem) const {
  return strategy::findViolation(tile, problem, getMachine(problem));
}

std::optional<Tile>
Tcgen05Target::findNearestLegal(const Tile &tile,
                                const Problem &problem) const {
  return strategy::findNearestLegal(tile, problem, getMachine(problem));
}

Tile Tcgen05Target::complete(const Tile &tile, const Problem &problem) const {
  return strategy::complete(tile, problem, getMachine(problem));
}

Candidate Tcgen05Target::examine(const Tile &tile,
                                 const Problem &problem) const {
  return strategy::examine(tile, problem, getMachine(problem));
}

std::vector<Candidate>
Tcgen05Target::rankTiles(const Problem &problem,
                         const SearchOptions &options) const {
  return searchStrategies(problem, getMachine(problem), options);
}

Tile Tcgen05Target::getDefaultTile(const Problem &problem) const {
  return {.k = getTileK(problem), .swapAB = problem.unscaledRows};
}

Floor Tcgen05Target::computeFloor(const Problem &problem) const {
  return strategy::computeFloor(problem, getMachine(problem));
}
