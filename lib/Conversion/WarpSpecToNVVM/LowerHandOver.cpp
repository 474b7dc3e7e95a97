//===- LowerHandOver.cpp - Barriers from hand-over --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of the pipeline operation, in instructions. Counts are already in
// the barriers; the bytes of a fill are those of its counted operations.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

static bool isBarrier(Signal signal) {
  return signal != Signal::None && signal != Signal::BulkGroup;
}

static HandOver getProtocol(PipelineOp pipeline) {
  return *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
}

/// Address of the full or empty barrier of `stage`.
Value KernelLowering::getBarrier(PipelineOp pipeline, bool full, Value stage) {
  int64_t offset =
      pipeline.getBarriers().value_or(0) + (full ? 0 : 8 * pipeline.getDepth());
  Value base = add(sharedBase, offset);
  if (pipeline.getDepth() == 1)
    return base;
  return add(base, multiply(stage, 8));
}

Value KernelLowering::testBarrier(Value barrier, Value phase) {
  return NVVM::MBarrierTryWaitOp::create(rewriter, loc, getI1(),
                                         getShared(barrier), phase, Value());
}

/// Asks again and again.
void KernelLowering::waitUntil(function_ref<Value()> isDone) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto loop = scf::WhileOp::create(rewriter, loc, TypeRange(), ValueRange());
  rewriter.createBlock(&loop.getBefore());
  Value done = isDone();
  Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  Value again = arith::XOrIOp::create(rewriter, loc, done, isTrue);
  scf::ConditionOp::create(rewriter, loc, again, ValueRange());
  rewriter.createBlock(&loop.getAfter());
  scf::YieldOp::create(rewriter, loc);
}

void KernelLowering::waitBarrier(Value barrier, Value phase, Value ready) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (ready) {
    auto branch = scf::IfOp::create(rewriter, loc, ready, true);
    rewriter.setInsertionPointToStart(branch.elseBlock());
  }
  waitUntil([&] { return testBarrier(barrier, phase); });
}

/// The same barrier in the even block of a pair: bit 24 of an address in the
/// window of the cluster is the lowest of the block's rank.
Value KernelLowering::getEvenBlockBarrier(Value barrier) {
  Value even =
      arith::AndIOp::create(rewriter, loc, barrier, constant(0xFEFFFFFF));
  return LLVM::IntToPtrOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 7), even);
}

/// Bits of both blocks of this pair.
Value KernelLowering::getPairMask() {
  Value rank = NVVM::ClusterId::create(rewriter, loc, getI32());
  Value even = arith::AndIOp::create(rewriter, loc, rank, constant(-2));
  Value mask = arith::ShLIOp::create(rewriter, loc, constant(3), even);
  return arith::TruncIOp::create(rewriter, loc, rewriter.getI16Type(), mask);
}

/// Says that a slot is full, or empty.
void KernelLowering::signal(PipelineOp pipeline, bool full, Value stage) {
  HandOver handOver = getProtocol(pipeline);
  bool acrossAgents = pipeline.getProducer() != pipeline.getConsumer();
  switch (full ? handOver.full : handOver.empty) {
  case Signal::None:
  case Signal::Bytes:
    return;
  case Signal::TensorCommit:
    // In a pair it tells both blocks, unless it is for the issuer itself.
    NVVM::Tcgen05CommitOp::create(
        rewriter, loc, getShared(getBarrier(pipeline, full, stage)),
        kernel.getPair() && acrossAgents ? getPairMask() : Value(), getGroup());
    return;
  case Signal::BulkGroup:
    NVVM::CpAsyncBulkCommitGroupOp::create(rewriter, loc);
    return;
  case Signal::WarpArrival: {
    NVVM::SyncWarpOp::create(rewriter, loc, constant(-1));
    Value elected = NVVM::ElectSyncOp::create(rewriter, loc, getI1(), Value());
    auto branch = scf::IfOp::create(rewriter, loc, elected, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Value barrier = getBarrier(pipeline, full, stage);
    Agent waiting = full ? pipeline.getConsumer() : pipeline.getProducer();
    if (kernel.getPair() && waiting == Agent::TensorCore)
      NVVM::MBarrierArriveOp::create(rewriter, loc, Type(),
                                     getEvenBlockBarrier(barrier), Value(),
                                     NVVM::MemScopeKind::CLUSTER);
    else
      NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(),
                                     getShared(barrier), Value());
    return;
  }
  }
}

