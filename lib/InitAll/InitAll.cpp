//===- InitAll.cpp - Everything the tools register --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only file that names every dialect, external model, pass and pipeline. A
// tool that registers less makes its own list.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/InitAll.h"

#include "nvfp4/Conversion/GpuHostToLLVM/GpuHostToLLVM.h"
#include "nvfp4/Conversion/GsgToGpu/GsgToGpu.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Conversion/LinalgToGpu/LinalgToGpu.h"
#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Conversion/StablehloToLinalg/StablehloToLinalg.h"
#include "nvfp4/Conversion/UpstreamToGsg/UpstreamToGsg.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"
#include "nvfp4/Pipelines/GsgToCpu.h"
#include "nvfp4/Pipelines/GsgToSm100.h"
#include "nvfp4/Pipelines/StablehloToGsg.h"
#include "nvfp4/Pipelines/WarpSpecToNVVM.h"
#include "nvfp4/Strategy/KernelTargets.h"
#include "nvfp4/Target/LLVMIR.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "nvfp4/Transforms/Passes.h"

void nvfp4::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<gsg::GroupedScaledGemmDialect, warpspec::WarpSpecDialect>();
  gsg::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::func::registerInlinerExtension(registry);
  strategy::registerKernelTargets();
  target::registerTranslations(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
}

void nvfp4::registerAllPasses() {
  strategy::registerKernelTargets();
  gsg::registerGroupedScaledGemmPasses();
  target::registerTargetPasses();
  warpspec::registerWarpSpecPasses();
  warpspec::registerWarpSpecToNVVMPasses();
  gsg::registerGsgToGpuPasses();
  gsg::registerGsgToWarpSpecPasses();
  gsg::registerUpstreamToGsgPasses();
  registerGpuHostToLLVMPasses();
  registerLinalgToGpuPasses();
  registerStablehloToLinalgPasses();
  registerPipelines();
  registerGsgToSm100Pipeline();
  registerStablehloToGsgPipeline();
  registerWarpSpecPipelines();
  registerConversionPasses();
  registerTransformsPasses();
}
