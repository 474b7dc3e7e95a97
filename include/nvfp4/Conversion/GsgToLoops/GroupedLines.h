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

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
#define NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

namespace nvfp4::gsg::loops {

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
  /// On a device, the number of the only block that the thread has; else null.
  mlir::Value block;

  /// Calls `body(number, count)` for the blocks of `size` elements of the part
  /// that the thread has; count is null for blocks that are full.
  void
  forEachBlock(MathBuilder &mb, int64_t size,
               llvm::function_ref<void(mlir::Value, mlir::Value)> body) const;
};

struct GroupedLines {
  /// Null for a tensor without scales, whose rows are the lines.
  ScaledType type;
  LineExtents extents;
  /// Null for dense and batched tensors.
  GroupingAttr grouping;
  /// The offsets, or null.
  mlir::Value groups;
  llvm::SmallVector<ScaleLines, 2> scales;
  /// A thread of a device has all blocks of a line, for bodies that store
  /// bytes of which two blocks have a half each.
  bool wholeLines = false;
  /// Neighbouring threads of a device have neighbouring lines, for memory in
  /// which those are columns; else neighbouring blocks.
  bool areColumns = false;

  /// True if group boundaries cut lines.
  bool cutsLines() const;
  /// Calls `body` for every part that is not empty: on the host once, in a
  /// thread for each line; on a device in one for each block. One thread runs
  /// the two lines that share the bytes of a transposed FP4 tensor.
  void forEachPart(LoopBuilder &mb,
                   llvm::function_ref<void(const LinePart &)> body) const;
};

/// The entry of `value` that belongs to `group`: the value itself if it is a
/// scalar, else element `group` of a memref, or its only one; null stays null.
mlir::Value emitGroupEntry(MathBuilder &mb, mlir::Value value,
                           mlir::Value group);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
