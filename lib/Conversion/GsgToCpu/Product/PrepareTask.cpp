//===- PrepareTask.cpp - one task of row preparation ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few rows of activations of one problem, unpacked for the inner kernel.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

void ProductEmitter::prepareRows(Value callee, Value entry, Value row0,
                                 Value rows, Value offsets, Value prepared) {
  Value rowData = offsets, rowScales = mb.ptrAdd(offsets, 8 * kPrepareRows);
  Value stride = field(entry, problem::LhsRowStride);
  Value scaleRow = field(entry, problem::LhsScaleRow);
  Value tileStride = field(entry, problem::LhsTileStride);
  mb.forLoop(mb.i64Constant(0), rows, 1, [&](Value index) {
    Value row = mb.add(row0, index);
    Value slotOffset = mb.shl(index, 3);
    mb.store(mb.mul(row, stride), mb.ptrAdd(rowData, slotOffset));
    mb.store(scaleRowOffset(product.lhsType.getLayout(), mb.add(scaleRow, row),
                            tileStride),
             mb.ptrAdd(rowScales, slotOffset));
  });
  callAt(callee, kernels.prepareRows,
         {toPtr(field(entry, problem::LhsData)),
          toPtr(field(entry, problem::LhsScales)), rowData, rowScales, rows,
          field(entry, problem::Depth), field(entry, problem::LhsWordStride),
          field(entry, problem::Phase), prepared});
}

Value ProductEmitter::preparedAt(Value entry, Value row0) {
  Value offset = buildPreparedOffset(
      builder, product.loc, row0, field(entry, problem::Depth),
      kernelSlot(entry, &KernelSlots::stepBytes));
  return mb.ptrAdd(slotPtr(product.prepared),
                   mb.add(field(entry, problem::PreparedOffset), offset));
}

LLVM::LLVMFuncOp ProductEmitter::emitPrepareTask() {
  auto func = beginFunction("_prepare", {mb.i64}, Scope::All);
  Value task = func.getArgument(1);
  Value offsets = buffer(2 * 8 * kPrepareRows);
  Value group = findProblem(problem::FirstPrepareBlock, task);
  Value entry = problemAt(group);
  Value row0 = mb.mul(mb.sub(task, field(entry, problem::FirstPrepareBlock)),
                      kPrepareRows);
  Value rows = mb.minS(mb.sub(field(entry, problem::Rows), row0), kPrepareRows);
  prepareRows(toPtr(kernelSlot(entry, &KernelSlots::prepareRows)), entry, row0,
              rows, offsets, preparedAt(entry, row0));
  endFunction();
  return func;
}
