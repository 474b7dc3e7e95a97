//===- TileColumns.cpp - which weight rows a tile multiplies with *- C++ --===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 64 weight rows of a tile: consecutive ones, or those of 32 gate columns
// and then of the same 32 up columns. Past the end the last row repeats, so
// every address may be read.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

LLVM::LLVMFuncOp ProductEmitter::emitTileColumns() {
  auto func = beginFunction(
      "_columns", {mb.ptr, mb.i64, mb.i64, mb.i64, mb.ptr, mb.ptr, mb.ptr},
      Scope::All);
  auto args = func.getArguments();
  Value entry = args[1], first = args[2], dataBase = args[3],
        scalesBase = args[4], data = args[5], scales = args[6], rows = args[7];
  Value last = mb.add(outputColumns(field(entry, problem::Columns)), -1);
  Value dataStart = mb.sub(field(entry, problem::RhsData), dataBase);
  Value scalesStart = mb.sub(field(entry, problem::RhsScales), scalesBase);
  Value stride = field(entry, problem::RhsRowStride);
  Value tileStride = field(entry, problem::RhsTileStride);
  mb.forLoop(
      mb.i64Constant(0), mb.i64Constant(kPanelColumns), 1, [&](Value index) {
        Value row;
        if (!product.isPaired()) {
          row = mb.minS(mb.add(first, index), last);
        } else {
          GateAttr gate = product.gate;
          Value column = mb.minS(mb.add(first, mb.bitAnd(index, 31)), last);
          Value q = gate.getGranularity() == 0
                        ? mb.add(last, 1)
                        : mb.i64Constant(gate.getGranularity());
          Value base = mb.add(mb.mul(mb.div(column, q), mb.shl(q, 1)),
                              mb.rem(column, q));
          bool gateFirst = gate.getOrder() == GateOrder::GateFirst;
          Value isSecond = mb.cmp(
              gateFirst ? IntPredicate::sge : IntPredicate::slt, index, 32);
          row = mb.select(isSecond, mb.add(base, q), base);
        }
        Value at = mb.shl(index, 3);
        mb.store(mb.add(dataStart, mb.mul(row, stride)), mb.ptrAdd(data, at));
        mb.store(mb.add(scalesStart, scaleRowOffset(product.rhsType.getLayout(),
                                                    row, tileStride)),
                 mb.ptrAdd(scales, at));
        mb.store(row, mb.ptrAdd(rows, at));
      });
  endFunction();
  return func;
}
