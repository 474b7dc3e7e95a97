//===- TileTask.cpp - one tile of the result --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to 128 rows of one problem times 64 weight rows over all of K, and its
// epilogue. Tasks are numbered panel by panel over all problems, so that equal
// shares of the numbers are nearly equal shares of the work whatever the sizes
// of the groups.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

void ProductEmitter::multiply(const Kernels &with, Value entry, Value prepared,
                              ValueRange operands) {
  Value rows = operands[1], needed = operands[2], data = operands[3],
        scales = operands[4], nextData = operands[5], nextScales = operands[6],
        scratch = operands[7], tile = operands[8];
  mb.call(with.gemmTile,
          {prepared, rows, field(entry, problem::Depth),
           toPtr(field(entry, problem::RhsData)),
           toPtr(field(entry, problem::RhsScales)), data, scales, needed,
           field(entry, problem::RhsWordStride), field(entry, problem::Phase),
           nextData, nextScales, scratch, tile});
}

LLVM::LLVMFuncOp ProductEmitter::emitTileTask() {
  auto func = beginFunction("_tile", {mb.i64});
  Value task = func.getArgument(1);
  int64_t scratchBytes = plan.getScratchBytes();
  if (manyRows)
    scratchBytes = std::max(scratchBytes, manyRows->plan.getScratchBytes());
  Value scratch = buffer(scratchBytes);
  Value tile = buffer(plan.getAccumulatorBytes(kTaskRows));
  constexpr int64_t arrayBytes = 8 * kPanelColumns;
  Value data = buffer(arrayBytes), scales = buffer(arrayBytes),
        weightRows = buffer(arrayBytes), nextData = buffer(arrayBytes),
        nextScales = buffer(arrayBytes), nextRows = buffer(arrayBytes);
  Value rowBlocks = slot(product.rowBlocks);
  Value width = mb.i64Constant(product.taskColumns());
  // A task as group, entry, first result column and number of columns.
  auto locate = [&](Value number) {
    Value rowBlock = mb.rem(number, rowBlocks);
    Value group = findProblem(problem::FirstRowBlock, rowBlock);
    Value entry = problemAt(group);
    Value first = mb.mul(mb.div(number, rowBlocks), width);
    Value count = mb.sub(outputColumns(field(entry, problem::Columns)), first);
    return std::array<Value, 5>{group, entry, first, count, rowBlock};
  };
  auto [group, entry, first, left, rowBlock] = locate(task);
  if (product.amax)
    mb.store(mb.constantF32(mb.f32, 0.0f),
             mb.ptrAdd(slotPtr(product.maxima), mb.shl(task, 2)));

  // The problems of a list may have fewer panels than the widest.
  mb.ifThen(mb.cmp(IntPredicate::sgt, left, 0), [&] {
    Value columns = mb.minS(left, width);
    Value row0 = mb.mul(mb.sub(rowBlock, field(entry, problem::FirstRowBlock)),
                        kTaskRows);
    Value rows = mb.minS(mb.sub(field(entry, problem::Rows), row0), kTaskRows);
    Value dataBase = field(entry, problem::RhsData);
    Value scalesBase = field(entry, problem::RhsScales);
    mb.call(tileColumns, {frame, entry, first, dataBase, scalesBase, data,
                          scales, weightRows});
    Value tasks = mb.mul(rowBlocks, slot(product.panels));
    Value next = mb.minS(mb.add(task, 1), mb.sub(tasks, mb.i64Constant(1)));
    auto [nextGroup, nextEntry, nextFirst, nextLeft, nextBlock] = locate(next);
    (void)nextGroup, (void)nextBlock, (void)nextLeft;
    mb.call(tileColumns, {frame, nextEntry, nextFirst, dataBase, scalesBase,
                          nextData, nextScales, nextRows});
    // A pair needs its up column too, which comes 32 later.
    Value needed = product.isPaired() ? mb.add(columns, 32) : columns;
    SmallVector<Value> operands = {row0,     rows,       needed,  data, scales,
                                   nextData, nextScales, scratch, tile};
    auto preparedBy = [&](const KernelPlan &layout) {
      Value offset =
          mb.add(field(entry, problem::PreparedOffset),
                 buildPreparedOffset(builder, product.loc, layout, row0,
                                     field(entry, problem::Depth)));
      return mb.ptrAdd(slotPtr(product.prepared), offset);
    };
    auto few = [&] { multiply(kernels, entry, preparedBy(plan), operands); };
    auto many = [&] {
      multiply(manyRows->kernels, entry, preparedBy(manyRows->plan), operands);
      if (untiledRows)
        mb.ifThen(findNaN(tile, rows), [&] {
          SmallVector<Value> args = {frame, entry};
          llvm::append_range(args, operands);
          mb.call(untiledRows, args);
        });
    };
    if (manyRows)
      mb.ifThenElse(areManyRows(entry), many, few);
    else
      few();
    mb.call(epilogue,
            {frame, task, group, row0, rows, first, columns, weightRows, tile});
    mb.call(store, {frame, group, row0, rows, first, columns, tile});
  });
  endFunction();
  return func;
}
