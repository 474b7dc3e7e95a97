//===- FormatEnums.h - Enumerations of the dialect in Format ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect and the library of formats, which links no MLIR, have
// enumerations of their own for the same things. Here, and only here, one
// becomes the other.
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

/// The enumerator of Format for the one of the dialect.
inline format::BlockFormat toFormat(BlockFormat kind) {
  switch (kind) {
  case BlockFormat::NVFP4:
    return format::BlockFormat::NVFP4;
  case BlockFormat::MXFP4:
    return format::BlockFormat::MXFP4;
  case BlockFormat::NVFP4_E8M0:
    return format::BlockFormat::NVFP4_E8M0;
  case BlockFormat::MXFP8_E4M3:
    return format::BlockFormat::MXFP8_E4M3;
  case BlockFormat::MXFP8_E5M2:
    return format::BlockFormat::MXFP8_E5M2;
  }
  llvm_unreachable("covered switch");
}

/// The enumerator of Format for the one of the dialect.
inline format::Quantizer toFormat(QuantizerKind kind) {
  switch (kind) {
  case QuantizerKind::Cutlass:
    return format::Quantizer::Cutlass;
  case QuantizerKind::Trtllm:
    return format::Quantizer::Trtllm;
  case QuantizerKind::TE:
    return format::Quantizer::TE;
  case QuantizerKind::ModelOpt:
    return format::Quantizer::ModelOpt;
  case QuantizerKind::Mega16:
    return format::Quantizer::Mega16;
  case QuantizerKind::UE8M0Up:
    return format::Quantizer::UE8M0Up;
  case QuantizerKind::OCP:
    return format::Quantizer::OCP;
  case QuantizerKind::TritonNearest:
    return format::Quantizer::TritonNearest;
  case QuantizerKind::FourOverSix:
    return format::Quantizer::FourOverSix;
  }
  llvm_unreachable("covered switch");
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

/// The enumerator of Format for the one of the dialect.
inline format::GroupStart toFormat(GroupStart start) {
  switch (start) {
  case GroupStart::Whole:
    return format::GroupStart::Whole;
  case GroupStart::Compact:
    return format::GroupStart::Compact;
  case GroupStart::UpperBound:
    return format::GroupStart::UpperBound;
  }
  llvm_unreachable("covered switch");
}

/// The enumerator of Format for the one of the dialect.
inline format::GateOrder toFormat(GateOrder order) {
  switch (order) {
  case GateOrder::GateFirst:
    return format::GateOrder::GateFirst;
  case GateOrder::UpFirst:
    return format::GateOrder::UpFirst;
  }
  llvm_unreachable("covered switch");
}

/// Rows of a tile of scales; 1 where there are no tiles.
inline int64_t getRowTile(ScaleLayout layout) {
  return format::rowAlignment(toFormat(layout));
}

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_FORMATENUMS_H
