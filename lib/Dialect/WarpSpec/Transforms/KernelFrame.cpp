//===- KernelFrame.cpp - What a block does around its roles -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers with their derived arrival counts, and tensor memory.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

#include "RoleLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

void KernelFrame::enter() {
  Type i32 = rewriter.getI32Type();
  thread = NVVM::ThreadIdXOp::create(rewriter, loc, i32);
  Value five = createI32(rewriter, loc, 5);
  Value raw = arith::ShRUIOp::create(rewriter, loc, thread, five);
  // From one lane, so that branches on it are uniform.
  Value all = createI32(rewriter, loc, -1), zero = createI32(rewriter, loc, 0);
  Value most = createI32(rewriter, loc, 31);
  warp = NVVM::ShflOp::create(rewriter, loc, i32, all, raw, zero, most,
                              NVVM::ShflKind::idx, UnitAttr());
  inWarp(0, [&] {
    Value elected =
        NVVM::ElectSyncOp::create(rewriter, loc, rewriter.getI1Type(), Value());
    auto branch = scf::IfOp::create(rewriter, loc, elected, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    for (auto pipeline : kernel.getOps<PipelineOp>())
      initBarriers(pipeline);
    NVVM::FenceMbarrierInitOp::create(rewriter, loc);
  });
  int64_t columns = *kernel.getTmemColumns();
  if (columns) {
    inWarp(layout.warps - 1, [&] {
      ReserveTmemOp::create(rewriter, loc, columns, getTmemSlot());
    });
    FenceOp::create(rewriter, loc, FenceKind::Tcgen05Before);
  }
  meet();
  if (columns)
    FenceOp::create(rewriter, loc, FenceKind::Tcgen05After);
}

void KernelFrame::inWarp(int number, function_ref<void()> build) {
  Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                   warp, createI32(rewriter, loc, number));
  auto branch = scf::IfOp::create(rewriter, loc, is, false);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  build();
}

int64_t KernelFrame::countArrivals(PipelineOp pipeline, Signal signal,
                                   bool producers) {
  // Tiles come from one warp.
  if (int ringWarps = countRingWarps(pipeline))
    return producers ? 1 : ringWarps;
  int64_t count = 0;
  for (Region &role : roles.getBodies()) {
    WalkResult walk = role.walk([&](PipelineEndOpInterface op) {
      return op.opensSlots() && op.fillsSlots() == producers &&
                     getPipelineOp(op.getPipeline()) == pipeline
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!walk.wasInterrupted())
      continue;
    count += signal == Signal::WarpArrival
                 ? roles.getWarps()[role.getRegionNumber()]
                 : 1;
  }
  return count;
}

/// In a pair the even block's tensor core works for both: operands become
/// full, and accumulators empty, when both blocks say so.
static bool isSignalledByBoth(PipelineOp pipeline, bool producers) {
  Agent waiting = producers ? pipeline.getConsumer() : pipeline.getProducer();
  return waiting == Agent::TensorCore &&
         pipeline.getProducer() != pipeline.getConsumer();
}

void KernelFrame::initBarriers(PipelineOp pipeline) {
  HandOver handOver =
      *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
  auto init = [&](Signal signal, bool producers, int64_t offset) {
    if (signal == Signal::None || signal == Signal::BulkGroup)
      return;
    int64_t count = countArrivals(pipeline, signal, producers);
    // Both blocks of a pair signal what the even one waits for.
    if (kernel.getPair() && isSignalledByBoth(pipeline, producers))
      count *= 2;
    // A side that no role plays signals nothing.
    if (count)
      InitBarriersOp::create(rewriter, pipeline.getLoc(), offset,
                             pipeline.getDepth(), count);
  };
  int64_t offset = pipeline.getBarriers().value_or(0);
  init(handOver.full, true, offset);
  init(handOver.empty, false, offset + 8 * pipeline.getDepth());
}

void KernelFrame::meet() {
  if (kernel.getCluster().value_or(1) > 1) {
    NVVM::ClusterArriveOp::create(rewriter, loc, rewriter.getUnitAttr());
    NVVM::ClusterWaitOp::create(rewriter, loc, rewriter.getUnitAttr());
  } else {
    NVVM::BarrierOp::create(rewriter, loc);
  }
}

void KernelFrame::leave() {
  int64_t columns = *kernel.getTmemColumns();
  // A block that has gone cannot be signalled.
  if (!columns && kernel.getCluster().value_or(1) > 1)
    return meet();
  if (!columns)
    return;
  FenceOp::create(rewriter, loc, FenceKind::Tcgen05Before);
  meet();
  FenceOp::create(rewriter, loc, FenceKind::Tcgen05After);
  inWarp(layout.warps - 1,
         [&] { ReleaseTmemOp::create(rewriter, loc, columns, getTmemSlot()); });
}

int KernelFrame::countRingWarps(PipelineOp pipeline) {
  int warps = 0;
  for (ForEachTileOp loop : getRingLoops(roles))
    if (getPipelineOp(loop.getRing()) == pipeline)
      warps += roles.getWarps()[roles.getRoleNumber(loop)];
  return warps;
}
