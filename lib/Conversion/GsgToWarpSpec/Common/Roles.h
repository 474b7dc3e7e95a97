//===- Roles.h - Buffers, pipelines and roles of a kernel -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a kernel, for every target.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_ROLES_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_ROLES_H

#include "KernelContext.h"

namespace nvfp4::gsg::kernels {

/// A buffer in shared memory.
mlir::Value allocateShared(const KernelContext &context,
                           llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           unsigned swizzle);

mlir::Value makePipeline(const KernelContext &context, mlir::ValueRange buffers,
                         int64_t depth, warpspec::Agent producer,
                         warpspec::Agent consumer);

/// acquire or wait of the next stage of `pipeline`.
template <typename OpTy>
OpTy open(const KernelContext &context, mlir::Value pipeline) {
  return OpTy::create(context.b, context.loc, pipeline, mlir::Value(),
                      mlir::Value(), mlir::Value(), mlir::Value());
}

struct Role {
  llvm::StringRef name;
  /// Registers of a thread: 0 leaves the choice to the compiler.
  int64_t warps, registers;
  llvm::function_ref<void()> build;
};

/// The roles, after the launch before this one.
void buildRoles(const KernelContext &context, llvm::ArrayRef<Role> roles);

/// Fills a stage of `input` for each step from `from` to `to`: `body` gets the
/// step and the stage.
void fillStages(
    const KernelContext &context, mlir::Value input, mlir::Value from,
    mlir::Value to,
    llvm::function_ref<void(mlir::Value k, warpspec::AcquireOp fill)> body);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_ROLES_H
