//===- KernelFrame.h - What a block does around its roles -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_KERNELFRAME_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_KERNELFRAME_H

#include "RoleLayout.h"

#include "mlir/IR/PatternMatch.h"

namespace nvfp4::warpspec {

/// Prologue and epilogue of a kernel with roles: barriers are initialised, and
/// tensor memory is reserved and released. Builds at the insertion point.
class KernelFrame {
public:
  KernelFrame(mlir::RewriterBase &rewriter, KernelOp kernel,
              const RoleLayout &layout)
      : rewriter(rewriter), kernel(kernel), roles(kernel.getRoles()),
        layout(layout), loc(kernel.getLoc()) {}

  /// Before the roles. Arrivals are counted in the roles, which must not be
  /// lowered yet.
  void enter();
  /// After them, when all warps are done.
  void leave();

  /// The number of this thread in its block, and that of its warp.
  mlir::Value getThread() const { return thread; }
  mlir::Value getWarp() const { return warp; }

private:
  int64_t getTmemSlot() { return *kernel.getSharedBytes() - 8; }
  void inWarp(int number, llvm::function_ref<void()> build);
  /// Arrivals that complete a phase of one side, from the roles on that side.
  int64_t countArrivals(PipelineOp pipeline, Signal signal, bool producers);
  /// Warps that wait for tiles from `pipeline`.
  int countRingWarps(PipelineOp pipeline);
  void initBarriers(PipelineOp pipeline);
  /// All threads of the block, or of the cluster, meet.
  void meet();

  mlir::RewriterBase &rewriter;
  KernelOp kernel;
  RolesOp roles;
  const RoleLayout &layout;
  mlir::Location loc;
  mlir::Value thread, warp;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_KERNELFRAME_H
