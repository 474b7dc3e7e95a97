//===- RowGroups.h - The rows of each group ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows of a matrix, or of a stack of matrices, belong to a group, for
// tensors without scales.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_ROWGROUPS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_ROWGROUPS_H

#include "nvfp4/Conversion/GsgToLoops/GroupTable.h"

namespace nvfp4::gsg::loops {

/// Rows are counted through all matrices of `[R, N]` or `[G, M, N]`. Offsets
/// and counts outside of the tensor are clamped.
class RowGroups {
public:
  using Value = mlir::Value;

  /// Emits what resolves `groups`. Without `grouping`, which may be null, each
  /// matrix is a group. Kernels check the groups for `checked`, if it is there.
  RowGroups(LoopBuilder &mb, const MemRefParts &rows, GroupingAttr grouping,
            Value groups, mlir::Operation *checked = nullptr);

  /// i64.
  Value getCount() const { return count; }
  /// The first row of a group and how many it has, i64.
  Value begin(Value group);
  Value size(Value group);
  /// Whether `row`, i64, is in a group; i1.
  Value contains(Value row);

  /// Whether kernels check counts of rows, each once; offsets are checked where
  /// the table is filled.
  bool checksCounts() const { return lines.checks && !table; }
  void checkCount(Value group) { lines.checkGroup(mb, group); }

  void free();

private:
  LoopBuilder &mb;
  GroupedLines lines;
  std::optional<GroupTable> table;
  Value count;
};

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_ROWGROUPS_H
