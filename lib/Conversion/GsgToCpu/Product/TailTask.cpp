//===- TailTask.cpp - rows outside every group ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Zeroes the rows before group `gap` (with row counts, the rows after the last
// of group `gap`). The task past the last group takes what lies behind all
// groups. Scales of a quantised result are cleared where the operation stands.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

LLVM::LLVMFuncOp ProductEmitter::emitZeroTail() {
  auto func = beginFunction("_zero_tail", {mb.i64}, Scope::All);
  Value gap = func.getArgument(1);
  Value zero = mb.i64Constant(0);
  Value count = slot(product.numProblems);
  Value isLast = mb.cmp(IntPredicate::eq, gap, count);
  auto clear = [&](Value address, Value bytes) {
    LLVM::MemsetOp::create(builder, product.loc, address, mb.constant(mb.i8, 0),
                           bytes, /*isVolatile=*/false);
  };
  /// Rows [from, to) of a matrix whose row 0 is at `address`.
  auto clearRows = [&](Value address, Value stride, Value bytes, Value from,
                       Value to) {
    mb.forLoop(from, mb.maxS(from, to), 1, [&](Value row) {
      clear(mb.ptrAdd(address, mb.mul(row, stride)), bytes);
    });
  };
  Value columns = slot(product.columns);
  auto rowBytes = [&](const MatrixRef &matrix, Value width) {
    if (product.quantizer && &matrix == &product.out)
      return product.outFormat == BlockFormat::MXFP8_E4M3 ||
                     product.outFormat == BlockFormat::MXFP8_E5M2
                 ? width
                 : mb.shr(mb.add(width, 1), 1);
    return mb.mul(width, matrix.element.getIntOrFloatBitWidth() / 8);
  };
  auto forMatrices =
      [&](function_ref<void(const MatrixRef &, problem::Field, Value)> body) {
        body(product.out, problem::OutData,
             rowBytes(product.out, outputColumns(columns)));
        if (product.preact)
          body(*product.preact, problem::PreactData,
               rowBytes(*product.preact, columns));
      };
  if (getForm(product.grouping).cutsRows()) {
    // Entry `gap - 1`, or the first one where it is not used.
    Value before = problemAt(mb.maxS(mb.sub(gap, mb.i64Constant(1)), 0));
    Value after =
        problemAt(mb.maxS(mb.minS(gap, mb.sub(count, mb.i64Constant(1))), 0));
    Value none = mb.cmp(IntPredicate::eq, count, 0);
    Value isFirst = mb.cmp(IntPredicate::eq, gap, 0);
    Value from = mb.select(
        isFirst, zero,
        mb.add(field(before, problem::FirstRow), field(before, problem::Rows)));
    Value to = mb.select(mb.bitOr(isLast, none), slot(product.totalRows),
                         field(after, problem::FirstRow));
    forMatrices([&](const MatrixRef &matrix, problem::Field, Value bytes) {
      clearRows(slotPtr(matrix.address), slot(matrix.rowStride), bytes, from,
                to);
    });
  } else if (getForm(product.grouping).hasCounts()) {
    mb.ifThen(mb.cmp(IntPredicate::slt, gap, count), [&] {
      Value entry = problemAt(gap);
      forMatrices(
          [&](const MatrixRef &matrix, problem::Field data, Value bytes) {
            clearRows(toPtr(field(entry, data)), slot(matrix.rowStride), bytes,
                      field(entry, problem::Rows), slot(product.rowsPerGroup));
          });
    });
  }
  endFunction();
  return func;
}
