//===- ScaleTile.h - Tiles of scale layouts ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape of a scale layout in memory. Where groups start, what is padded and
// what is checked all follow from it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_SCALETILE_H
#define NVFP4_CONVERSION_GSGTOLOOPS_SCALETILE_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

namespace nvfp4::gsg::loops {

/// Dimensions that a matrix of scales has in memory.
inline int64_t getLayoutRank(ScaleLayout layout) {
  switch (layout) {
  case ScaleLayout::Linear:
    return 2;
  case ScaleLayout::Blocked:
    return 5;
  case ScaleLayout::Blocked8x4:
    return 4;
  case ScaleLayout::Wgmma:
  case ScaleLayout::WgmmaF16:
    break; // no scales by themselves: see explainUnsupported
  }
  llvm_unreachable("expected a layout of scales");
}

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_SCALETILE_H
