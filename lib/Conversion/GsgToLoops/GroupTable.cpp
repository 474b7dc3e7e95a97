//===- GroupTable.cpp - Where ragged groups lie -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread of the host fills all rows. On a device each row has a thread,
// which goes through the groups before: a chain of additions, and loads that
// all threads share.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/GroupTable.h"

#include "nvfp4/Conversion/GsgToLoops/ScaleTile.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

static Value clamp(MathBuilder &mb, Value x, Value low, Value high) {
  return mb.minS(mb.maxS(x, low), high);
}

Value GroupTable::entry(Value group, int64_t column) {
  return mb.load(table, {mb.toIndex(group), mb.index(column)});
}

Value GroupTable::offset(Value index) {
  Value loaded = mb.load(lines.groups, {mb.toIndex(index)});
  return loaded.getType().isInteger(64) ? loaded
                                        : mb.signExtend(loaded, mb.i64);
}

/// Scale lines (or, where groups cut lines, scales of a line) of a group of
/// `size` positions, padding included.
Value GroupTable::paddedSize(size_t tensor, Value size) {
  ScaledType type = lines.scales[tensor].type;
  if (!lines.cutsLines())
    return mb.roundUp(size, getRowTile(type.getLayout()));
  Value blocks =
      mb.div(mb.add(size, type.getBlockSize() - 1), type.getBlockSize());
  return mb.roundUp(blocks, type.getLayout() == ScaleLayout::Linear ? 1 : 4);
}

Value GroupTable::startOf(size_t tensor, Value group, Value begin,
                          Value packed) {
  ScaledType type = lines.scales[tensor].type;
  switch (type.getGroupStart()) {
  case GroupStart::Whole:
    return lines.cutsLines() ? mb.div(begin, type.getBlockSize()) : begin;
  case GroupStart::Compact:
    return packed;
  case GroupStart::UpperBound: {
    int64_t tile = getRowTile(type.getLayout());
    Value bound = mb.add(begin, mb.mul(group, tile - 1));
    return mb.mul(mb.div(bound, tile), tile);
  }
  }
  return packed;
}

void GroupTable::allocate() {
  int64_t columns = static_cast<int64_t>(lines.scales.size()) + 2;
  auto type = MemRefType::get({ShapedType::kDynamic, columns}, mb.i64);
  Value rows = mb.toIndex(count);
  if (mb.isOnDevice())
    table = gpu::AllocOp::create(
                mb.builder, mb.loc, getDenseMemory(type, /*isOnDevice=*/true),
                /*asyncToken=*/Type(),
                /*asyncDependencies=*/ValueRange(), ValueRange{rows},
                /*symbolOperands=*/ValueRange())
                .getMemref();
  else
    table = memref::AllocOp::create(mb.builder, mb.loc, type, ValueRange{rows});
}

void GroupTable::free() {
  if (mb.isOnDevice())
    gpu::DeallocOp::create(mb.builder, mb.loc, /*asyncToken=*/Type(),
                           /*asyncDependencies=*/ValueRange(), table);
  else
    memref::DeallocOp::create(mb.builder, mb.loc, table);
}

GroupTable::GroupTable(LoopBuilder &mb, const GroupedLines &lines)
    : mb(mb), lines(lines) {
  bool ends = lines.grouping.getOffsets() == OffsetsKind::Ends;
  Value zero = mb.i64Constant(0);
  Value offsets = mb.toI64(mb.dim(lines.groups, 0));
  count = ends ? offsets : mb.maxS(mb.sub(offsets, mb.i64Constant(1)), zero);
  allocate();
  SmallVector<Value> init(lines.scales.size() + 1, zero);
  // Whether no group so far has broken the rule.
  if (lines.checksRoom())
    init.push_back(mb.constant(mb.builder.getI1Type(), 1));
  auto passOver = [&](bool isStored) {
    return [this, isStored](Value g, ValueRange carried) {
      return emitRow(g, carried, isStored);
    };
  };
  if (!mb.isOnDevice()) {
    mb.forLoop(zero, count, 1, init, passOver(/*isStored=*/true));
    return;
  }
  mb.parallel(mb.toIndex(count), [&](Value index) {
    Value g = mb.toI64(index);
    emitRow(g, mb.forLoop(zero, g, 1, init, passOver(/*isStored=*/false)),
            /*isStored=*/true);
    checkRow(g);
  });
}

