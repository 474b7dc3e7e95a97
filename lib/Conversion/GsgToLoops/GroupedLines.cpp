//===- GroupedLines.cpp - Lines of a tensor with groups ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/GroupedLines.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;

bool GroupedLines::cutsLines() const {
  if (!grouping || !type)
    return false;
  const GroupingForm &form = getForm(grouping);
  if (form.cutsK())
    return type.getAxis() == type.getRank() - 1;
  return !form.coversRows() && type.getAxis() == type.getRank() - 2;
}

void GroupedLines::addChecks(LoopBuilder &mb, Operation *op,
                             ArrayRef<StringRef> names, Value globalScale) {
  SmallVector<DataChecks::Check> list;
  MLIRContext *context = op->getContext();
  if (groups)
    list.push_back(DataChecks::getGroups(grouping));
  if (groups && getForm(grouping).hasOffsets())
    for (auto [tensor, name] : llvm::zip_equal(scales, names))
      if (tensor.type.getGroupStart() != GroupStart::Whole)
        list.push_back(
            DataChecks::getRoom(context, describeRoom(name, cutsLines())));
  if (isSingleNumber(globalScale))
    list.push_back(DataChecks::getPositive(context));
  checks = DataChecks(mb.builder, op, list);
  roomNames.assign(names.begin(), names.end());
}

DataChecks::GroupEntry GroupedLines::readGroup(LoopBuilder &mb,
                                               Value index) const {
  auto load = [&](Value at) {
    Value entry = mb.load(groups, {mb.toIndex(at)});
    return entry.getType().isInteger(64) ? entry : mb.signExtend(entry, mb.i64);
  };
  return {mb,
          grouping,
          index,
          mb.toI64(mb.dim(groups, 0)),
          cutsLines() ? extents.length : extents.lines,
          load};
}

bool GroupedLines::checksRoom() const {
  return checks.find(warpspec::DataKind::Room).has_value();
}

void GroupedLines::checkRoom(LoopBuilder &mb, size_t tensor, Value isKnown,
                             Value start, Value size) const {
  if (!checksRoom())
    return;
  const ScaleLines &lines = scales[tensor];
  int64_t block = lines.type.getBlockSize();
  Value needed = size, room = lines.numLines(mb);
  if (cutsLines()) {
    needed = mb.div(mb.add(size, block - 1), block);
    room = lines.numBlocks(mb);
  }
  Value hasGroups =
      mb.bitAnd(isKnown, mb.cmp(arith::CmpIPredicate::ne, size, 0));
  checks.checkRoom(mb, describeRoom(roomNames[tensor], cutsLines()), hasGroups,
                   room, mb.add(start, needed));
}

Value loops::emitGroupEntry(MathBuilder &mb, Value value, Value group) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  if (!type)
    return value;
  SmallVector<Value> indices;
  if (type.getRank() > 0) {
    Value index = arith::IndexCastOp::create(mb.builder, mb.loc,
                                             mb.builder.getIndexType(), group);
    Value dim = memref::DimOp::create(mb.builder, mb.loc, value, 0);
    Value last = mb.sub(dim, mb.constant(dim.getType(), 1));
    indices.push_back(mb.minS(index, last));
  }
  return memref::LoadOp::create(mb.builder, mb.loc, value, indices);
}
