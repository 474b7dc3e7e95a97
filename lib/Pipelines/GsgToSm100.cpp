//===- GsgToSm100.cpp - Products to kernels for Blackwell -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front of gsg-to-cpu, kernels, and the back of gsg-to-cpu for the host.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Pipelines/GsgToSm100.h"

#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Pipelines/WarpSpecToNVVM.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nvfp4::buildSelectKernelsPipeline(OpPassManager &pm,
                                       const GsgToSm100Options &options,
                                       bool explain) {
  pm.addPass(gsg::createVerifyExtentsPass());
  gsg::VerifyTargetPassOptions verify;
  bool isHopper = options.target == "sm_90a";
  // What sm_100a executes its family does as well.
  verify.target = isHopper ? "sm_90a" : "sm_100a";
  pm.addPass(gsg::createVerifyTargetPass(verify));
  buildDecomposePipeline(pm);
  buildBufferizePipeline(pm);
  if (options.runtimeChecks)
    pm.addPass(createEmitRuntimeChecksPass());
  gsg::SplitListPassOptions split;
  split.target = verify.target;
  pm.addPass(gsg::createSplitListPass(split));
  gsg::AssignScaleLayoutPassOptions layout;
  layout.target = verify.target;
  pm.addPass(gsg::createAssignScaleLayoutPass(layout));
  // After the gate layouts have been chosen, on which tiles depend.
  gsg::SelectStrategyPassOptions select;
  select.target = options.target;
  select.expectedRows = options.expectedRows;
  select.kernels = true;
  select.explain = explain;
  pm.addPass(gsg::createSelectStrategyPass(select));
}

void nvfp4::buildGsgToKernelsPipeline(OpPassManager &pm,
                                      const GsgToSm100Options &options) {
  buildSelectKernelsPipeline(pm, options);
  gsg::ConvertGsgToWarpSpecPassOptions convert;
  convert.target = options.target == "sm_90a" ? "sm_90a" : "sm_100a";
  pm.addPass(gsg::createConvertGsgToWarpSpecPass(convert));
  // Kernels as one would write them, for those who read or edit them here.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  WarpSpecToNVVMOptions kernels;
  kernels.verify = options.verify;
  buildWarpSpecToNVVMPipeline(pm, kernels);
}

void nvfp4::buildGsgToSm100Pipeline(OpPassManager &pm,
                                    const GsgToSm100Options &options) {
  buildGsgToKernelsPipeline(pm, options);
  target::EmbedKernelsPassOptions embed;
  embed.target = options.target;
  pm.addPass(target::createEmbedKernelsPass(embed));
  std::vector<std::string> isas(options.isas.begin(), options.isas.end());
  buildConvertToLoopsPipeline(pm, isas);
  buildLowerToLLVMPipeline(pm, options.threads);
}

void nvfp4::registerGsgToSm100Pipeline() {
  static PassPipelineRegistration<GsgToSm100Options> all(
      "gsg-to-sm100",
      "Lower products to kernels for sm_100a, and the rest to the LLVM dialect "
      "for the host that starts them",
      buildGsgToSm100Pipeline);
  static PassPipelineRegistration<GsgToSm100Options> kernels(
      "gsg-to-sm100-kernels",
      "The part of gsg-to-sm100 before kernels become PTX",
      buildGsgToKernelsPipeline);
  static PassPipelineRegistration<GsgToSm90Options> hopper(
      "gsg-to-sm90",
      "Lower products to kernels for sm_90a, and the rest to the LLVM dialect "
      "for the host that starts them",
      [](OpPassManager &pm, const GsgToSm90Options &options) {
        buildGsgToSm100Pipeline(pm, options);
      });
  static PassPipelineRegistration<GsgToSm90Options> hopperKernels(
      "gsg-to-sm90-kernels",
      "The part of gsg-to-sm90 before kernels become PTX",
      [](OpPassManager &pm, const GsgToSm90Options &options) {
        buildGsgToKernelsPipeline(pm, options);
      });
}