SmallVector<Value> GroupTable::emitRow(Value g, ValueRange carried,
                                       bool isStored) {
  bool ends = lines.grouping.getOffsets() == OffsetsKind::Ends;
  Value extent = lines.cutsLines() ? lines.extents.length : lines.extents.lines;
  Value zero = mb.i64Constant(0);
  Value begin, end;
  if (ends) {
    Value next = mb.roundUp(carried[0], lines.grouping.getAlign());
    begin = clamp(mb, next, zero, extent);
    end = clamp(mb, offset(g), begin, extent);
  } else {
    begin = clamp(mb, offset(g), zero, extent);
    end = clamp(mb, offset(mb.add(g, 1)), begin, extent);
  }
  Value size = mb.sub(end, begin);
  // An empty group may repeat the end before it.
  Value previous = end;
  if (ends)
    previous = mb.select(mb.cmp(IntPredicate::eq, size, 0), carried[0], end);
  SmallVector<Value> next{previous};
  Value row = mb.toIndex(g);
  auto store = [&](Value value, int64_t column) {
    if (isStored)
      mb.store(value, table, {row, mb.index(column)});
  };
  store(begin, 0);
  store(size, 1);
  Value isKnown;
  if (lines.checksRoom()) {
    Value isBad = lines.readGroup(mb, g).isBad;
    // The next start is the end of the group.
    if (!ends)
      isBad = mb.bitOr(isBad, lines.readGroup(mb, mb.add(g, 1)).isBad);
    isKnown = mb.bitAnd(carried.back(), mb.logicalNot(isBad));
  }
  for (size_t i = 0; i < lines.scales.size(); ++i) {
    Value start = startOf(i, g, begin, carried[i + 1]);
    store(start, static_cast<int64_t>(i) + 2);
    if (isStored && isKnown)
      lines.checkRoom(mb, i, isKnown, start, size);
    next.push_back(mb.add(carried[i + 1], paddedSize(i, size)));
  }
  if (isKnown)
    next.push_back(isKnown);
  return next;
}

void GroupTable::checkRow(Value g) {
  if (!lines.checks)
    return;
  lines.checkGroup(mb, g);
  // There is one start more than groups.
  if (hasStarts(lines.grouping))
    mb.ifThen(mb.cmp(IntPredicate::eq, mb.add(g, 1), count),
              [&] { lines.checkGroup(mb, count); });
}

Value GroupTable::findLast(Value value, function_ref<Value(Value)> key) {
  // Groups below the first bound have keys of at most `value`; those from the
  // second on do not.
  Value zero = mb.i64Constant(0);
  auto search = scf::WhileOp::create(
      mb.builder, mb.loc, TypeRange{mb.i64, mb.i64}, ValueRange{zero, count},
      [&](OpBuilder &, Location, ValueRange bounds) {
        scf::ConditionOp::create(
            mb.builder, mb.loc, mb.cmp(IntPredicate::slt, bounds[0], bounds[1]),
            bounds);
      },
      [&](OpBuilder &, Location, ValueRange bounds) {
        Value middle = mb.shr(mb.add(bounds[0], bounds[1]), 1);
        Value isBelow = mb.cmp(IntPredicate::sle, key(middle), value);
        scf::YieldOp::create(
            mb.builder, mb.loc,
            ValueRange{mb.select(isBelow, mb.add(middle, 1), bounds[0]),
                       mb.select(isBelow, bounds[1], middle)});
      });
  return mb.sub(search.getResult(0), mb.i64Constant(1));
}

Value GroupTable::find(Value position) {
  Value group = findLast(position, [&](Value g) { return begin(g); });
  return mb.branch(
      mb.cmp(IntPredicate::sge, group, 0),
      [&] {
        Value distance = mb.sub(position, begin(group));
        return mb.select(mb.cmp(IntPredicate::ult, distance, size(group)),
                         group, mb.i64Constant(-1));
      },
      [&] { return group; });
}

Value GroupTable::firstUnit(Value group, int64_t size) {
  return mb.add(mb.div(begin(group), size), group);
}

Value GroupTable::findByUnit(Value number, int64_t size) {
  return findLast(number, [&](Value g) { return firstUnit(g, size); });
}
