//===- LoopBuilder.cpp - Small loops over memrefs ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

using namespace mlir;
using namespace nvfp4::gsg::cpu;

SmallVector<Value> LoopBuilder::fold(Value size, ValueRange inits, Fold body) {
  auto loop = scf::ForOp::create(*this, index(0), size, index(1), inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(*this, next);
  return loop.getResults();
}

void LoopBuilder::parallel(Value size, Body body) {
  auto loop = scf::ParallelOp::create(*this, ValueRange{index(0)},
                                      ValueRange{size}, ValueRange{index(1)});
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVars().front());
}

void LoopBuilder::ifThen(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
}
