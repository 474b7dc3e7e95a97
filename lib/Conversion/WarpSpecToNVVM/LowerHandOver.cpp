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

#include "BarrierBuilder.h"
#include "KernelPattern.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// The only value of an optional operand, or null.
static Value getOptional(ValueRange values) {
  return values.empty() ? Value() : values.front();
}

namespace {
/// A pipeline is the addresses of its buffers.
struct PipelineLowering : KernelPattern<PipelineOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(PipelineOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op,
                                   ArrayRef<ValueRange>{adaptor.getBuffers()});
    return success();
  }
};

/// Replaces the token of `op` by the stage, and its buffers by their addresses.
template <typename OpenOp, typename Adaptor>
void open(OpenOp op, Adaptor adaptor, const PipelineFacts &pipeline,
          AddressBuilder &b, ConversionPatternRewriter &rewriter) {
  Value stage = adaptor.getStage().front();
  SmallVector<Value> results{stage};
  for (auto [base, stride] :
       llvm::zip_equal(adaptor.getPipeline(), pipeline.strides))
    results.push_back(
        pipeline.depth == 1 ? base : b.add(base, b.multiply(stage, stride)));
  rewriter.replaceOp(op, results);
}

struct AcquireLowering : KernelPattern<AcquireOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(AcquireOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    const PipelineFacts &pipeline = kernels.getPipeline(op);
    Value stage = adaptor.getStage().front();
    if (isBarrier(pipeline.handOver.empty))
      b.waitBarrier(b.getBarrier(pipeline, /*full=*/false, stage),
                    adaptor.getPhase().front(),
                    getOptional(adaptor.getReady()));
    if (pipeline.handOver.empty == Signal::BulkGroup) {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(),
                                      adaptor.getIssuer().front(), false);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      NVVM::CpAsyncBulkWaitGroupOp::create(
          rewriter, op.getLoc(), pipeline.depth - 1, rewriter.getUnitAttr());
    }
    if (pipeline.handOver.full == Signal::Bytes)
      expectBytes(op, b, stage, rewriter);
    open(op, adaptor, pipeline, b, rewriter);
    return success();
  }

private:
  void expectBytes(AcquireOp op, BarrierBuilder &b, Value stage,
                   ConversionPatternRewriter &rewriter) const {
    const PipelineFacts &pipeline = kernels.getPipeline(op);
    Value barrier = b.getBarrier(pipeline, /*full=*/true, stage);
    ExpectedBytes bytes = kernels.getExpectedBytes(op);
    Value expected = b.constant(bytes.constant);
    for (AgentOpInterface counted : bytes.counted) {
      Value count = rewriter.getRemappedValue(counted.getTransactionCount());
      expected =
          b.add(expected, b.multiply(count, counted.getTransactionBytes()));
    }
    bool even = pipeline.countsInEvenBlock();
    NVVM::MBarrierArriveExpectTxOp::create(
        rewriter, op.getLoc(), Type(),
        even ? b.getEvenBlockBarrier(barrier)
             : b.getPointer(Space::Shared, barrier),
        expected, even ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA,
        false, Value());
  }
};

struct WaitLowering : KernelPattern<WaitOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(WaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    const PipelineFacts &pipeline = kernels.getPipeline(op);
    if (isBarrier(pipeline.handOver.full))
      b.waitBarrier(
          b.getBarrier(pipeline, /*full=*/true, adaptor.getStage().front()),
          adaptor.getPhase().front(), getOptional(adaptor.getReady()));
    open(op, adaptor, pipeline, b, rewriter);
    return success();
  }
};

/// A signal that a slot is full, or empty.
template <typename SignalOp, bool full>
struct SignalLowering : KernelPattern<SignalOp> {
  using KernelPattern<SignalOp>::KernelPattern;
  LogicalResult
  matchAndRewrite(SignalOp op, typename SignalLowering::OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder(rewriter, op.getLoc())
        .signal(this->kernels.getPipeline(op), full, adaptor.getToken());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A test of the barrier that an acquire or wait would wait for. Where there is
/// none, the answer is `otherwise`.
template <typename TryOp, bool full, bool otherwise>
struct TryLowering : KernelPattern<TryOp> {
  using KernelPattern<TryOp>::KernelPattern;
  LogicalResult
  matchAndRewrite(TryOp op, typename TryLowering::OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    const PipelineFacts &pipeline = this->kernels.getPipeline(op);
    Value ready =
        isBarrier(full ? pipeline.handOver.full : pipeline.handOver.empty)
            ? b.testBarrier(
                  b.getBarrier(pipeline, full, adaptor.getStage().front()),
                  adaptor.getPhase().front())
            : arith::ConstantIntOp::create(rewriter, op.getLoc(), otherwise, 1);
    rewriter.replaceOp(op, ready);
    return success();
  }
};

struct DrainAllLowering : KernelPattern<DrainAllOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(DrainAllOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    const PipelineFacts &pipeline = kernels.getPipeline(op);
    if (pipeline.handOver.empty == Signal::BulkGroup) {
      NVVM::CpAsyncBulkWaitGroupOp::create(rewriter, op.getLoc(), 0,
                                           UnitAttr());
    } else if (isBarrier(pipeline.handOver.empty)) {
      // Waits as the next `depth` acquires would.
      RingPosition position{adaptor.getStage().front(),
                            adaptor.getPhase().front()};
      for (int64_t i = 0; i < pipeline.depth; ++i) {
        b.waitBarrier(b.getBarrier(pipeline, /*full=*/false, position.stage),
                      position.phase, Value());
        if (i == pipeline.depth - 1)
          break;
        position = advance(rewriter, op.getLoc(), position, pipeline.depth);
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct InitBarriersLowering : KernelPattern<InitBarriersOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(InitBarriersOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    for (int64_t i = 0; i < op.getDepth(); ++i) {
      Value barrier = b.getSharedAddress(op.getOffset() + 8 * i);
      NVVM::MBarrierInitOp::create(rewriter, op.getLoc(),
                                   b.getPointer(Space::Shared, barrier),
                                   b.constant(op.getCount()), Value());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct FenceLowering : KernelPattern<FenceOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(FenceOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    switch (op.getKind()) {
    case FenceKind::ProxyAsync:
      NVVM::FenceProxyOp::create(
          rewriter, loc, NVVM::ProxyKind::async_shared,
          NVVM::SharedSpaceAttr::get(op.getContext(),
                                     NVVM::SharedSpace::shared_cta));
      break;
    case FenceKind::ProxyAsyncGlobal:
      NVVM::FenceProxyOp::create(rewriter, loc, NVVM::ProxyKind::async_global,
                                 NVVM::SharedSpaceAttr());
      break;
    case FenceKind::Tcgen05Before:
      NVVM::Tcgen05FenceOp::create(rewriter, loc,
                                   NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
      break;
    case FenceKind::Tcgen05After:
      NVVM::Tcgen05FenceOp::create(rewriter, loc,
                                   NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
      break;
    case FenceKind::TmemStores:
      NVVM::Tcgen05WaitOp::create(rewriter, loc, NVVM::Tcgen05WaitKind::STORE);
      break;
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateHandOverToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<PipelineLowering, AcquireLowering, WaitLowering,
               SignalLowering<CommitOp, /*full=*/true>,
               SignalLowering<ReleaseOp, /*full=*/false>,
               TryLowering<TryAcquireOp, /*full=*/false, /*otherwise=*/false>,
               TryLowering<TryWaitOp, /*full=*/true, /*otherwise=*/true>,
               DrainAllLowering, InitBarriersLowering, FenceLowering>(
      converter, patterns.getContext(), kernels);
}
