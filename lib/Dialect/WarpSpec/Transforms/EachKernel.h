//===- EachKernel.h - The kernels that a pass works on ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes are not tied to `warpspec.kernel`: by their names alone they run on a
// whole file, whose kernels may stand in a `gpu.module`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_EACHKERNEL_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_EACHKERNEL_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// Runs `body` on `root` if it is a kernel, else on those within it, up to the
/// first failure.
inline mlir::LogicalResult
forEachKernel(mlir::Operation *root,
              llvm::function_ref<mlir::LogicalResult(KernelOp)> body) {
  mlir::WalkResult walk =
      root->walk<mlir::WalkOrder::PreOrder>([&](KernelOp kernel) {
        return failed(body(kernel)) ? mlir::WalkResult::interrupt()
                                    : mlir::WalkResult::skip();
      });
  return mlir::failure(walk.wasInterrupted());
}

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_EACHKERNEL_H
