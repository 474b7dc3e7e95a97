//===- LaunchPatterns.cpp - Launches to calls of the runtime ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of warpspec and those of upstream's gpu.launch_func alike are started
// by their table entries, so that the runtime loads them per device before a
// call runs. Also the memory of results.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nvfp4;

/// Pointers to the values of parameters, each with room of its own.
static Value makeParameters(HostCalls &calls, ValueRange values) {
  SmallVector<Value> pointers;
  for (Value value : values) {
    // A tensor map has room already.
    if (!value.getDefiningOp<LLVM::AllocaOp>()) {
      constexpr int64_t mostBytes = 8;
      Value room = calls.room(mostBytes, mostBytes);
      calls.store(value, room, 0);
      value = room;
    }
    pointers.push_back(value);
  }
  return calls.array(pointers, /*bytes=*/8);
}

namespace {
struct LowerLaunch : HostPattern<warpspec::LaunchOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::LaunchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value stream = getStream(op, adaptor, rewriter);
    if (!stream)
      return failure();
    HostCalls host = calls(rewriter, op);
    SmallVector<Value> values;
    for (auto [given, converted] :
         llvm::zip_equal(op.getParameters(), adaptor.getParameters()))
      values.push_back(
          host.parameter(given.getType(), converted, *getTypeConverter()));
    host.call("nvfp4_kernel_start", Type(),
              {host.entry(op.getKernel()), host.where(), adaptor.getTiles(),
               stream, makeParameters(host, values)});
    rewriter.replaceOp(op, stream);
    return success();
  }
};

/// A descriptor of a memref is as many parameters as it has fields.
struct LowerLaunchFunc : HostPattern<gpu::LaunchFuncOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(gpu::LaunchFuncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value stream = getStream(op, adaptor, rewriter);
    if (!stream)
      return failure();
    if (op.hasClusterSize())
      return rewriter.notifyMatchFailure(
          op, "clusters are the kernel's, not the launch's");
    HostCalls host = calls(rewriter, op);
    Location loc = op.getLoc();
    SmallVector<Value> values = getTypeConverter()->promoteOperands(
        loc, op.getKernelOperands(), adaptor.getKernelOperands(), rewriter);
    Value shared = adaptor.getDynamicSharedMemorySize();
    if (!shared)
      shared = host.i32(0);
    host.call("nvfp4_kernel_start_grid", Type(),
              {host.entry(op.getKernel()), host.where(), adaptor.getGridSizeX(),
               adaptor.getGridSizeY(), adaptor.getGridSizeZ(),
               adaptor.getBlockSizeX(), adaptor.getBlockSizeY(),
               adaptor.getBlockSizeZ(), shared, stream,
               makeParameters(host, values)});
    rewriter.replaceOp(op, stream);
    return success();
  }
};

struct LowerResult : HostPattern<warpspec::ResultOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::ResultOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    HostCalls host = calls(rewriter, op);
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getMemref().getType());
    SmallVector<Value> sizes, strides;
    Value bytes;
    getMemRefDescriptorSizes(loc, type, adaptor.getDynamicSizes(), rewriter,
                             sizes, strides, bytes);
    int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    Value memory = host.call("nvfp4_kernel_result", host.pointer(),
                             {host.where(), host.i32(op.getIndex()),
                              host.i32(elementBytes), host.i32(type.getRank()),
                              host.array(sizes, /*bytes=*/8)});
    rewriter.replaceOp(op, {createMemRefDescriptor(loc, type, memory, memory,
                                                   sizes, strides, rewriter)});
    return success();
  }
};
} // namespace

void nvfp4::populateLaunchPatterns(const LLVMTypeConverter &converter,
                                   RewritePatternSet &patterns,
                                   gsg::checks::CheckModule &texts) {
  patterns.add<LowerLaunch, LowerResult>(converter, texts);
  // Upstream's only makes its operands legal.
  patterns.add<LowerLaunchFunc>(converter, texts, /*benefit=*/2);
}
