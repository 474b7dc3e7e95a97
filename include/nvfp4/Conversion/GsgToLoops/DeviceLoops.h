//===- DeviceLoops.h - Parallel loops as launches ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builder of a lowering for memory of a device, and how kernels are called.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_DEVICELOOPS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_DEVICELOOPS_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <memory>

namespace nvfp4::gsg::loops {

using arithmetic::LoopBuilder;

/// The location of a launch for `op`, by which errors name the operation.
mlir::Location getLaunchLoc(mlir::Operation *op);

/// Calls the kernel of `launch` after the operation `name`, in the module of
/// all kernels. Outlining numbers kernels of one name.
void nameKernel(mlir::gpu::LaunchOp launch, llvm::StringRef name);

/// What every kernel begins with: it may start before the launch ahead of it
/// has ended, waits for that, and lets the next one start.
void beginKernel(LoopBuilder &b);

/// A builder whose parallel loops are launches with a thread for each
/// iteration.
class DeviceLoopBuilder final : public LoopBuilder {
public:
  /// Kernels are called `name`, or without it after `op`.
  DeviceLoopBuilder(mlir::OpBuilder &builder, mlir::Operation *op,
                    llvm::StringRef name = "");

  bool isOnDevice() const override { return true; }
  void parallel(Value size, Body body) override;

private:
  std::string name;
};

/// The builder of code for `op`, whose memrefs are of a device or all of the
/// host, as `memref` is.
std::unique_ptr<LoopBuilder> makeLoopBuilder(mlir::OpBuilder &builder,
                                             mlir::Operation *op,
                                             mlir::Value memref);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_DEVICELOOPS_H
