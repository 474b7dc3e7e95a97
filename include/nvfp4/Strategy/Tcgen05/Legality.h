//===- Legality.h - which tiles a machine can execute -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules of the instruction set, of the layouts and of the capacities; no
// preference.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_LEGALITY_H
#define NVFP4_STRATEGY_TCGEN05_LEGALITY_H

#include "nvfp4/KernelTarget/Candidate.h"
#include "nvfp4/Strategy/Tcgen05/Budget.h"

#include <optional>

namespace nvfp4::strategy {

/// Why no tile can compute `problem`, if so: rows of K that TMA cannot address.
std::optional<Violation> findOperandViolation(const Problem &problem);

/// The first rule that `tile` breaks. What the tile leaves open is completed
/// first. Accepts any numbers.
std::optional<Violation> findViolation(const Tile &tile, const Problem &problem,
                                       const Machine &machine);

/// The legal tile that differs least from `tile`: in the exchange of operands,
/// in the CTAs, in n, then in the rest. Complete. Nothing if there is none.
std::optional<Tile> findNearestLegal(const Tile &tile, const Problem &problem,
                                     const Machine &machine);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_LEGALITY_H
