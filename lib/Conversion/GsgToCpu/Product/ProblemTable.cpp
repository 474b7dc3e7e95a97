//===- ProblemTable.cpp - fills the table of problems -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads group offsets where the product runs and writes one entry a group:
// extents, addresses, where scales start, and the sums that number the tasks.
// Offsets outside the buffers are cut to them, so nothing is read or written
// out of bounds whatever they hold.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"
#include "nvfp4/Conversion/GsgToLoops/ScaleTile.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

namespace {
/// The running values of the loop over groups.
enum Carried {
  RowBlocks,
  PrepareBlocks,
  Prepared,
  MaxColumns,
  PreviousEnd,
  LhsCompact,
  RhsCompact,
  OutCompact,
  NumCarried
};
} // namespace

void Frame::write(MathBuilder &mb, Value frame) const {
  for (auto [index, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    Value word = value;
    Type type = value.getType();
    if (type.isIndex())
      word = arith::IndexCastOp::create(mb.builder, mb.loc, mb.i64, value);
    else if (isa<LLVM::LLVMPointerType>(type))
      word = LLVM::PtrToIntOp::create(mb.builder, mb.loc, mb.i64, value);
    else if (type.isF32())
      word = mb.zeroExtend(mb.toBits(value), mb.i64);
    mb.store(word, frame, 8 * static_cast<int64_t>(index));
  }
}

namespace {
/// Emits the body of the loop over groups: one entry of the table, and the next
/// running values.
class TableEntry {
public:
  /// `groups` points to the offsets, or is null.
  TableEntry(MathBuilder &mb, const Product &product, Value frame, Value entry,
             Value groups, Value group, ValueRange carried)
      : carried(carried), mb(mb), product(product), frame(frame), entry(entry),
        groups(groups), group(group), zero(mb.i64Constant(0)) {}

  void emit();

  SmallVector<Value> carried;

private:
  Value slot(Frame::Slot slot) { return mb.load(mb.i64, frame, 8 * slot); }
  Value get(problem::Field field) { return mb.load(mb.i64, entry, 8 * field); }
  void set(problem::Field field, Value value) {
    mb.store(value, entry, 8 * field);
  }
  bool isRaggedRows() const { return form.cutsRows(); }
  bool isRaggedK() const { return form.cutsK(); }

  // The group.
  Value loadOffset(Value index);
  void findRange();
  void setExtents();

  // Its parts of the operands.
  Value getRowAddress(const MatrixRef &matrix, Value row);
  Value getByteInRow(ScaledType type);
  Value getByteInLhsRow();
  Value getScalesAddress(const ScalesRef &ref, Value &compact);
  Value getScaleRow(const ScalesRef &ref, Value &compact);
  Value getScaleColumn(const ScalesRef &ref, Value &compact);
  void setLhs();
  void setRhs();
  void setResult(const std::optional<MatrixRef> &matrix, problem::Field data,
                 problem::Field stride);
  void setResultScales();

  Value getPreparedBytes();
  void numberTasks();

  MathBuilder &mb;
  const Product &product;
  const GroupingForm &form = getForm(
      product.isList() ? GroupingKind::Dense : product.grouping.getKind());
  Value frame, entry, groups, group, zero;
  /// Where the group begins along the ragged dimension, and how long it is.
  Value first, size;
  Value firstRow, rows, depth;
};
} // namespace

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

Value TableEntry::loadOffset(Value index) {
  if (product.groupsBits == 64)
    return mb.load(mb.i64, mb.ptrAdd(groups, mb.shl(index, 3)));
  return mb.signExtend(mb.load(mb.i32, mb.ptrAdd(groups, mb.shl(index, 2))),
                       mb.i64);
}

void TableEntry::findRange() {
  first = zero;
  Value extent = slot(isRaggedK()      ? product.depth
                      : isRaggedRows() ? product.totalRows
                                       : product.rowsPerGroup);
  auto limit = [&](Value x) { return mb.minS(mb.maxS(x, 0), extent); };
  if (form.hasCounts()) {
    size = limit(loadOffset(group));
    return;
  }
  if (!isRaggedRows() && !isRaggedK()) {
    size = extent;
    return;
  }
  Value end;
  if (product.grouping.getOffsets() == OffsetsKind::Ends) {
    end = limit(loadOffset(group));
    first = mb.minS(
        mb.roundUp(carried[PreviousEnd], product.grouping.getAlign()), extent);
    carried[PreviousEnd] = mb.maxS(carried[PreviousEnd], end);
  } else {
    first = limit(loadOffset(group));
    end = limit(loadOffset(mb.add(group, 1)));
  }
  size = mb.maxS(mb.sub(end, first), 0);
}

void TableEntry::setExtents() {
  rows = isRaggedK() ? slot(product.rowsPerGroup) : size;
  depth = isRaggedK() ? size : slot(product.depth);
  firstRow = isRaggedRows() ? first : mb.mul(group, slot(product.rowsPerGroup));
  set(problem::Rows, rows);
  set(problem::Columns, slot(product.columns));
  set(problem::Depth, depth);
  set(problem::FirstRow, firstRow);
  set(problem::Phase, isRaggedK() ? mb.bitAnd(first, 1) : zero);
}

//===----------------------------------------------------------------------===//
// Its parts of the operands
//===----------------------------------------------------------------------===//

Value TableEntry::getRowAddress(const MatrixRef &matrix, Value row) {
  Value base =
      mb.add(slot(matrix.address), mb.mul(group, slot(matrix.groupStride)));
  return mb.add(base, mb.mul(row, slot(matrix.rowStride)));
}

/// Where the group begins in each row.
Value TableEntry::getByteInRow(ScaledType type) {
  if (!isRaggedK())
    return zero;
  return type.isFP4() ? mb.shr(first, 1) : first;
}

Value TableEntry::getByteInLhsRow() {
  if (product.plainRows == PlainRows::None)
    return getByteInRow(product.lhsType);
  return isRaggedK() ? mb.shl(first, 1) : zero;
}

Value TableEntry::getScalesAddress(const ScalesRef &ref, Value &compact) {
  Value base = mb.add(slot(ref.address), mb.mul(group, slot(ref.groupStride)));
  return isRaggedK() ? mb.add(base, getScaleColumn(ref, compact)) : base;
}

/// The first row of the group's in a buffer of scales, with groups along rows.
Value TableEntry::getScaleRow(const ScalesRef &ref, Value &compact) {
  if (!isRaggedRows())
    return zero;
  int64_t tile = getRowTile(ref.layout);
  if (ref.start == GroupStart::Whole)
    return first;
  if (ref.start == GroupStart::Compact) {
    Value start = compact;
    compact = mb.add(compact, mb.roundUp(size, tile));
    return start;
  }
  Value bound = mb.add(first, mb.mul(group, tile - 1));
  return mb.mul(mb.div(bound, tile), tile);
}

/// The byte offset of the group's scale columns, with groups along K.
Value TableEntry::getScaleColumn(const ScalesRef &ref, Value &compact) {
  const int64_t block = product.lhsType.getBlockSize();
  Value column = mb.div(first, block);
  if (ref.start == GroupStart::Compact) {
    column = compact;
    Value count = mb.div(mb.add(size, block - 1), block);
    compact = mb.add(
        compact, mb.roundUp(count, ref.layout == ScaleLayout::Linear ? 1 : 4));
  }
  if (ref.layout == ScaleLayout::Linear)
    return column;
  return mb.add(mb.mul(mb.shr(column, 2), slot(ref.wordStride)),
                mb.bitAnd(column, 3));
}

void TableEntry::setLhs() {
  Value row = isRaggedRows() ? first : zero;
  set(problem::LhsData,
      mb.add(getRowAddress(product.lhs, row), getByteInLhsRow()));
  set(problem::LhsRowStride, slot(product.lhs.rowStride));
  set(problem::LhsScales,
      getScalesAddress(product.lhsScales, carried[LhsCompact]));
  set(problem::LhsScaleRow,
      getScaleRow(product.lhsScales, carried[LhsCompact]));
  set(problem::LhsTileStride, slot(product.lhsScales.tileStride));
  set(problem::LhsWordStride, slot(product.lhsScales.wordStride));
}

void TableEntry::setRhs() {
  if (product.fixedRhs)
    return;
  set(problem::RhsData,
      mb.add(getRowAddress(product.rhs, zero), getByteInRow(product.rhsType)));
  set(problem::RhsRowStride, slot(product.rhs.rowStride));
  set(problem::RhsScales,
      getScalesAddress(product.rhsScales, carried[RhsCompact]));
  set(problem::RhsTileStride, slot(product.rhsScales.tileStride));
  set(problem::RhsWordStride, slot(product.rhsScales.wordStride));
}

void TableEntry::setResult(const std::optional<MatrixRef> &matrix,
                           problem::Field data, problem::Field stride) {
  if (!matrix)
    return;
  set(data, getRowAddress(*matrix, matrix->perGroup ? zero : firstRow));
  set(stride, slot(matrix->rowStride));
}

void TableEntry::setResultScales() {
  if (!product.outScales)
    return;
  const ScalesRef &scales = *product.outScales;
  set(problem::OutScales,
      mb.add(slot(scales.address), mb.mul(group, slot(scales.groupStride))));
  set(problem::OutScaleRow, getScaleRow(scales, carried[OutCompact]));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Bytes of whole tiles of rows, of which the last may not be used to its end.
Value TableEntry::getPreparedBytes() {
  Value mask = mb.sub(slot(product.tileRows), mb.i64Constant(1));
  Value padded = mb.add(rows, mask);
  padded = mb.sub(padded, mb.bitAnd(padded, mask));
  Value steps = mb.shr(mb.add(depth, kStep - 1), 5);
  return mb.mul(mb.mul(padded, steps), slot(product.stepBytes));
}

/// Adds the group's tasks to the sums before which they come.
void TableEntry::numberTasks() {
  set(problem::FirstRowBlock, carried[RowBlocks]);
  set(problem::FirstPrepareBlock, carried[PrepareBlocks]);
  set(problem::PreparedOffset, carried[Prepared]);
  auto blocksOf = [&](int64_t size) {
    return mb.div(mb.add(rows, size - 1), size);
  };
  carried[RowBlocks] = mb.add(carried[RowBlocks], blocksOf(kTaskRows));
  carried[PrepareBlocks] =
      mb.add(carried[PrepareBlocks], blocksOf(kPrepareRows));
  carried[Prepared] =
      mb.add(carried[Prepared], mb.roundUp(getPreparedBytes(), 64));
  carried[MaxColumns] = mb.maxS(carried[MaxColumns], get(problem::Columns));
}

void TableEntry::emit() {
  if (product.isList()) {
    // What problems of a list are has been written before.
    rows = get(problem::Rows);
    depth = get(problem::Depth);
  } else {
    findRange();
    setExtents();
    setLhs();
    setRhs();
    setResult(product.out, problem::OutData, problem::OutRowStride);
    setResult(product.addend, problem::AddendData, problem::AddendRowStride);
    setResult(product.preact, problem::PreactData, problem::PreactRowStride);
    setResultScales();
  }
  numberTasks();
}

LLVM::LLVMFuncOp ProductEmitter::emitFillTable() {
  auto func = beginFunction("_fill_table", {}, Scope::All);
  Value zero = mb.i64Constant(0);
  Value table = slotPtr(product.table);
  Value groups = product.groups ? slotPtr(product.groups) : Value();
  SmallVector<Value> init(NumCarried, zero);
  SmallVector<Value> sums = mb.forLoop(
      zero, slot(product.numProblems), 1, init,
      [&](Value group, ValueRange carried) {
        Value at = mb.ptrAdd(table, mb.mul(group, 8 * problem::Count));
        TableEntry entry(mb, product, frame, at, groups, group, carried);
        entry.emit();
        return entry.carried;
      });
  setSlot(product.rowBlocks, sums[RowBlocks]);
  setSlot(product.prepareBlocks, sums[PrepareBlocks]);
  setSlot(product.preparedBytes, sums[Prepared]);
  Value columns = outputColumns(sums[MaxColumns]);
  int64_t width = product.taskColumns();
  setSlot(product.panels, mb.div(mb.add(columns, width - 1), width));
  endFunction();
  return func;
}
