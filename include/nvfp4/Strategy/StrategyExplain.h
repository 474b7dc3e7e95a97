//===- StrategyExplain.h - why a tile was chosen ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that --explain prints. It is for people: nothing reads it back.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_STRATEGYEXPLAIN_H
#define NVFP4_STRATEGY_STRATEGYEXPLAIN_H

#include "nvfp4/Strategy/StrategySearch.h"

#include <string>

namespace nvfp4::strategy {

/// Why `candidate` lost to `winner`, or is illegal: one line.
std::string explainLoss(const Candidate &candidate, const Candidate &winner);

/// A table of `candidates` as `searchStrategies` returns them: predicted
/// microseconds, their parts, and why each lost. Ends without a line break.
std::string explain(const std::vector<Candidate> &candidates,
                    const Problem &problem, const Machine &machine);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_STRATEGYEXPLAIN_H
