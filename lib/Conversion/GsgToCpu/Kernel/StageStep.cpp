//===- StageStep.cpp - one zero-padded step of K ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slow path for what vector loads may not touch: the tail of K and rows
// that start at an odd nibble. Reads exactly the bytes of valid elements.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

// stage(base, offsets, rows, firstElement, valid, phase, destination): row r of
// destination gets elements firstElement .. firstElement + valid of the row at
// base + offsets[r], phase removed, then zeros up to a full step.
LLVM::LLVMFuncOp KernelEmitter::emitStageStep(format::ElementKind kind) {
  int64_t stepBytes = KernelPlan::getStepBytes(kind);
  bool nibbles = kind == format::ElementKind::E2M1;
  auto func =
      beginFunction(nibbles ? "_stage4" : "_stage8",
                    {kb.ptr, kb.ptr, kb.i64, kb.i64, kb.i64, kb.i64, kb.ptr});
  auto args = func.getArguments();
  Value base = args[0], offsets = args[1], rows = args[2], first = args[3],
        valid = args[4], phase = args[5], destination = args[6];
  Value zero = kb.i64Constant(0);
  kb.forLoop(zero, rows, 1, [&](Value row) {
    Value source = kb.ptrAdd(base, kb.loadOffset(offsets, row));
    Value target = kb.ptrAdd(destination, kb.mul(row, stepBytes));
    kb.store(kb.constant(VectorType::get(stepBytes, kb.i8), 0), target);
    kb.forLoop(zero, valid, 1, [&](Value element) {
      Value index = kb.add(first, element);
      if (!nibbles) {
        Value byte = kb.load(kb.i8, kb.ptrAdd(source, index));
        kb.store(byte, kb.ptrAdd(target, element));
        return;
      }
      auto toByte = [&](Value i) {
        return arith::TruncIOp::create(builder, kb.loc, kb.i8, i).getResult();
      };
      Value nibble = kb.add(index, phase);
      Value byte = kb.load(kb.i8, kb.ptrAdd(source, kb.shr(nibble, 1)));
      Value code =
          kb.bitAnd(kb.shr(byte, toByte(kb.shl(kb.bitAnd(nibble, 1), 2))), 15);
      Value slot = kb.ptrAdd(target, kb.shr(element, 1));
      Value shifted = kb.shl(code, toByte(kb.shl(kb.bitAnd(element, 1), 2)));
      kb.store(kb.bitOr(kb.load(kb.i8, slot), shifted), slot);
    });
  });
  endFunction();
  return func;
}
