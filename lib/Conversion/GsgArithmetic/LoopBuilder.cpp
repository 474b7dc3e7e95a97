//===- LoopBuilder.cpp - Small loops over memrefs ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation each, and the regions of loops and branches.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value LoopBuilder::dim(Value memref, int64_t index) {
  return builder.createOrFold<memref::DimOp>(loc, memref, index);
}
Value LoopBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(builder, loc, memref, indices);
}
void LoopBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(builder, loc, value, memref, indices);
}

Value LoopBuilder::toI32(Value index) {
  return arith::IndexCastOp::create(builder, loc, i32, index);
}
Value LoopBuilder::toF32(Value value) {
  if (getElementTypeOrSelf(value).isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, like(value, f32), value);
}
Value LoopBuilder::fromF32(Value value, Type type) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(builder, loc, like(value, type), value);
}

void LoopBuilder::loop(Value size, Body body) {
  fold(size, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> LoopBuilder::fold(Value size, ValueRange init,
                                     CarryBody body) {
  auto loop = scf::ForOp::create(
      builder, loc, index(0), size, index(1), init,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(i, carried));
      });
  return loop.getResults();
}

void LoopBuilder::parallel(Value size, Body body) {
  auto loop = scf::ParallelOp::create(builder, loc, ValueRange{index(0)},
                                      ValueRange{size}, ValueRange{index(1)});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVars().front());
}

Value LoopBuilder::branch(Value condition, function_ref<Value()> thenValue,
                          function_ref<Value()> elseValue) {
  auto yieldOf = [&](function_ref<Value()> value) {
    return [&, value](OpBuilder &, Location) {
      scf::YieldOp::create(builder, loc, value());
    };
  };
  auto op = scf::IfOp::create(builder, loc, condition, yieldOf(thenValue),
                              yieldOf(elseValue));
  return op.getResult(0);
}
