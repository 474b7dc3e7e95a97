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

#include "../Storage/ScaleTile.h"
#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
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

LLVM::LLVMFuncOp ProductEmitter::emitFillTable() {
  auto func = beginFunction("_fill_table", {});
  const GroupingKind kind =
      product.isList() ? GroupingKind::Dense : product.grouping.getKind();
  const bool raggedRows = kind == GroupingKind::RaggedRows;
  const bool raggedK = kind == GroupingKind::RaggedK;
  const int64_t block = product.lhsType.getBlockSize();
  Value zero = mb.i64Constant(0);
  Value table = slotPtr(product.table);
  Value groups = product.groups ? slotPtr(product.groups) : Value();
  auto loadOffset = [&](Value index) -> Value {
    if (product.groupsBits == 64)
      return mb.load(mb.i64, mb.ptrAdd(groups, mb.shl(index, 3)));
    return mb.signExtend(mb.load(mb.i32, mb.ptrAdd(groups, mb.shl(index, 2))),
                         mb.i64);
  };
  // The start of a group's rows (or scale columns) in a buffer of scales.
  auto startOf = [&](const ScalesRef &ref, Value first, Value size, Value group,
                     Value &compact) -> Value {
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
  };
  // Byte offset and running sum of scale columns with groups along K.
  auto columnsOf = [&](const ScalesRef &ref, Value first, Value size,
                       Value &compact) -> Value {
    Value column = mb.div(first, block);
    if (ref.start == GroupStart::Compact) {
      column = compact;
      Value count = mb.div(mb.add(size, block - 1), block);
      compact =
          mb.add(compact,
                 mb.roundUp(count, ref.layout == ScaleLayout::Linear ? 1 : 4));
    }
    if (ref.layout == ScaleLayout::Linear)
      return column;
    return mb.add(mb.mul(mb.shr(column, 2), slot(ref.wordStride)),
                  mb.bitAnd(column, 3));
  };

  SmallVector<Value> init(NumCarried, zero);
  auto body = [&](Value group, ValueRange carriedIn) {
    SmallVector<Value> carried(carriedIn);
    Value entry = mb.ptrAdd(table, mb.mul(group, 8 * problem::Count));
    Value rows, depth;
    if (product.isList()) {
      rows = field(entry, problem::Rows);
      depth = field(entry, problem::Depth);
    } else {
      // The range of the group along its ragged dimension.
      Value first = zero, size = zero;
      Value extent = slot(raggedK ? product.depth : product.rowsPerGroup);
      if (raggedRows)
        extent = slot(product.totalRows);
      auto limit = [&](Value x) { return mb.minS(mb.maxS(x, 0), extent); };
      if (raggedRows || raggedK) {
        if (product.grouping.getOffsets() == OffsetsKind::Ends) {
          Value end = limit(loadOffset(group));
          first = mb.minS(
              mb.roundUp(carried[PreviousEnd], product.grouping.getAlign()),
              extent);
          carried[PreviousEnd] = mb.maxS(carried[PreviousEnd], end);
          size = mb.maxS(mb.sub(end, first), 0);
        } else {
          first = limit(loadOffset(group));
          Value end = limit(loadOffset(mb.add(group, 1)));
          size = mb.maxS(mb.sub(end, first), 0);
        }
      } else if (kind == GroupingKind::Masked) {
        size = limit(loadOffset(group));
      } else {
        size = extent;
      }
      rows = raggedK ? slot(product.rowsPerGroup) : size;
      depth = raggedK ? size : slot(product.depth);
      Value firstRow =
          raggedRows ? first : mb.mul(group, slot(product.rowsPerGroup));
      setField(entry, problem::Rows, rows);
      setField(entry, problem::Columns, slot(product.columns));
      setField(entry, problem::Depth, depth);
      setField(entry, problem::FirstRow, firstRow);
      setField(entry, problem::Phase, raggedK ? mb.bitAnd(first, 1) : zero);
      auto byteInRow = [&](ScaledType type) {
        if (!raggedK)
          return zero;
        return type.isFP4() ? mb.shr(first, 1) : first;
      };

      auto rowAddress = [&](const MatrixRef &matrix, Value row) {
        Value base = mb.add(slot(matrix.address),
                            mb.mul(group, slot(matrix.groupStride)));
        return mb.add(base, mb.mul(row, slot(matrix.rowStride)));
      };
      Value sharedRow = raggedRows ? first : zero;
      setField(entry, problem::LhsData,
               mb.add(rowAddress(product.lhs, sharedRow),
                      byteInRow(product.lhsType)));
      setField(entry, problem::LhsRowStride, slot(product.lhs.rowStride));
      auto scalesAddress = [&](const ScalesRef &ref, Value &compact) {
        Value base =
            mb.add(slot(ref.address), mb.mul(group, slot(ref.groupStride)));
        return raggedK ? mb.add(base, columnsOf(ref, first, size, compact))
                       : base;
      };
      setField(entry, problem::LhsScales,
               scalesAddress(product.lhsScales, carried[LhsCompact]));
      Value scaleRow = zero;
      if (raggedRows)
        scaleRow =
            startOf(product.lhsScales, first, size, group, carried[LhsCompact]);
      setField(entry, problem::LhsScaleRow, scaleRow);
      setField(entry, problem::LhsTileStride,
               slot(product.lhsScales.tileStride));
      setField(entry, problem::LhsWordStride,
               slot(product.lhsScales.wordStride));
      if (!product.fixedRhs) {
        setField(
            entry, problem::RhsData,
            mb.add(rowAddress(product.rhs, zero), byteInRow(product.rhsType)));
        setField(entry, problem::RhsRowStride, slot(product.rhs.rowStride));
        setField(entry, problem::RhsScales,
                 scalesAddress(product.rhsScales, carried[RhsCompact]));
        setField(entry, problem::RhsTileStride,
                 slot(product.rhsScales.tileStride));
        setField(entry, problem::RhsWordStride,
                 slot(product.rhsScales.wordStride));
      }
      auto setMatrix = [&](const std::optional<MatrixRef> &matrix,
                           problem::Field data, problem::Field stride) {
        if (!matrix)
          return;
        Value row = matrix->perGroup ? zero : firstRow;
        setField(entry, data, rowAddress(*matrix, row));
        setField(entry, stride, slot(matrix->rowStride));
      };
      setMatrix(product.out, problem::OutData, problem::OutRowStride);
      setMatrix(product.addend, problem::AddendData, problem::AddendRowStride);
      setMatrix(product.preact, problem::PreactData, problem::PreactRowStride);
      if (const auto &scales = product.outScales) {
        setField(entry, problem::OutScales,
                 mb.add(slot(scales->address),
                        mb.mul(group, slot(scales->groupStride))));
        setField(entry, problem::OutScaleRow,
                 raggedRows
                     ? startOf(*scales, first, size, group, carried[OutCompact])
                     : zero);
      }
    }
    setField(entry, problem::FirstRowBlock, carried[RowBlocks]);
    setField(entry, problem::FirstPrepareBlock, carried[PrepareBlocks]);
    setField(entry, problem::PreparedOffset, carried[Prepared]);
    auto blocksOf = [&](int64_t size) {
      return mb.div(mb.add(rows, size - 1), size);
    };
    carried[RowBlocks] = mb.add(carried[RowBlocks], blocksOf(kTaskRows));
    carried[PrepareBlocks] =
        mb.add(carried[PrepareBlocks], blocksOf(kPrepareRows));
    Value bytes = buildPreparedBytes(builder, product.loc, plan, rows, depth);
    carried[Prepared] = mb.add(carried[Prepared], mb.roundUp(bytes, 64));
    carried[MaxColumns] =
        mb.maxS(carried[MaxColumns], field(entry, problem::Columns));
    return carried;
  };
  SmallVector<Value> sums =
      mb.forLoop(zero, slot(product.numProblems), 1, init, body);
  setSlot(product.rowBlocks, sums[RowBlocks]);
  setSlot(product.prepareBlocks, sums[PrepareBlocks]);
  setSlot(product.preparedBytes, sums[Prepared]);
  Value columns = outputColumns(sums[MaxColumns]);
  int64_t width = product.taskColumns();
  setSlot(product.panels, mb.div(mb.add(columns, width - 1), width));
  endFunction();
  return func;
}
