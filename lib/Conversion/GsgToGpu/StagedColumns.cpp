//===- StagedColumns.cpp - Where columns of stages come from ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagedColumns.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

StagedColumns::StagedColumns(LoopBuilder &b, BlockFormat format, Value columns,
                             Value scales,
                             const std::optional<GroupsAlongK> &groups)
    : b(b), columns(columns), block(format::blockSize(toFormat(format))) {
  if (!groups)
    return;
  stage = groups->stage;
  MLIRContext *context = b.builder.getContext();
  lines.type = ScaledType::get(
      context, {ShapedType::kDynamic, ShapedType::kDynamic}, format,
      ScaleLayout::Linear,
      groups->isCompact ? GroupStart::Compact : GroupStart::Whole, /*axis=*/1);
  bool isEnds = groups->form == warpspec::GroupForm::KEnds;
  lines.grouping = GroupingAttr::get(
      context, GroupingKind::RaggedK,
      isEnds ? OffsetsKind::Ends : OffsetsKind::Starts, groups->align);
  lines.groups = groups->offsets;
  Value one = b.i64Constant(1);
  lines.extents = {one, one, columns};
  if (scales) {
    lines.scales.push_back(ScaleLines::get(b, scales, lines.type));
    scaleColumns = lines.scales.front().parts.columns(b);
  }
  table.emplace(b, lines);
}

ColumnPiece StagedColumns::find(Value target, int64_t length) {
  Value zero = b.i64Constant(0), most = b.i64Constant(length);
  auto cut = [&](Value count) { return b.minS(b.maxS(count, zero), most); };
  if (!table)
    return {target, cut(b.sub(columns, target)), b.div(target, block)};
  Value group = table->findByUnit(b.div(target, stage), stage);
  auto parts =
      scf::IfOp::create(b.builder, b.loc, TypeRange{b.i64, b.i64, b.i64},
                        b.cmp(Predicate::sge, group, 0), /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(parts.thenBlock());
    Value first = b.mul(table->firstUnit(group, stage), stage);
    Value inGroup = b.sub(target, first);
    Value count = cut(b.sub(table->size(group), inGroup)), scale = zero;
    if (scaleColumns) {
      scale = b.add(table->start(group, 0), b.div(inGroup, block));
      Value room = b.sub(scaleColumns, scale);
      count = b.minS(count, cut(b.mul(room, block)));
    }
    scf::YieldOp::create(
        b.builder, b.loc,
        ValueRange{b.add(table->begin(group), inGroup), count, scale});
    b.builder.setInsertionPointToStart(parts.elseBlock());
    scf::YieldOp::create(b.builder, b.loc, ValueRange{zero, zero, zero});
  }
  return {parts.getResult(0), parts.getResult(1), parts.getResult(2)};
}

void StagedColumns::free() {
  if (table)
    table->free();
}
