//===- warpspec-opt.cpp - The optimizer driver of warpspec ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with warpspec, its passes and nothing else of ours: what leaks from
// the tensor level does not parse here. Registration only.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"
#include "nvfp4/Pipelines/WarpSpecToNVVM.h"
#include "nvfp4/Tools/Opt.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  nvfp4::warpspec::registerWarpSpecPasses();
  nvfp4::warpspec::registerWarpSpecToNVVMPasses();
  nvfp4::registerWarpSpecPipelines();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  registry.insert<nvfp4::warpspec::WarpSpecDialect>();
  return nvfp4::tools::runOpt(argc, argv, "NVFP4 warp-specialised kernels\n",
                              registry);
}
