//===- TileStore.cpp - stores a tile in full precision ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds y to the element type of the result, valid columns only.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

LLVM::LLVMFuncOp ProductEmitter::emitStore() {
  auto func =
      beginFunction("_store", {mb.i64, mb.i64, mb.i64, mb.i64, mb.i64, mb.ptr},
                    Scope::Vectors);
  auto args = func.getArguments();
  Value group = args[1], row0 = args[2], rows = args[3], first = args[4],
        columns = args[5], tile = args[6];
  Type element = product.out.element;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value zero = mb.i64Constant(0);
  Value entry = problemAt(group);
  Value start =
      mb.ptrAdd(toPtr(field(entry, problem::OutData)), mb.mul(first, bytes));
  Value stride = field(entry, problem::OutRowStride);
  constexpr int64_t width = 16;
  Value whole = mb.bitAnd(columns, -width);
  mb.forLoop(zero, rows, 1, [&](Value row) {
    Value source = mb.ptrAdd(tile, mb.mul(row, 4 * kPanelColumns));
    Value target = mb.ptrAdd(start, mb.mul(mb.add(row0, row), stride));
    auto move = [&](Value column, Type type) {
      Value y = mb.load(type, mb.ptrAdd(source, mb.shl(column, 2)));
      mb.store(emitToReal(builder, product.loc, y, element),
               mb.ptrAdd(target, mb.mul(column, bytes)));
    };
    mb.forLoop(zero, whole, width, [&](Value column) {
      move(column, VectorType::get(width, mb.f32));
    });
    mb.forLoop(whole, columns, 1, [&](Value column) { move(column, mb.f32); });
  });
  endFunction();
  return func;
}
