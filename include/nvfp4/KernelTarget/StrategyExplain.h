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

#ifndef NVFP4_KERNELTARGET_STRATEGYEXPLAIN_H
#define NVFP4_KERNELTARGET_STRATEGYEXPLAIN_H

#include "nvfp4/KernelTarget/Candidate.h"

#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::strategy {

/// Why `candidate` lost to `winner`, or is illegal: one line.
std::string explainLoss(const Candidate &candidate, const Candidate &winner);

/// `floor 26.1 us (memory 13.7, products 26.1) on sm_100a`.
std::string toString(const Floor &floor, std::string_view machine);

/// A table of `candidates` as `KernelTarget::rankTiles` returns them, under the
/// floor of the machine: predicted microseconds, their parts, and why each
/// lost. Ends without a line break.
std::string explain(const std::vector<Candidate> &candidates,
                    const Floor &floor, std::string_view machine);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_STRATEGYEXPLAIN_H
