//===- GroupMaxima.cpp - amax of each group ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maximum of the tiles' maxima, group by group. Maxima do not depend on
// order, so the result does not depend on threads. An empty group has zero.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

Value ProductEmitter::tileNumber(Value panel, Value rowBlock) {
  return mb.add(mb.mul(panel, slot(product.rowBlocks)), rowBlock);
}

LLVM::LLVMFuncOp ProductEmitter::emitGroupMaxima() {
  auto func = beginFunction("_group_maxima", {}, Scope::All);
  Value zero = mb.i64Constant(0);
  Value maxima = slotPtr(product.maxima), amax = slotPtr(*product.amax);
  Value panels = slot(product.panels);
  mb.forLoop(zero, slot(product.numProblems), 1, [&](Value group) {
    Value entry = problemAt(group);
    Value first = field(entry, problem::FirstRowBlock);
    Value count =
        mb.div(mb.add(field(entry, problem::Rows), kTaskRows - 1), kTaskRows);
    auto larger = [&](Value panel, Value block, Value bits) {
      Value tile = tileNumber(panel, mb.add(first, block));
      Value own = mb.load(mb.i32, mb.ptrAdd(maxima, mb.shl(tile, 2)));
      return SmallVector<Value>{
          arith::MaxUIOp::create(builder, product.loc, bits, own)};
    };
    Value bits =
        mb.forLoop(zero, panels, 1, {mb.constant(mb.i32, 0)},
                   [&](Value panel, ValueRange carried) {
                     return mb.forLoop(zero, count, 1, carried,
                                       [&](Value block, ValueRange inner) {
                                         return larger(panel, block, inner[0]);
                                       });
                   })[0];
    mb.store(bits, mb.ptrAdd(amax, mb.shl(group, 2)));
  });
  endFunction();
  return func;
}
