//===- GroupedLines.h - Lines of a tensor with groups -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
#define NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToLoops/DataChecks.h"
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
  /// The checks of the groups and, for scales that do not start as `whole`, of
  /// their room.
  DataChecks checks;

  /// Sets `checks` for `op`, whose operands `names` have the scales, and which
  /// may have a global scale.
  void addChecks(LoopBuilder &mb, mlir::Operation *op,
                 llvm::ArrayRef<llvm::StringRef> names,
                 mlir::Value globalScale = {});
  /// In a kernel: entry `index` of the offsets or counts, i64.
  DataChecks::GroupEntry readGroup(LoopBuilder &mb, mlir::Value index) const;
  void checkGroup(LoopBuilder &mb, mlir::Value index) const {
    checks.checkGroup(mb, readGroup(mb, index));
  }
  /// Whether `checks` has one of room for scales.
  bool checksRoom() const;
  /// Checks that the scales `tensor` have room for a group with `size`
  /// positions along the cut dimension, i64, whose scales begin at `start`,
  /// where `isKnown` says that the groups up to it keep the rule.
  void checkRoom(LoopBuilder &mb, size_t tensor, mlir::Value isKnown,
                 mlir::Value start, mlir::Value size) const;

  /// True if group boundaries cut lines.
  bool cutsLines() const;

private:
  llvm::SmallVector<std::string, 2> roomNames;
};

/// The entry of `value` that belongs to `group`: the value itself if it is a
/// scalar, else element `group` of a memref, or its only one; null stays null.
mlir::Value emitGroupEntry(MathBuilder &mb, mlir::Value value,
                           mlir::Value group);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_GROUPEDLINES_H
