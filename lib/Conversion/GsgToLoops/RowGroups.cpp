//===- RowGroups.cpp - The rows of each group -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/RowGroups.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;

RowGroups::RowGroups(LoopBuilder &mb, const MemRefParts &rows,
                     GroupingAttr grouping, Value groups, Operation *checked)
    : mb(mb) {
  int64_t rank = rows.getRank();
  Value one = mb.i64Constant(1);
  lines.extents = {rank > 2 ? rows.sizes[0] : one, rows.sizes[rank - 2],
                   rows.sizes.back()};
  lines.grouping = grouping;
  lines.groups = groups;
  if (checked)
    lines.addChecks(mb, checked, {});
  count = lines.extents.batches;
  if (grouping && getForm(grouping).cutsRows()) {
    table.emplace(mb, lines);
    count = table->count;
  }
}

Value RowGroups::begin(Value group) {
  return table ? table->begin(group) : mb.mul(group, lines.extents.lines);
}

Value RowGroups::size(Value group) {
  if (table)
    return table->size(group);
  if (!lines.groups)
    return lines.extents.lines;
  Value rows = mb.load(lines.groups, {mb.toIndex(group)});
  if (!rows.getType().isInteger(64))
    rows = mb.signExtend(rows, mb.i64);
  return mb.minS(mb.maxS(rows, mb.i64Constant(0)), lines.extents.lines);
}

Value RowGroups::contains(Value row) {
  using Predicate = arith::CmpIPredicate;
  if (table)
    return mb.cmp(Predicate::sge, table->find(row), 0);
  Value inMatrix = mb.rem(row, lines.extents.lines);
  return mb.cmp(Predicate::slt, inMatrix,
                size(mb.div(row, lines.extents.lines)));
}

void RowGroups::free() {
  if (table)
    table->free();
}
