//===- FormatEnums.h - Enumerations of the dialect in Format ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library of formats, which links no MLIR, has enumerations for the same
// things. Here, and only here, one becomes the other. All but layouts of scales
// are generated from those of the dialect, so their numbers are equal.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_FORMATENUMS_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_FORMATENUMS_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Format/BlockFormat.h"
#include "nvfp4/Format/GateLayout.h"
#include "nvfp4/Format/Quantizer.h"
#include "nvfp4/Format/ScaleLayout.h"

namespace nvfp4::gsg {

inline format::BlockFormat toFormat(BlockFormat kind) {
  return static_cast<format::BlockFormat>(kind);
}

inline format::Quantizer toFormat(QuantizerKind kind) {
  return static_cast<format::Quantizer>(kind);
}

/// The enumerator of Format for the one of the dialect, which is no layout of
/// coded weights: those have no scales by themselves.
inline format::ScaleLayout toFormat(ScaleLayout layout) {
  switch (layout) {
  case ScaleLayout::Linear:
    return format::ScaleLayout::Linear;
  case ScaleLayout::Blocked:
    return format::ScaleLayout::Blocked128x4;
  case ScaleLayout::Blocked8x4:
    return format::ScaleLayout::Blocked8x4;
  case ScaleLayout::Wgmma:
  case ScaleLayout::WgmmaF16:
    break;
  }
  llvm_unreachable("expected a layout of scales");
}

inline format::GroupStart toFormat(GroupStart start) {
  return static_cast<format::GroupStart>(start);
}

inline format::GateOrder toFormat(GateOrder order) {
  return static_cast<format::GateOrder>(order);
}

/// Rows of a tile of scales; 1 where there are no tiles.
inline int64_t getRowTile(ScaleLayout layout) {
  return format::rowAlignment(toFormat(layout));
}

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_FORMATENUMS_H
