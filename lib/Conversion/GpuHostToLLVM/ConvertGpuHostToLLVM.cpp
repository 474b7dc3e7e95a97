//===- ConvertGpuHostToLLVM.cpp - convert-gpu-host-to-llvm ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the functions lose the memory space of the device, which the host's
// pointers do not have; what would read it there is refused before.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"

#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"

namespace nvfp4 {
#define GEN_PASS_DEF_CONVERTGPUHOSTTOLLVMPASS
#include "nvfp4/Conversion/GpuHostToLLVM/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;

/// An error if `op` reads or writes device memory on the host.
static LogicalResult verifyAccess(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects || isa<gpu::AsyncOpInterface, warpspec::ResultOp>(op))
    return success();
  SmallVector<MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  for (const MemoryEffects::EffectInstance &effect : all) {
    Value value = effect.getValue();
    if (!value || !isDeviceMemory(value.getType()))
      continue;
    return op->emitOpError("expected memory of the host, but got ")
           << value.getType() << ": the operation has no GPU code";
  }
  return success();
}

/// Types without the memory space of the device.
static void eraseMemorySpaces(func::FuncOp function) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
    if (!isDeviceMemory(type))
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout());
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void nvfp4::populateGpuHostToLLVMPatterns(const LLVMTypeConverter &converter,
                                          RewritePatternSet &patterns,
                                          gsg::checks::CheckModule &texts) {
  populateCopyPatterns(converter, patterns, texts);
  populateDataCheckPatterns(converter, patterns, texts);
  populateLaunchPatterns(converter, patterns, texts);
  populateStagingPatterns(converter, patterns, texts);
  populateTensorMapPatterns(converter, patterns, texts);
}

namespace {
struct ConvertGpuHostToLLVM
    : nvfp4::impl::ConvertGpuHostToLLVMPassBase<ConvertGpuHostToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      WalkResult result = function.walk([](Operation *op) {
        auto copy = dyn_cast<gpu::MemcpyOp>(op);
        return failed(verifyAccess(op)) || (copy && failed(verifyCopy(copy)))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    for (func::FuncOp function : functions)
      eraseMemorySpaces(function);

    LLVMTypeConverter converter(&getContext());
    converter.addConversion([](warpspec::TensorMapType type) -> Type {
      return LLVM::LLVMPointerType::get(type.getContext());
    });
    RewritePatternSet patterns(&getContext());
    populateGpuToLLVMConversionPatterns(converter, patterns);
    gsg::checks::CheckModule texts(module);
    populateGpuHostToLLVMPatterns(converter, patterns, texts);
    ConversionTarget target(getContext());
    target.addIllegalDialect<gpu::GPUDialect, warpspec::WarpSpecDialect>();
    target.addLegalDialect<LLVM::LLVMDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    SmallVector<Operation *> roots(functions.begin(), functions.end());
    if (failed(applyPartialConversion(roots, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
