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

void ProductEmitter::prepareRows(const Kernels &with, Value entry, Value row0,
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
  mb.call(with.prepareRows,
          {toPtr(field(entry, problem::LhsData)),
           toPtr(field(entry, problem::LhsScales)), rowData, rowScales, rows,
           field(entry, problem::Depth), field(entry, problem::LhsWordStride),
           field(entry, problem::Phase), prepared});
}

LLVM::LLVMFuncOp ProductEmitter::emitPrepareTask() {
  auto func = beginFunction("_prepare", {mb.i64});
  Value task = func.getArgument(1);
  Value offsets = buffer(2 * 8 * kPrepareRows);
  Value group = findProblem(problem::FirstPrepareBlock, task);
  Value entry = problemAt(group);
  Value row0 = mb.mul(mb.sub(task, field(entry, problem::FirstPrepareBlock)),
                      kPrepareRows);
  Value rows = mb.minS(mb.sub(field(entry, problem::Rows), row0), kPrepareRows);
  Value depth = field(entry, problem::Depth);
  Value base = mb.ptrAdd(slotPtr(product.prepared),
                         field(entry, problem::PreparedOffset));
  auto prepare = [&](const Kernels &with, const KernelPlan &layout) {
    Value at = buildPreparedOffset(builder, product.loc, layout, row0, depth);
    prepareRows(with, entry, row0, rows, offsets, mb.ptrAdd(base, at));
  };
  auto few = [&] { prepare(kernels, plan); };
  if (manyRows && manyRows->isTiled())
    mb.ifThenElse(
        areManyRows(entry), [&] { prepare(manyRows->kernels, manyRows->plan); },
        few);
  else
    few();
  endFunction();
  return func;
}
