//===- TileTask.cpp - one tile of the result --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to 256 rows of one problem times 64 weight rows over all of K, and its
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

LLVM::LLVMFuncOp ProductEmitter::emitTileTask() {
  auto func = beginFunction("_tile", {mb.i64});
  Value task = func.getArgument(1);
  Value scratch = buffer(plan.getScratchBytes());
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
    Value depth = field(entry, problem::Depth);
    Value offset =
        mb.add(field(entry, problem::PreparedOffset),
               buildPreparedOffset(builder, product.loc, plan, row0, depth));
    // A pair needs its up column too, which comes 32 later.
    Value needed = product.isPaired() ? mb.add(columns, 32) : columns;
    SmallVector<Value> args = {mb.ptrAdd(slotPtr(product.prepared), offset),
                               rows,
                               depth,
                               toPtr(dataBase),
                               toPtr(scalesBase),
                               data,
                               scales,
                               needed,
                               field(entry, problem::RhsWordStride),
                               field(entry, problem::Phase),
                               nextData,
                               nextScales,
                               scratch,
                               tile};
    if (manyRowsKernels.gemmTile) {
      Value areMany = mb.cmp(IntPredicate::sge, field(entry, problem::Rows),
                             mb.i64Constant(kManyRows));
      mb.ifThenElse(
          areMany, [&] { mb.call(manyRowsKernels.gemmTile, args); },
          [&] { mb.call(kernels.gemmTile, args); });
    } else {
      mb.call(kernels.gemmTile, args);
    }
    mb.call(epilogue,
            {frame, task, group, row0, rows, first, columns, weightRows, tile});
    mb.call(store, {frame, group, row0, rows, first, columns, tile});
  });
  endFunction();
  return func;
}
