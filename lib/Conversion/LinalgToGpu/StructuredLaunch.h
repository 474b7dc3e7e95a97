//===- StructuredLaunch.h - A structured operation as a launch --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of convert-linalg-to-gpu.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_LINALGTOGPU_STRUCTUREDLAUNCH_H
#define NVFP4_LIB_CONVERSION_LINALGTOGPU_STRUCTUREDLAUNCH_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace nvfp4 {

/// Emits the launch for `op`, which is on memory of a device.
void launchStructured(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op);

/// Loads in `launch` what it uses of values that the host would load from
/// memory of the device. A kernel before it saves the value of a load whose
/// memory may change before `launch` ends.
void sinkLoads(mlir::gpu::LaunchOp launch);

} // namespace nvfp4

#endif // NVFP4_LIB_CONVERSION_LINALGTOGPU_STRUCTUREDLAUNCH_H
