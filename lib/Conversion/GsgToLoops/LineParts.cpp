//===- LineParts.cpp - Loops over the lines of groups -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the host a thread has a line, on a device a block of one: neighbouring
// threads have neighbouring blocks, or neighbouring lines if those are columns.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/LineParts.h"

#include "nvfp4/Conversion/GsgToLoops/GroupTable.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

void LinePart::forEachBlock(MathBuilder &mb, int64_t length,
                            function_ref<void(Value, Value)> body) const {
  std::optional<int64_t> known = getConstantIntValue(size);
  bool hasRest = !known || *known % length != 0;
  Value full = mb.div(size, length), rest = mb.rem(size, length);
  if (!block) {
    mb.forLoop(mb.i64Constant(0), full, 1,
               [&](Value number) { body(number, Value()); });
    if (hasRest)
      mb.ifThen(mb.cmp(IntPredicate::ne, rest, 0), [&] { body(full, rest); });
    return;
  }
  mb.ifThen(mb.cmp(IntPredicate::slt, block, full),
            [&] { body(block, Value()); });
  if (!hasRest)
    return;
  Value isLast = mb.cmp(IntPredicate::eq, block, full);
  Value isRest = mb.bitAnd(isLast, mb.cmp(IntPredicate::ne, rest, 0));
  mb.ifThen(isRest, [&] { body(block, rest); });
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

/// Whether a thread has the first block of the first line.
static Value isFirstThread(MathBuilder &mb, Value line, Value block) {
  Value isFirst = mb.cmp(IntPredicate::eq, line, 0);
  return block ? mb.bitAnd(isFirst, mb.cmp(IntPredicate::eq, block, 0))
               : isFirst;
}

/// The parts of one line; on a device that with the block of the thread, which
/// is number `block` of the line.
static void forPartsOfLine(LoopBuilder &mb, const GroupedLines &lines,
                           GroupTable *table, Value batch, Value line,
                           Value block,
                           function_ref<void(const LinePart &)> body) {
  Value zero = mb.i64Constant(0);
  LinePart part;
  part.block = block;
  part.group = batch;
  part.begin = {batch, line, zero};
  part.size = lines.extents.length;
  part.scales.assign(lines.scales.size(), part.begin);
  part.lineInGroup = line;
  part.linesOfGroup = lines.extents.lines;
  if (!lines.grouping || !lines.grouping.hasGroupsOperand())
    return body(part);

  if (getForm(lines.grouping).hasCounts()) {
    if (lines.checks)
      mb.ifThen(isFirstThread(mb, line, block),
                [&] { lines.checkGroup(mb, batch); });
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
    auto runGroup = [&](Value g) {
      part.group = g;
      part.begin.along = table->begin(g);
      part.size = table->size(g);
      for (size_t i = 0; i < part.scales.size(); ++i)
        part.scales[i].along = table->start(g, i);
      mb.ifThen(hasRoom(mb, lines, part), [&] { body(part); });
    };
    if (!block)
      return mb.forLoop(zero, table->count, 1, runGroup);
    int64_t size = lines.type.getBlockSize();
    Value group = table->findByUnit(block, size);
    mb.ifThen(mb.cmp(IntPredicate::sge, group, 0), [&] {
      part.block = mb.sub(block, table->firstUnit(group, size));
      runGroup(group);
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

namespace {
/// The iterations of one loop over all lines.
struct LineLoop {
  LoopBuilder &mb;
  const GroupedLines &lines;
  GroupTable *table;
  function_ref<void(const LinePart &)> body;
  /// Lines that one thread has, and how many such units a batch has.
  int64_t unit;
  Value units;

  void runOnHost() {
    Value total = mb.mul(units, lines.extents.batches);
    mb.parallel(mb.toIndex(total),
                [&](Value n) { runUnitOfAll(mb.toI64(n), Value()); });
  }

  void runOnDevice() {
    Value batches = lines.extents.batches;
    if (lines.wholeLines) {
      mb.parallel(mb.toIndex(mb.mul(units, batches)),
                  [&](Value n) { runUnitOfAll(mb.toI64(n), Value()); });
      return;
    }
    Value blocks = countBlocks();
    Value total = mb.mul(mb.mul(blocks, units), batches);
    mb.parallel(mb.toIndex(total), [&](Value index) {
      Value n = mb.toI64(index);
      if (!lines.areColumns) {
        Value unit = mb.div(n, blocks);
        return runUnitOfAll(unit, mb.rem(n, blocks));
      }
      Value number = mb.div(n, units);
      Value batch = isBatched() ? mb.div(number, blocks) : mb.i64Constant(0);
      Value block = isBatched() ? mb.rem(number, blocks) : number;
      runUnit(batch, mb.rem(n, units), block);
    });
  }

  /// Blocks of a line; each group that cuts lines may begin one more.
  Value countBlocks() {
    int64_t size = lines.type.getBlockSize();
    Value length = lines.extents.length;
    Value blocks = mb.div(mb.add(length, size - 1), size);
    if (std::optional<int64_t> known = getConstantIntValue(length))
      blocks = mb.i64Constant(llvm::divideCeil(*known, size));
    return table && lines.cutsLines() ? mb.add(blocks, table->count) : blocks;
  }

  void runUnit(Value batch, Value number, Value block) {
    auto runLine = [&](Value line) {
      forPartsOfLine(mb, lines, table, batch, line, block, body);
    };
    if (unit == 1)
      return runLine(number);
    Value first = mb.mul(number, unit);
    Value end = mb.minS(mb.add(first, unit), lines.extents.lines);
    mb.forLoop(first, end, 1, runLine);
  }

private:
  bool isBatched() const { return lines.type.getRank() > 2; }

  void runUnitOfAll(Value number, Value block) {
    Value batch = mb.i64Constant(0), first = number;
    if (isBatched()) {
      batch = mb.div(number, units);
      first = mb.rem(number, units);
    }
    runUnit(batch, first, block);
  }
};

/// The table of the groups of lines, if they have offsets.
struct LineTable {
  std::optional<GroupTable> table;

  LineTable(LoopBuilder &mb, const GroupedLines &lines) {
    if (lines.grouping && getForm(lines.grouping).hasOffsets())
      table.emplace(mb, lines);
  }
  GroupTable *get() { return table ? &*table : nullptr; }
  void free() {
    if (table)
      table->free();
  }
};
} // namespace

void loops::checkGlobalScale(LoopBuilder &mb, const GroupedLines &lines,
                             const LinePart &part, Value globalScale) {
  if (!lines.checks.find(warpspec::DataKind::Positive))
    return;
  // Every group with elements has such a part.
  mb.ifThen(isFirstThread(mb, part.lineInGroup, part.block), [&] {
    lines.checks.checkPositive(mb, emitGroupEntry(mb, globalScale, part.group));
  });
}

void loops::forEachPart(LoopBuilder &mb, const GroupedLines &lines,
                        function_ref<void(const LinePart &)> body) {
  LineTable table(mb, lines);
  int64_t unit = lines.type.isKMajor() ? 1 : 2;
  Value units = mb.div(mb.add(lines.extents.lines, unit - 1), unit);
  LineLoop loop{mb, lines, table.get(), body, unit, units};
  if (mb.isOnDevice())
    loop.runOnDevice();
  else
    loop.runOnHost();
  table.free();
}

void loops::forEachPartOfBoth(LoopBuilder &mb, const GroupedLines &rows,
                              function_ref<void(const LinePart &)> ofRow,
                              const GroupedLines &columns,
                              function_ref<void(const LinePart &)> ofColumn) {
  LineTable rowTable(mb, rows), columnTable(mb, columns);
  Value numRows = rows.extents.lines, numColumns = columns.extents.lines;
  LineLoop rowLoop{mb, rows, rowTable.get(), ofRow, /*unit=*/1, numRows};
  LineLoop columnLoop{mb,       columns,    columnTable.get(),
                      ofColumn, /*unit=*/1, numColumns};
  int64_t size = columns.type.getBlockSize();
  Value total = mb.mul(columnLoop.countBlocks(), numColumns);
  mb.parallel(mb.toIndex(total), [&](Value index) {
    Value n = mb.toI64(index), batch = mb.i64Constant(0);
    Value block = mb.div(n, numColumns), column = mb.rem(n, numColumns);
    // As many blocks of rows as columns are in `size` rows.
    Value row = mb.add(mb.mul(block, size), mb.rem(column, size));
    mb.ifThen(mb.cmp(IntPredicate::slt, row, numRows),
              [&] { rowLoop.runUnit(batch, row, mb.div(column, size)); });
    columnLoop.runUnit(batch, column, block);
  });
  columnTable.free();
  rowTable.free();
}
