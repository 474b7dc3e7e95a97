//===- BarrierBuilder.cpp - Barriers of pipelines -------------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

bool nvfp4::warpspec::isBarrier(Signal signal) {
  return signal != Signal::None && signal != Signal::BulkGroup;
}

Value BarrierBuilder::getBarrier(const PipelineFacts &pipeline, bool full,
                                 Value stage) {
  Value base =
      getSharedAddress(pipeline.barriers + (full ? 0 : 8 * pipeline.depth));
  if (pipeline.depth == 1)
    return base;
  return add(base, multiply(stage, 8));
}

Value BarrierBuilder::testBarrier(Value barrier, Value phase) {
  return NVVM::MBarrierTryWaitOp::create(
      b, loc, getI1(), getPointer(Space::Shared, barrier), phase, Value());
}

void BarrierBuilder::waitUntil(function_ref<Value()> isDone) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
  b.createBlock(&loop.getBefore());
  Value done = isDone();
  Value isTrue = arith::ConstantIntOp::create(b, loc, 1, 1);
  Value again = arith::XOrIOp::create(b, loc, done, isTrue);
  scf::ConditionOp::create(b, loc, again, ValueRange());
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b, loc);
}

void BarrierBuilder::waitBarrier(Value barrier, Value phase, Value ready) {
  OpBuilder::InsertionGuard guard(b);
  if (ready) {
    auto branch = scf::IfOp::create(b, loc, ready, true);
    b.setInsertionPointToStart(branch.elseBlock());
  }
  waitUntil([&] { return testBarrier(barrier, phase); });
}

Value BarrierBuilder::getEvenBlockBarrier(Value barrier) {
  return getPointer(Space::Cluster, bitAnd(barrier, kEvenBlockMask));
}

Value BarrierBuilder::getPairMask() {
  Value rank = NVVM::ClusterId::create(b, loc, getI32());
  Value even = bitAnd(rank, -2);
  Value mask = arith::ShLIOp::create(b, loc, constant(3), even);
  return arith::TruncIOp::create(b, loc, b.getI16Type(), mask);
}

void BarrierBuilder::signal(const PipelineFacts &pipeline, bool full,
                            Value stage) {
  bool acrossAgents = pipeline.producer != pipeline.consumer;
  switch (full ? pipeline.handOver.full : pipeline.handOver.empty) {
  case Signal::None:
  case Signal::Bytes:
    return;
  case Signal::TensorCommit: {
    // In a pair it tells both blocks, unless it is for the issuer itself.
    Value barrier =
        getPointer(Space::Shared, getBarrier(pipeline, full, stage));
    NVVM::Tcgen05CommitOp::create(b, loc, barrier,
                                  pipeline.pair && acrossAgents ? getPairMask()
                                                                : Value(),
                                  getCtaGroup(pipeline.pair));
    return;
  }
  case Signal::BulkGroup:
    NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
    return;
  case Signal::WarpArrival: {
    NVVM::SyncWarpOp::create(b, loc, constant(-1));
    Value elected = NVVM::ElectSyncOp::create(b, loc, getI1(), Value());
    auto branch = scf::IfOp::create(b, loc, elected, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value barrier = getBarrier(pipeline, full, stage);
    Agent waiting = full ? pipeline.consumer : pipeline.producer;
    if (pipeline.pair && waiting == Agent::TensorCore)
      NVVM::MBarrierArriveOp::create(b, loc, Type(),
                                     getEvenBlockBarrier(barrier), Value(),
                                     NVVM::MemScopeKind::CLUSTER);
    else
      NVVM::MBarrierArriveOp::create(
          b, loc, getI64(), getPointer(Space::Shared, barrier), Value());
    return;
  }
  }
}
