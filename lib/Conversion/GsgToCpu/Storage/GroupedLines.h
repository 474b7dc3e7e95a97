//===- GroupedLines.h - loops over the lines of groups ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the lines of a scaled tensor under any grouping form, in parallel, and
// says which part of each line belongs to which group and where the scales of
// that part start. Offsets that decrease or lie outside the tensor are clamped,
// and parts for whose scales there is no room are left out, so no input makes
// the loops leave their buffers.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_STORAGE_GROUPEDLINES_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_STORAGE_GROUPEDLINES_H

#include "StorageAccess.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"

namespace nvfp4::gsg::cpu {

using arithmetic::LoopBuilder;

/// The part of one line that belongs to one group.
struct LinePart {
  mlir::Value group;
  /// Batch, line and first position of the part.
  Position begin;
  /// Positions along the line.
  mlir::Value size;
  /// For each tensor of scales, the scale of the first block.
  llvm::SmallVector<Position, 2> scales;
  /// The number of the line among those of its group, and how many those are.
  mlir::Value lineInGroup, linesOfGroup;
};

struct GroupedLines {
  ScaledType type;
  LineExtents extents;
  /// Null for dense and batched tensors.
  GroupingAttr grouping;
  /// The offsets, or null.
  mlir::Value groups;
  llvm::SmallVector<ScaleLines, 2> scales;
  /// Lines run one after another, for bodies that touch other lines.
  bool sequential = false;

  /// True if group boundaries cut lines.
  bool cutsLines() const;
  /// Calls `body` for every part that is not empty. One thread runs the two
  /// lines that share the bytes of a transposed FP4 tensor.
  void forEachPart(LoopBuilder &mb,
                   llvm::function_ref<void(const LinePart &)> body) const;
};

/// The entry of `value` that belongs to `group`: the value itself if it is a
/// scalar, else element `group` of a memref, or its only one; null stays null.
mlir::Value emitGroupEntry(MathBuilder &mb, mlir::Value value,
                           mlir::Value group);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_STORAGE_GROUPEDLINES_H
