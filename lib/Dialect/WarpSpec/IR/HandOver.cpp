//===- HandOver.cpp - Protocols of pipelines --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of what acquire, commit, wait and release mean, by agents, and
// the one formula of stage and phase.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

using namespace mlir;
using namespace nvfp4::warpspec;

std::optional<HandOver> nvfp4::warpspec::getHandOver(Agent producer,
                                                     Agent consumer) {
  struct Row {
    Agent producer, consumer;
    HandOver handOver;
  };
  static constexpr Row table[] = {
      {Agent::Tma,
       Agent::TensorCore,
       {Signal::Bytes, Signal::TensorCommit, false}},
      {Agent::Tma, Agent::Threads, {Signal::Bytes, Signal::WarpArrival, false}},
      {Agent::TensorCore,
       Agent::Threads,
       {Signal::TensorCommit, Signal::WarpArrival, false}},
      {Agent::Threads,
       Agent::TensorCore,
       {Signal::WarpArrival, Signal::TensorCommit, false}},
      {Agent::Threads,
       Agent::Threads,
       {Signal::WarpArrival, Signal::WarpArrival, false}},
      // The tensor pipe runs copies of scales and multiplications in order.
      {Agent::TensorCore,
       Agent::TensorCore,
       {Signal::None, Signal::TensorCommit, true}},
      // Bulk groups belong to the thread that stores.
      {Agent::Threads, Agent::Tma, {Signal::None, Signal::BulkGroup, true}},
  };
  for (const Row &row : table)
    if (row.producer == producer && row.consumer == consumer)
      return row.handOver;
  return std::nullopt;
}

RingPosition nvfp4::warpspec::advance(OpBuilder &builder, Location loc,
                                      RingPosition position, int64_t depth) {
  auto [stage, phase] = position;
  Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
  if (depth == 1)
    return {stage, arith::XOrIOp::create(builder, loc, phase, one)};
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value last = arith::ConstantIntOp::create(builder, loc, depth, 32);
  Value next = arith::AddIOp::create(builder, loc, stage, one);
  Value wraps =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, last);
  Value flipped = arith::XOrIOp::create(builder, loc, phase, one);
  return {arith::SelectOp::create(builder, loc, wraps, zero, next),
          arith::SelectOp::create(builder, loc, wraps, flipped, phase)};
}

RingPosition nvfp4::warpspec::buildNextPosition(PipelineEndOpInterface op,
                                                OpBuilder &builder) {
  RingPosition position{op.getStageMutable()[0].get(),
                        op.getPhaseMutable()[0].get()};
  if (!op.opensSlots())
    return position;
  builder.setInsertionPointAfter(op);
  return advance(builder, op.getLoc(), position,
                 op.getPipeline().getType().getDepth());
}

bool nvfp4::warpspec::needsBarriers(PipelineOp pipeline) {
  HandOver handOver =
      *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
  auto isBarrier = [](Signal signal) {
    return signal != Signal::None && signal != Signal::BulkGroup;
  };
  return isBarrier(handOver.full) || isBarrier(handOver.empty);
}

LogicalResult nvfp4::warpspec::verifyPlanned(KernelOp kernel) {
  auto missing = [](Operation *op, StringRef what) {
    return op->emitOpError("expected ")
           << what << " to be planned; run warpspec-plan-memory first";
  };
  if (!kernel.getSharedBytes() || !kernel.getTmemColumns())
    return missing(kernel, "shared_bytes and tmem_columns");
  for (auto alloc : kernel.getOps<SmemAllocOp>())
    if (!alloc.getOffset())
      return missing(alloc, "the offset");
  for (auto alloc : kernel.getOps<TmemAllocOp>())
    if (!alloc.getColumn())
      return missing(alloc, "the column");
  for (auto pipeline : kernel.getOps<PipelineOp>())
    if (!pipeline.getBarriers() && needsBarriers(pipeline))
      return missing(pipeline, "the barriers");
  return success();
}
