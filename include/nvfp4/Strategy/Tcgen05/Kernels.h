//===- Kernels.h - which legal tiles have kernels ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine can execute more than convert-gsg-to-warpspec makes kernels of.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_KERNELS_H
#define NVFP4_STRATEGY_TCGEN05_KERNELS_H

#include "nvfp4/KernelTarget/Problem.h"
#include "nvfp4/KernelTarget/Tile.h"

#include <optional>
#include <string>
#include <vector>

namespace nvfp4::strategy {

/// Why there is no kernel for a tile that the machine could execute: "expected
/// X, but got Y". Says nothing of memories.
std::optional<std::string> findMissingKernel(const Tile &tile,
                                             const Problem &problem);

/// The n of kernels with tokens on n, ascending.
const std::vector<int64_t> &getTokensOnN();

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_KERNELS_H
