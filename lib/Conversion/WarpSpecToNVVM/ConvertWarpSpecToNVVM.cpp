//===- ConvertWarpSpecToNVVM.cpp - The pass convert-warpspec-to-nvvm ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/WarpSpecToNVVM/KernelAnalysis.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_CONVERTWARPSPECTONVVMPASS
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
struct ConvertWarpSpecToNVVM
    : nvfp4::warpspec::impl::ConvertWarpSpecToNVVMPassBase<
          ConvertWarpSpecToNVVM> {
  bool canScheduleOn(RegisteredOperationName name) const override {
    return name.getStringRef() != KernelOp::getOperationName();
  }

  void runOnOperation() override {
    FailureOr<SmallVector<Operation *>> modules = findModules();
    if (failed(modules))
      return signalPassFailure();
    FailureOr<KernelAnalysis> kernels = KernelAnalysis::create(getOperation());
    if (failed(kernels))
      return signalPassFailure();
    TypeConverter converter;
    populateWarpSpecToNVVMTypeConversions(converter);
    RewritePatternSet list(&getContext());
    populateWarpSpecToNVVMConversionPatterns(converter, *kernels, list);
    FrozenRewritePatternSet patterns(std::move(list));
    for (Operation *module : *modules)
      if (failed(verifyOperations(module, patterns)))
        return signalPassFailure();
    ConversionTarget target(getContext());
    configureWarpSpecToNVVMConversionTarget(converter, target);
    ConversionConfig config;
    // Nothing is tried that may fail, and nothing of ours folds.
    config.allowPatternRollback = false;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyPartialConversion(*modules, target, patterns, config)))
      signalPassFailure();
  }

  /// Each operation of the dialect has a pattern.
  static LogicalResult
  verifyOperations(Operation *module, const FrozenRewritePatternSet &patterns) {
    WalkResult walk = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isa<WarpSpecDialect>(op->getDialect()) || isa<KernelInfoOp>(op) ||
          patterns.getOpSpecificNativePatterns().contains(op->getName()))
        return WalkResult::advance();
      op->emitOpError("expected an operation that kernels have after "
                      "warpspec-lower-roles");
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }

  /// The modules with kernels.
  FailureOr<SmallVector<Operation *>> findModules() {
    SmallVector<Operation *> modules;
    WalkResult walk = getOperation()->walk([&](KernelOp kernel) {
      Operation *module = kernel->getParentOp();
      if (!isa<gpu::GPUModuleOp>(module)) {
        kernel.emitOpError("expected to be in a gpu.module, of which PTX is "
                           "made");
        return WalkResult::interrupt();
      }
      if (!llvm::is_contained(modules, module))
        modules.push_back(module);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    return modules;
  }
};
} // namespace
