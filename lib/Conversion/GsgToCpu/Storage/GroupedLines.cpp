//===- GroupedLines.cpp - loops over the lines of groups --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ragged forms resolve their offsets once, one thread, into a table with a row
// a group: first position, size, and the start of each tensor of scales.
//
//===----------------------------------------------------------------------===//

#include "GroupedLines.h"
#include "ScaleTile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

namespace {
/// What is known of the groups while the loops run.
class GroupTable {
public:
  GroupTable(LoopBuilder &mb, const GroupedLines &lines);

  Value begin(Value group) { return entry(group, 0); }
  Value size(Value group) { return entry(group, 1); }
  Value start(Value group, size_t tensor) {
    return entry(group, static_cast<int64_t>(tensor) + 2);
  }
  /// The group that `position` lies in, or -1.
  Value find(Value position);
  void free() { memref::DeallocOp::create(mb.builder, mb.loc, table); }

  /// i64.
  Value count;

private:
  Value entry(Value group, int64_t column) {
    return mb.load(table, {mb.toIndex(group), mb.index(column)});
  }
  Value offset(Value index) {
    Value loaded = mb.load(lines.groups, {mb.toIndex(index)});
    return loaded.getType().isInteger(64) ? loaded
                                          : mb.signExtend(loaded, mb.i64);
  }
  Value startOf(size_t tensor, Value group, Value begin, Value packed);
  Value paddedSize(size_t tensor, Value size);

  LoopBuilder &mb;
  const GroupedLines &lines;
  Value table;
};
} // namespace

