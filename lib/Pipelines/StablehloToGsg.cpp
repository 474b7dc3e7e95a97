//===- StablehloToGsg.cpp - Exporters' output to products -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Pipelines/StablehloToGsg.h"

#include "nvfp4/Conversion/StablehloToLinalg/StablehloToLinalg.h"
#include "nvfp4/Conversion/UpstreamToGsg/UpstreamToGsg.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nvfp4::buildStablehloToGsgPipeline(OpPassManager &pm,
                                        const StablehloToGsgOptions &options) {
  pm.addPass(createConvertStablehloToLinalgPass());
  // A product is raised in the function that dequantises its operands.
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(target::createPackEntryPointsPass());
  gsg::RaiseToGroupedScaledGemmPassOptions raise;
  raise.moveGlobalScales = options.moveGlobalScales;
  // Operations on the result of a product are raised by the second run, after
  // canonicalization has removed changes of shape between them.
  for (bool isLast : {false, true}) {
    raise.explain = isLast && options.explain;
    pm.addPass(gsg::createRaiseToGroupedScaledGemmPass(raise));
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }
}

void nvfp4::registerStablehloToGsgPipeline() {
  static PassPipelineRegistration<StablehloToGsgOptions> pipeline(
      "stablehlo-to-gsg",
      "Make products of the dialect of what exporters write in StableHLO",
      buildStablehloToGsgPipeline);
}
