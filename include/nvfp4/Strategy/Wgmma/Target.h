//===- Target.h - Targets whose kernels use wgmma ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sm_90a: weights are decoded in registers and multiplied in 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_WGMMA_TARGET_H
#define NVFP4_STRATEGY_WGMMA_TARGET_H

#include "nvfp4/KernelTarget/KernelTarget.h"

namespace nvfp4::strategy {

class WgmmaTarget final : public KernelTarget {
public:
  WgmmaTarget(const Gpu &gpu) : KernelTarget(gpu, KernelFamily::Wgmma) {}
  static bool classof(const KernelTarget *target) {
    return target->getFamily() == KernelFamily::Wgmma;
  }

  std::string_view getFamilyName() const override { return "sm_90a"; }
  const KernelFeatures &getFeatures() const override;
  std::optional<Violation> findViolation(const Tile &tile,
                                         const Problem &problem) const override;
  std::optional<Tile> findNearestLegal(const Tile &tile,
                                       const Problem &problem) const override;
  /// The tile itself: its kernel chooses the stages.
  Tile complete(const Tile &tile, const Problem &) const override {
    return tile;
  }
  std::string explainNoModel(const Problem &problem) const override;
  Candidate examine(const Tile &tile, const Problem &problem) const override;
  std::vector<Candidate> rankTiles(const Problem &problem,
                                   const SearchOptions &options) const override;
  Tile getDefaultTile(const Problem &problem) const override;
  Floor computeFloor(const Problem &problem) const override;
};

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_WGMMA_TARGET_H
