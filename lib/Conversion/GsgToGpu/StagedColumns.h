//===- StagedColumns.h - Where columns of stages come from ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The staging operations of warpspec move each group along K to stages of its
// own; lib/Runtime/Staging does the same on the host.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOGPU_STAGEDCOLUMNS_H
#define NVFP4_LIB_CONVERSION_GSGTOGPU_STAGEDCOLUMNS_H

#include "nvfp4/Conversion/GsgToLoops/GroupTable.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include <optional>

namespace nvfp4::gsg::togpu {

/// `count` columns of the operand from `column` on, whose first scale is in
/// column `scale`. All are i64; a count may be zero.
struct ColumnPiece {
  mlir::Value column, count, scale;
};

/// Groups along K of a staging operation.
struct GroupsAlongK {
  mlir::Value offsets;
  warpspec::GroupForm form = warpspec::GroupForm::KEnds;
  int64_t align = 1, stage = 1;
  /// The scales of a group follow those of the group before.
  bool isCompact = false;

  /// The groups of `op`, if it has any.
  template <typename OpTy> static std::optional<GroupsAlongK> get(OpTy op) {
    std::optional<warpspec::GroupForm> form = op.getForm();
    if (form != warpspec::GroupForm::KEnds &&
        form != warpspec::GroupForm::KStarts)
      return std::nullopt;
    GroupsAlongK groups{op.getGroups(), *form,
                        static_cast<int64_t>(op.getAlign()),
                        static_cast<int64_t>(op.getStage())};
    if constexpr (requires { op.getCompact(); })
      groups.isCompact = op.getCompact();
    return groups;
  }
};

class StagedColumns {
public:
  using Value = mlir::Value;

  /// For an operand of `columns` columns (i64) in blocks of `format`; `scales`
  /// are its linear scales, null if it has none. Emits code that reads offsets.
  StagedColumns(loops::LoopBuilder &b, BlockFormat format, Value columns,
                Value scales, const std::optional<GroupsAlongK> &groups);
  StagedColumns(const StagedColumns &) = delete;

  /// Where the `length` columns of a staged row from `target` on come from;
  /// `length` divides `target` and a stage.
  ColumnPiece find(Value target, int64_t length);
  bool isGrouped() const { return table.has_value(); }
  void free();

private:
  loops::LoopBuilder &b;
  Value columns, scaleColumns;
  int64_t block, stage = 0;
  loops::GroupedLines lines;
  std::optional<loops::GroupTable> table;
};

} // namespace nvfp4::gsg::togpu

#endif // NVFP4_LIB_CONVERSION_GSGTOGPU_STAGEDCOLUMNS_H
