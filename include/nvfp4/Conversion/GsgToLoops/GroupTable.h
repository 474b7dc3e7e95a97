//===- GroupTable.h - Where ragged groups lie -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ragged forms resolve their offsets once into a table with a row a group:
// first position, size, and the start of each tensor of scales.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_GROUPTABLE_H
#define NVFP4_CONVERSION_GSGTOLOOPS_GROUPTABLE_H

#include "nvfp4/Conversion/GsgToLoops/GroupedLines.h"

namespace nvfp4::gsg::loops {

/// The code that fills and reads the table of `lines`. Offsets that decrease or
/// lie outside the tensor are clamped; groups that overlap then have some of
/// their positions.
class GroupTable {
public:
  using Value = mlir::Value;

  /// Emits the code that fills it, in memory of the host or of the device.
  GroupTable(LoopBuilder &mb, const GroupedLines &lines);

  Value begin(Value group) { return entry(group, 0); }
  Value size(Value group) { return entry(group, 1); }
  Value start(Value group, size_t tensor) {
    return entry(group, static_cast<int64_t>(tensor) + 2);
  }
  /// The group that `position` lies in, or -1.
  Value find(Value position);

  /// Units of `size` positions of all groups, numbered with gaps: from
  /// firstUnit on those of a group. The group that has unit `number`, or -1
  /// before the first one.
  Value findByUnit(Value number, int64_t size);
  Value firstUnit(Value group, int64_t size);

  void free();

  /// i64.
  Value count;

private:
  Value entry(Value group, int64_t column);
  Value offset(Value index);
  Value startOf(size_t tensor, Value group, Value begin, Value packed);
  Value paddedSize(size_t tensor, Value size);
  void allocate();
  /// The row of `group` from what the groups before it leave: the last end, and
  /// the scales of each tensor. Stores it if `isStored`; returns the same for
  /// the next group.
  llvm::SmallVector<Value> emitRow(Value group, mlir::ValueRange carried,
                                   bool isStored);
  /// Checks what the row of `group` is made from, on a device.
  void checkRow(Value group);
  /// The last group whose `key`, which does not decrease, is at most `value`.
  Value findLast(Value value, llvm::function_ref<Value(Value)> key);

  LoopBuilder &mb;
  const GroupedLines &lines;
  Value table;
};

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_GROUPTABLE_H
