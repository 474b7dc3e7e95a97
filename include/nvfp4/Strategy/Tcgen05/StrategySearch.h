//===- StrategySearch.h - the choice of a tile ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates tiles, predicts the legal ones and orders them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_STRATEGYSEARCH_H
#define NVFP4_STRATEGY_TCGEN05_STRATEGYSEARCH_H

#include "nvfp4/Strategy/Tcgen05/Legality.h"
#include "nvfp4/Strategy/Tcgen05/StrategyCost.h"

#include <vector>

namespace nvfp4::strategy {

/// The tile, completed and with its predicted times if it is legal.
Candidate examine(const Tile &tile, const Problem &problem,
                  const Machine &machine);

/// Every candidate for `problem`: the chosen one first, then the legal ones by
/// predicted time, then the illegal ones. The first is illegal only if all are.
///
/// Clusters of two tiles and the schedulers that fetch numbers of tiles are
/// tried with three tiles: the one that is best without, and the two fastest
/// others if no slot were ever idle. What is illegal whatever the tile is
/// listed once.
///
/// Among tiles predicted within 1 % of the fastest those without a cluster and
/// with tiles dealt in advance come first, then the one with the least busy
/// time, then the one of fewer CTAs, then the smaller n.
std::vector<Candidate> searchStrategies(const Problem &problem,
                                        const Machine &machine,
                                        const SearchOptions &options = {});

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_STRATEGYSEARCH_H
