//===- GroupedLines.h - Lines of a tensor with groups -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
#define NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

namespace nvfp4::gsg::loops {

using arithmetic::LoopBuilder;

/// Lines of a tensor whose groups may cut it.
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
};

/// The entry of `value` that belongs to `group`: the value itself if it is a
/// scalar, else element `group` of a memref, or its only one; null stays null.
mlir::Value emitGroupEntry(MathBuilder &mb, mlir::Value value,
                           mlir::Value group);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
