//===- Target.cpp - Targets whose kernels use wgmma -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The family's functions, of which the H200 is the only machine.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Wgmma/Target.h"

#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

using namespace nvfp4::strategy;

const KernelFeatures &WgmmaTarget::getFeatures() const {
  static constexpr KernelFeatures features = {.linearScales = true,
                                              .packedWeights = true,
                                              .longestGateRun = 32,
                                              .outerGate = false,
                                              .roundsElements = true};
  return features;
}

std::optional<Violation>
WgmmaTarget::findViolation(const Tile &tile, const Problem &problem) const {
  return findWgmmaViolation(tile, getKnownK(problem),
                            problem.epilogue.rowBlock);
}

std::optional<Tile>
WgmmaTarget::findNearestLegal(const Tile &tile, const Problem &problem) const {
  return findNearestWgmmaTile(tile, getKnownK(problem),
                              problem.epilogue.rowBlock);
}

std::string WgmmaTarget::explainNoModel(const Problem &problem) const {
  return problem.groupedK ? "groups along M" : "";
}

Candidate WgmmaTarget::examine(const Tile &tile, const Problem &problem) const {
  return examineWgmmaTile(tile, problem);
}

std::vector<Candidate> WgmmaTarget::rankTiles(const Problem &problem,
                                              const SearchOptions &) const {
  return rankWgmmaTiles(problem);
}

Tile WgmmaTarget::getDefaultTile(const Problem &problem) const {
  return getDefaultWgmmaTile(problem.getRowsPerGroup());
}

Floor WgmmaTarget::computeFloor(const Problem &problem) const {
  return computeWgmmaFloor(problem);
}
