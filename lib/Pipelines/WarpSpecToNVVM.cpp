//===- WarpSpecToNVVM.cpp - warpspec to NVVM and LLVM -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Pipelines/WarpSpecToNVVM.h"

#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nvfp4::buildLowerWarpSpecPipeline(OpPassManager &pm, bool verify) {
  OpPassManager &kernels = pm.nest<warpspec::KernelOp>();
  auto check = [&] {
    if (verify)
      kernels.addPass(warpspec::createVerifySchedulePass());
  };
  check();
  kernels.addPass(warpspec::createPlanMemoryPass());
  check();
  kernels.addPass(warpspec::createMaterializeStagesPass());
  check();
  kernels.addPass(warpspec::createInsertFencesPass());
  check();
  kernels.addPass(warpspec::createLowerRolesPass());
  pm.addPass(warpspec::createConvertWarpSpecToNVVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void nvfp4::buildLowerKernelsToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  // Lowers arith, cf, memref and index as well.
  pm.addPass(createConvertGpuOpsToNVVMOps());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void nvfp4::buildWarpSpecToNVVMPipeline(OpPassManager &pm,
                                        const WarpSpecToNVVMOptions &options) {
  OpPassManager &modules = pm.nest<gpu::GPUModuleOp>();
  buildLowerWarpSpecPipeline(modules, options.verify);
  buildLowerKernelsToLLVMPipeline(modules);
}

void nvfp4::registerWarpSpecPipelines() {
  static PassPipelineRegistration<WarpSpecToNVVMOptions> warpSpecToNVVM(
      "warpspec-to-nvvm", "Lower kernels of warpspec to NVVM",
      buildWarpSpecToNVVMPipeline);
}
