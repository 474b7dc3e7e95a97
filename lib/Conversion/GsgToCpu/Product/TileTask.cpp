//===- TileTask.cpp - one tile of the result --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to 128 rows of one problem times 64 weight rows over all of K, and its
// epilogue. Tasks are numbered in bands of 16 panels over all problems, so that
// equal shares of the numbers are nearly equal shares of the work whatever the
// sizes of the groups. In a band the panels of a block of rows follow each
// other: its prepared rows stay in the second-level cache meanwhile.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

void ProductEmitter::multiply(Value callee, Value entry, Value prepared,
                              ValueRange operands) {
  Value rows = operands[1], needed = operands[2], data = operands[3],
        scales = operands[4], nextData = operands[5], nextScales = operands[6],
        scratch = operands[7], tile = operands[8];
  callAt(callee, kernels.gemmTile,
         {prepared, rows, field(entry, problem::Depth),
          toPtr(field(entry, problem::RhsData)),
          toPtr(field(entry, problem::RhsScales)), data, scales, needed,
          field(entry, problem::RhsWordStride), field(entry, problem::Phase),
          nextData, nextScales, scratch, tile});
}

LLVM::LLVMFuncOp ProductEmitter::emitTileTask(ArrayRef<Functions> choices) {
  Func tileColumns = emitTileColumns();
  auto func = beginFunction("_tile", {mb.i64}, Scope::All);
  Value task = func.getArgument(1);
  auto largest = [&](int64_t Functions::*size) {
    return (*llvm::max_element(choices,
                               [&](const auto &a, const auto &b) {
                                 return a.*size < b.*size;
                               })).*
           size;
  };
  Value scratch = buffer(largest(&Functions::scratchBytes));
  static_assert(kTaskRows % 16 == 0, "whole tiles of AMX");
  Value tile = buffer(largest(&Functions::accumulatorBytes));
  constexpr int64_t arrayBytes = 8 * kPanelColumns;
  Value data = buffer(arrayBytes), scales = buffer(arrayBytes),
        weightRows = buffer(arrayBytes), nextData = buffer(arrayBytes),
        nextScales = buffer(arrayBytes), nextRows = buffer(arrayBytes);
  Value rowBlocks = slot(product.rowBlocks), panels = slot(product.panels);
  Value width = mb.i64Constant(product.taskColumns());
  Value bandTasks = mb.mul(rowBlocks, kBandPanels);
  struct Location {
    Value rowBlock, panel, group, entry, first, columns;
  };
  // Columns are counted in the result, and those left from the first one on.
  auto locate = [&](Value number) {
    Location at;
    Value band = mb.div(number, bandTasks);
    Value inBand = mb.sub(number, mb.mul(band, bandTasks));
    Value firstPanel = mb.mul(band, kBandPanels);
    Value bandPanels = mb.minS(mb.sub(panels, firstPanel), kBandPanels);
    at.rowBlock = mb.div(inBand, bandPanels);
    at.panel = mb.add(firstPanel, mb.rem(inBand, bandPanels));
    at.group = findProblem(problem::FirstRowBlock, at.rowBlock);
    at.entry = problemAt(at.group);
    at.first = mb.mul(at.panel, width);
    at.columns =
        mb.sub(outputColumns(field(at.entry, problem::Columns)), at.first);
    return at;
  };
  auto [rowBlock, panel, group, entry, first, left] = locate(task);
  Value number = tileNumber(panel, rowBlock);
  if (product.amax)
    mb.store(mb.constantF32(mb.f32, 0.0f),
             mb.ptrAdd(slotPtr(product.maxima), mb.shl(number, 2)));

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
    Value tasks = mb.mul(rowBlocks, panels);
    Value next = mb.minS(mb.add(task, 1), mb.sub(tasks, mb.i64Constant(1)));
    Location ahead = locate(next);
    mb.call(tileColumns, {frame, ahead.entry, ahead.first, dataBase, scalesBase,
                          nextData, nextScales, nextRows});
    // A pair needs its up column too, which comes 32 later.
    Value needed = product.isPaired() ? mb.add(columns, 32) : columns;
    SmallVector<Value> operands = {row0,     rows,       needed,  data, scales,
                                   nextData, nextScales, scratch, tile};
    multiply(toPtr(kernelSlot(entry, &KernelSlots::gemmTile)), entry,
             preparedAt(entry, row0), operands);
    const Functions *partial = llvm::find_if(
        choices, [](const Functions &choice) { return !!choice.untiledRows; });
    if (partial != choices.end()) {
      Value address = slot(product.untiledRows);
      Value isPartial =
          mb.bitAnd(mb.cmp(IntPredicate::ne, address, 0), hasManyRows(entry));
      mb.ifThen(isPartial, [&] {
        SmallVector<Value> args = {frame, entry};
        llvm::append_range(args, operands);
        callAt(toPtr(address), partial->untiledRows, args);
      });
    }
    callAt(
        slotPtr(product.epilogue), choices.front().epilogue,
        {frame, number, group, row0, rows, first, columns, weightRows, tile});
    callAt(slotPtr(product.store), choices.front().store,
           {frame, group, row0, rows, first, columns, tile});
    if (choices.front().copyTile)
      callAt(slotPtr(product.copyTile), choices.front().copyTile,
             {frame, group, row0, rows, first, columns, tile});
  });
  endFunction();
  return func;
}
