//===- WarpSpecToNVVM.h - warpspec to NVVM and LLVM -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline `warpspec-to-nvvm`: kernels to the text of which PTX is made.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_PIPELINES_WARPSPECTONVVM_H
#define NVFP4_PIPELINES_WARPSPECTONVVM_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace nvfp4 {

/// Options of `warpspec-to-nvvm`.
struct WarpSpecToNVVMOptions
    : mlir::PassPipelineOptions<WarpSpecToNVVMOptions> {
  Option<bool> verify{*this, "verify",
                      llvm::cl::desc("Check the schedule after every pass"),
                      llvm::cl::init(true)};
};

/// Roles and pipelines to upstream dialects, within each `gpu.module` of a
/// module. A kernel outside of one is an error.
void buildLowerWarpSpecPipeline(mlir::OpPassManager &pm, bool verify);

/// What `convert-warpspec-to-nvvm` leaves to the LLVM dialect, within each
/// `gpu.module` of a module.
void buildLowerKernelsToLLVMPipeline(mlir::OpPassManager &pm);

/// All of `warpspec-to-nvvm`, on a module.
void buildWarpSpecToNVVMPipeline(mlir::OpPassManager &pm,
                                 const WarpSpecToNVVMOptions &options);

/// Registers `warpspec-to-nvvm`.
void registerWarpSpecPipelines();

} // namespace nvfp4

#endif // NVFP4_PIPELINES_WARPSPECTONVVM_H
