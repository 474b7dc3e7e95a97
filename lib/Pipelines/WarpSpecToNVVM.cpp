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
#include "nvfp4/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Kernels have tens of thousands of operations once they are control flow.
/// LLVM merges their blocks, so it is not done here; what one run leaves the
/// next stage folds.
static GreedyRewriteConfig getCleanUp() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1);
  return config;
}

void nvfp4::buildLowerWarpSpecPipeline(OpPassManager &pm, bool verify) {
  OpPassManager &kernels =
      pm.nest<gpu::GPUModuleOp>().nest<warpspec::KernelOp>();
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
  check();
  // On the whole module: kernels that stand in no gpu.module are told so.
  pm.addPass(warpspec::createConvertWarpSpecToNVVMPass());
  // Kernels know nothing of one another, and each may have a thread.
  OpPassManager &functions = pm.nest<gpu::GPUModuleOp>().nestAny();
  // From the inside out: loops and branches have the results of all
  // accumulators, and what becomes of them is asked again after every change
  // within.
  functions.addPass(createCanonicalizerPass(
      GreedyRewriteConfig().setUseTopDownTraversal(false)));
  functions.addPass(createCSEPass());
  functions.addPass(createMergeLoopsPass());
}

void nvfp4::buildLowerKernelsToLLVMPipeline(OpPassManager &module) {
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  OpPassManager &before = pm.nestAny();
  before.addPass(createExpandMathPass());
  before.addPass(createSCFToControlFlowPass());
  before.addPass(createConvertVectorToLLVMPass());
  // Lowers arith, cf, memref and index as well.
  pm.addPass(createConvertGpuOpsToNVVMOps());
  OpPassManager &after = pm.nestAny();
  after.addPass(createCanonicalizerPass(getCleanUp()));
  after.addPass(createCSEPass());
  after.addPass(createConvertNVVMToLLVMPass());
  after.addPass(createReconcileUnrealizedCastsPass());
}

void nvfp4::buildWarpSpecToNVVMPipeline(OpPassManager &pm,
                                        const WarpSpecToNVVMOptions &options) {
  buildLowerWarpSpecPipeline(pm, options.verify);
  buildLowerKernelsToLLVMPipeline(pm);
}

void nvfp4::registerWarpSpecPipelines() {
  static PassPipelineRegistration<WarpSpecToNVVMOptions> warpSpecToNVVM(
      "warpspec-to-nvvm", "Lower kernels of warpspec to NVVM",
      buildWarpSpecToNVVMPipeline);
}
