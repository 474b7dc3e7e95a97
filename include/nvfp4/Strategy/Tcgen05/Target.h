//===- Target.h - Targets whose kernels use tcgen05 -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sm_100a and its family.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_TARGET_H
#define NVFP4_STRATEGY_TCGEN05_TARGET_H

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Strategy/Tcgen05/Machine.h"

namespace nvfp4::strategy {

class Tcgen05Target final : public KernelTarget {
public:
  Tcgen05Target(const Gpu &gpu, const Machine &machine)
      : KernelTarget(gpu, KernelFamily::Tcgen05), machine(machine) {}
  static bool classof(const KernelTarget *target) {
    return target->getFamily() == KernelFamily::Tcgen05;
  }

  const Machine &getMachine() const { return machine; }
  /// The machine with the multiprocessors that a problem asks for, and their
  /// share of its rates.
  Machine getMachine(const Problem &problem) const;

  std::string_view getFamilyName() const override { return "sm_100a"; }
  const KernelFeatures &getFeatures() const override;
  std::optional<Violation> findViolation(const Tile &tile,
                                         const Problem &problem) const override;
  std::optional<Tile> findNearestLegal(const Tile &tile,
                                       const Problem &problem) const override;
  Tile complete(const Tile &tile, const Problem &problem) const override;
  Candidate examine(const Tile &tile, const Problem &problem) const override;
  std::vector<Candidate> rankTiles(const Problem &problem,
                                   const SearchOptions &options) const override;
  Tile getDefaultTile(const Problem &problem) const override;
  Floor computeFloor(const Problem &problem) const override;

private:
  const Machine &machine;
};

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_TARGET_H