/// Replaces the token by the stage and the buffers by their addresses.
void KernelLowering::open(Operation *op, PipelineOp pipeline, Value stage) {
  SmallVector<Value> results{stage};
  for (auto [base, stride] :
       llvm::zip_equal(buffers[pipeline], strides[pipeline]))
    results.push_back(
        pipeline.getDepth() == 1 ? base : add(base, multiply(stage, stride)));
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    result.replaceAllUsesWith(value);
  rewriter.eraseOp(op);
}

void KernelLowering::lower(AcquireOp op) {
  PipelineOp pipeline = getPipelineOp(op.getPipeline());
  HandOver handOver = getProtocol(pipeline);
  Value stage = op.getStage();
  if (isBarrier(handOver.empty))
    waitBarrier(getBarrier(pipeline, false, stage), op.getPhase(),
                op.getReady());
  if (handOver.empty == Signal::BulkGroup) {
    auto branch = scf::IfOp::create(rewriter, loc, op.getIssuer(), false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    NVVM::CpAsyncBulkWaitGroupOp::create(rewriter, loc, pipeline.getDepth() - 1,
                                         rewriter.getUnitAttr());
  }
  if (handOver.full == Signal::Bytes) {
    Value barrier = getBarrier(pipeline, true, stage);
    bool even = kernel.getPair() && pipeline.getConsumer() == Agent::TensorCore;
    Value expected = constant(bytes.lookup(op));
    for (auto [count, each] : countedBytes.lookup(op))
      expected = add(expected, multiply(count, each));
    NVVM::MBarrierArriveExpectTxOp::create(
        rewriter, loc, Type(),
        even ? getEvenBlockBarrier(barrier) : getShared(barrier), expected,
        even ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA, false,
        Value());
  }
  open(op, pipeline, stage);
}

void KernelLowering::lower(WaitOp op) {
  PipelineOp pipeline = getPipelineOp(op.getPipeline());
  if (isBarrier(getProtocol(pipeline).full))
    waitBarrier(getBarrier(pipeline, true, op.getStage()), op.getPhase(),
                op.getReady());
  open(op, pipeline, op.getStage());
}

void KernelLowering::lower(CommitOp op) {
  signal(pipelines.lookup(op), /*full=*/true, op->getOperand(0));
  rewriter.eraseOp(op);
}

void KernelLowering::lower(ReleaseOp op) {
  signal(pipelines.lookup(op), /*full=*/false, op->getOperand(0));
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TryAcquireOp op) {
  PipelineOp pipeline = getPipelineOp(op.getPipeline());
  Value ready = isBarrier(getProtocol(pipeline).empty)
                    ? testBarrier(getBarrier(pipeline, false, op.getStage()),
                                  op.getPhase())
                    : arith::ConstantIntOp::create(rewriter, loc, 0, 1);
  rewriter.replaceOp(op, ready);
}

void KernelLowering::lower(TryWaitOp op) {
  PipelineOp pipeline = getPipelineOp(op.getPipeline());
  Value ready = isBarrier(getProtocol(pipeline).full)
                    ? testBarrier(getBarrier(pipeline, true, op.getStage()),
                                  op.getPhase())
                    : arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  rewriter.replaceOp(op, ready);
}

void KernelLowering::lower(DrainAllOp op) {
  PipelineOp pipeline = getPipelineOp(op.getPipeline());
  HandOver handOver = getProtocol(pipeline);
  if (handOver.empty == Signal::BulkGroup) {
    NVVM::CpAsyncBulkWaitGroupOp::create(rewriter, loc, 0, UnitAttr());
  } else if (isBarrier(handOver.empty)) {
    // What the next `depth` acquires would wait for.
    RingPosition position{op.getStage(), op.getPhase()};
    int64_t depth = pipeline.getDepth();
    for (int64_t i = 0; i < depth; ++i) {
      waitBarrier(getBarrier(pipeline, false, position.stage), position.phase,
                  Value());
      if (i == depth - 1)
        break;
      position = advance(rewriter, loc, position, depth);
    }
  }
  rewriter.eraseOp(op);
}

void KernelLowering::lower(InitBarriersOp op) {
  for (int64_t i = 0; i < op.getDepth(); ++i)
    NVVM::MBarrierInitOp::create(
        rewriter, loc, getShared(add(sharedBase, op.getOffset() + 8 * i)),
        constant(op.getCount()), Value());
  rewriter.eraseOp(op);
}
