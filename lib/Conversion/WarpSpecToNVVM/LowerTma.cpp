//===- LowerTma.cpp - Copies by TMA -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierBuilder.h"
#include "KernelPattern.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// Bytes of a tensor map.
static constexpr int64_t kMapBytes = 128;

/// The 64-bit policies that libraries use as immediates.
static Value getCachePolicy(AddressBuilder &b, std::optional<CacheHint> hint) {
  if (!hint)
    return {};
  switch (*hint) {
  case CacheHint::EvictNormal:
    return b.constant64(0x1000000000000000);
  case CacheHint::EvictFirst:
    return b.constant64(0x12F0000000000000);
  case CacheHint::EvictLast:
    return b.constant64(0x14F0000000000000);
  }
  llvm_unreachable("covered switch");
}

/// Coordinates run innermost first in the instruction.
static SmallVector<Value> reversed(ValueRange values) {
  return llvm::to_vector(llvm::reverse(values));
}

namespace {
struct TensorMapLowering : KernelPattern<TensorMapOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TensorMapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    Value global =
        b.getGlobal(adaptor.getTable(), adaptor.getIndex(), kMapBytes);
    Value map = LLVM::AddrSpaceCastOp::create(
        rewriter, op.getLoc(), LLVM::LLVMPointerType::get(op.getContext()),
        global);
    NVVM::FenceProxyAcquireOp::create(rewriter, op.getLoc(),
                                      NVVM::MemScopeKind::GPU, map,
                                      b.constant(kMapBytes));
    rewriter.replaceOp(op, map);
    return success();
  }
};

struct TmaLoadLowering : KernelPattern<TmaLoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    Value target = b.getPointer(Space::Shared, adaptor.getTarget());
    const PipelineFacts &pipeline = kernels.getPipeline(op);
    Value address = b.getBarrier(pipeline, /*full=*/true, adaptor.getFill());
    bool pair = pipeline.countsInEvenBlock();
    if (pair)
      address = b.bitAnd(address, BarrierBuilder::kEvenBlockMask);
    Value barrier = b.getPointer(Space::Shared, address);
    if (pair)
      target = LLVM::AddrSpaceCastOp::create(
          rewriter, op.getLoc(),
          LLVM::LLVMPointerType::get(op.getContext(),
                                     static_cast<unsigned>(Space::Cluster)),
          target);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        rewriter, op.getLoc(), target, adaptor.getMap(),
        reversed(adaptor.getCoordinates()), barrier, ValueRange(), Value(),
        getCachePolicy(b, op.getCache()), NVVM::TMALoadMode::TILE, !pair,
        pair ? NVVM::CTAGroupKindAttr::get(op.getContext(),
                                           NVVM::CTAGroupKind::CTA_2)
             : NVVM::CTAGroupKindAttr(),
        Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaLoadRowsLowering : KernelPattern<TmaLoadRowsOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmaLoadRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BarrierBuilder b(rewriter, loc);
    Value target = b.getPointer(Space::Shared, adaptor.getTarget());
    Value barrier = b.getPointer(
        Space::Shared, b.getBarrier(kernels.getPipeline(op), /*full=*/true,
                                    adaptor.getFill()));
    Value map = adaptor.getMaps().front();
    if (!op.hasOpenRows())
      map = choose(b, adaptor.getMaps(), adaptor.getRows());
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        rewriter, loc, target, map,
        ValueRange{adaptor.getColumn(), adaptor.getRow(), adaptor.getK()},
        barrier, ValueRange(), Value(), getCachePolicy(b, op.getCache()),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr(),
        Value());
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The map of boxes of `rows` rows. Parameters of 128 bytes that follow each
  /// other lie so: its address, without a choice among all of them.
  static Value choose(AddressBuilder &b, ValueRange maps, Value rows) {
    Value first =
        LLVM::PtrToIntOp::create(b.b, b.loc, b.getI64(), maps.front());
    Value number = b.shiftRight(b.add(rows, -1), 3);
    number = arith::MinUIOp::create(
        b.b, b.loc, number, b.constant(static_cast<int64_t>(maps.size()) - 1));
    Value offset = arith::ExtUIOp::create(b.b, b.loc, b.getI64(),
                                          b.multiply(number, kMapBytes));
    Value address = arith::AddIOp::create(b.b, b.loc, first, offset);
    return LLVM::IntToPtrOp::create(
        b.b, b.loc, LLVM::LLVMPointerType::get(rows.getContext()), address);
  }
};

struct BulkLoadLowering : KernelPattern<BulkLoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(BulkLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BarrierBuilder b(rewriter, loc);
    MemRefType type = op.getTarget().getType();
    int64_t size = getSharedBytes(type) / type.getDimSize(0);
    Value index = memref::ExtractAlignedPointerAsIndexOp::create(
        rewriter, loc, adaptor.getSource());
    Value base = arith::IndexCastOp::create(rewriter, loc, b.getI64(), index);
    Value start =
        arith::AddIOp::create(rewriter, loc, base, adaptor.getOffset());
    Value source = b.getPointer(Space::Global, start);
    Value target = b.getPointer(
        Space::Shared,
        b.add(adaptor.getTarget(), size * static_cast<int64_t>(op.getEntry())));
    Value barrier = b.getPointer(
        Space::Shared, b.getBarrier(kernels.getPipeline(op), /*full=*/true,
                                    adaptor.getFill()));
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        rewriter, loc, target, source, barrier, b.constant(size), Value(),
        getCachePolicy(b, op.getCache()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaStoreLowering : KernelPattern<TmaStoreOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    Value source = b.getPointer(Space::Shared, adaptor.getSource());
    Value policy = getCachePolicy(b, op.getCache());
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        rewriter, op.getLoc(), adaptor.getMap(), source,
        reversed(adaptor.getCoordinates()), policy, NVVM::TMAStoreMode::TILE,
        Value());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateTmaToNVVMPatterns(const TypeConverter &converter,
                                                const KernelAnalysis &kernels,
                                                RewritePatternSet &patterns) {
  patterns.add<TensorMapLowering, TmaLoadLowering, TmaLoadRowsLowering,
               BulkLoadLowering, TmaStoreLowering>(
      converter, patterns.getContext(), kernels);
}
