//===- SplitKernels.h - Kernels in modules of their own ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TARGET_SPLITKERNELS_H
#define NVFP4_LIB_TARGET_SPLITKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"

namespace nvfp4::target {

/// True for functions that the host starts.
bool isKernel(mlir::Operation *op);

/// Copies of the kernels of `module`, functions of the LLVM dialect, in their
/// order: each in a module of its own, with the declarations and definitions
/// that it refers to. Kernels that refer to the same definition share a module.
/// Definitions that no kernel refers to go to the module of the first kernel.
llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>>
splitKernels(mlir::gpu::GPUModuleOp module);

} // namespace nvfp4::target

#endif // NVFP4_LIB_TARGET_SPLITKERNELS_H