static Value clamp(MathBuilder &mb, Value x, Value low, Value high) {
  return mb.minS(mb.maxS(x, low), high);
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

GroupTable::GroupTable(LoopBuilder &mb, const GroupedLines &lines)
    : mb(mb), lines(lines) {
  GroupingAttr grouping = lines.grouping;
  bool ends = grouping.getOffsets() == OffsetsKind::Ends;
  Value zero = mb.i64Constant(0);
  Value offsets = mb.toI64(mb.dim(lines.groups, 0));
  count = ends ? offsets : mb.maxS(mb.sub(offsets, mb.i64Constant(1)), zero);
  int64_t columns = static_cast<int64_t>(lines.scales.size()) + 2;
  table = memref::AllocOp::create(
      mb.builder, mb.loc,
      MemRefType::get({ShapedType::kDynamic, columns}, mb.i64),
      ValueRange{mb.toIndex(count)});
  Value extent = lines.cutsLines() ? lines.extents.length : lines.extents.lines;
  SmallVector<Value> init(lines.scales.size() + 1, zero);
  mb.forLoop(zero, count, 1, init, [&](Value g, ValueRange carried) {
    Value begin, end;
    if (ends) {
      begin =
          clamp(mb, mb.roundUp(carried[0], grouping.getAlign()), zero, extent);
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
    mb.store(begin, table, {row, mb.index(0)});
    mb.store(size, table, {row, mb.index(1)});
    for (size_t i = 0; i < lines.scales.size(); ++i) {
      mb.store(startOf(i, g, begin, carried[i + 1]), table,
               {row, mb.index(static_cast<int64_t>(i) + 2)});
      next.push_back(mb.add(carried[i + 1], paddedSize(i, size)));
    }
    return next;
  });
}

Value GroupTable::find(Value position) {
  return mb.forLoop(mb.i64Constant(0), count, 1, {mb.i64Constant(-1)},
                    [&](Value g, ValueRange found) {
                      Value inside =
                          mb.cmp(IntPredicate::ult, mb.sub(position, begin(g)),
                                 size(g));
                      return SmallVector<Value>{mb.select(inside, g, found[0])};
                    })[0];
}

bool GroupedLines::cutsLines() const {
  if (!grouping)
    return false;
  switch (grouping.getKind()) {
  case GroupingKind::Dense:
  case GroupingKind::Batched:
    return false;
  case GroupingKind::RaggedRows:
  case GroupingKind::Masked:
    return type.getAxis() == type.getRank() - 2;
  case GroupingKind::RaggedK:
    return type.getAxis() == type.getRank() - 1;
  }
  llvm_unreachable("expected a form of grouping");
}

/// Whether the scales of [line or block] .. + count exist for all tensors.
static Value hasRoom(MathBuilder &mb, const GroupedLines &lines,
                     const LinePart &part) {
  Value fits;
  for (auto [scales, at] : llvm::zip_equal(lines.scales, part.scales)) {
    Value needed, room;
    if (lines.cutsLines()) {
      int64_t block = scales.type.getBlockSize();
      needed = mb.add(at.along, mb.div(mb.add(part.size, block - 1), block));
      room = scales.numBlocks(mb);
    } else {
      needed = mb.add(at.line, 1);
      room = scales.numLines(mb);
    }
    Value one = mb.cmp(IntPredicate::sle, needed, room);
    fits = fits ? mb.bitAnd(fits, one) : one;
  }
  return fits;
}

/// The parts of one line.
static void forPartsOfLine(MathBuilder &mb, const GroupedLines &lines,
                           GroupTable *table, Value batch, Value line,
                           function_ref<void(const LinePart &)> body) {
  Value zero = mb.i64Constant(0);
  LinePart part;
  part.group = batch;
  part.begin = {batch, line, zero};
  part.size = lines.extents.length;
  part.scales.assign(lines.scales.size(), part.begin);
  part.lineInGroup = line;
  part.linesOfGroup = lines.extents.lines;
  GroupingKind kind =
      lines.grouping ? lines.grouping.getKind() : GroupingKind::Dense;
  if (kind == GroupingKind::Dense || kind == GroupingKind::Batched)
    return body(part);

  if (kind == GroupingKind::Masked) {
    Value index = arith::IndexCastOp::create(mb.builder, mb.loc,
                                             mb.builder.getIndexType(), batch);
    Value rows = memref::LoadOp::create(mb.builder, mb.loc, lines.groups,
                                        ValueRange{index});
    if (!rows.getType().isInteger(64))
      rows = mb.signExtend(rows, mb.i64);
    if (lines.cutsLines()) {
      part.size = mb.minS(rows, lines.extents.length);
      return mb.ifThen(mb.cmp(IntPredicate::sgt, part.size, 0),
                       [&] { body(part); });
    }
    part.linesOfGroup = mb.minS(rows, lines.extents.lines);
    return mb.ifThen(mb.cmp(IntPredicate::slt, line, part.linesOfGroup),
                     [&] { body(part); });
  }

  if (lines.cutsLines()) {
    mb.forLoop(zero, table->count, 1, [&](Value g) {
      part.group = g;
      part.begin.along = table->begin(g);
      part.size = table->size(g);
      for (size_t i = 0; i < part.scales.size(); ++i)
        part.scales[i].along = table->start(g, i);
      mb.ifThen(hasRoom(mb, lines, part), [&] { body(part); });
    });
    return;
  }

  part.group = table->find(line);
  mb.ifThen(mb.cmp(IntPredicate::sge, part.group, 0), [&] {
    part.lineInGroup = mb.sub(line, table->begin(part.group));
    part.linesOfGroup = table->size(part.group);
    for (size_t i = 0; i < part.scales.size(); ++i)
      part.scales[i].line =
          mb.add(table->start(part.group, i), part.lineInGroup);
    mb.ifThen(hasRoom(mb, lines, part), [&] { body(part); });
  });
}

void GroupedLines::forEachPart(
    LoopBuilder &mb, function_ref<void(const LinePart &)> body) const {
  std::optional<GroupTable> table;
  if (grouping && (grouping.getKind() == GroupingKind::RaggedRows ||
                   grouping.getKind() == GroupingKind::RaggedK))
    table.emplace(mb, *this);

  int64_t unit = type.isKMajor() ? 1 : 2;
  Value zero = mb.i64Constant(0);
  Value units = mb.div(mb.add(extents.lines, unit - 1), unit);
  auto runUnit = [&](Value number) {
    Value batch = zero, first = number;
    if (type.getRank() > 2) {
      batch = mb.div(number, units);
      first = mb.rem(number, units);
    }
    auto runLine = [&](Value line) {
      forPartsOfLine(mb, *this, table ? &*table : nullptr, batch, line, body);
    };
    if (unit == 1)
      return runLine(first);
    first = mb.mul(first, unit);
    Value end = mb.minS(mb.add(first, unit), extents.lines);
    mb.forLoop(first, end, 1, runLine);
  };
  Value total = mb.mul(units, extents.batches);
  if (sequential)
    mb.forLoop(zero, total, 1, runUnit);
  else
    mb.parallel(mb.toIndex(total),
                [&](Value number) { runUnit(mb.toI64(number)); });
  if (table)
    table->free();
}

Value cpu::emitGroupEntry(MathBuilder &mb, Value value, Value group) {
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
