//===- DeviceLoad.h - Scalars that lie in memory of a device ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that code of the host would have to read from memory of the device.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_DEVICELOAD_H
#define NVFP4_DIALECT_DEVICELOAD_H

#include "nvfp4/Dialect/DeviceMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace nvfp4 {

/// True for a scalar loaded from memory, and for what is computed from one by
/// operations without regions and effects.
inline bool dependsOnLoad(mlir::Value value, bool fromDeviceOnly = false) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || llvm::isa<mlir::MemRefType>(value.getType()))
    return false;
  if (auto load = llvm::dyn_cast<mlir::memref::LoadOp>(op))
    return !fromDeviceOnly || isDeviceMemory(load.getMemRefType());
  return op->getNumRegions() == 0 && mlir::isPure(op) &&
         llvm::any_of(op->getOperands(), [=](mlir::Value operand) {
           return dependsOnLoad(operand, fromDeviceOnly);
         });
}

/// The same for memory of the device.
inline bool dependsOnDeviceLoad(mlir::Value value) {
  return dependsOnLoad(value, /*fromDeviceOnly=*/true);
}

} // namespace nvfp4

#endif // NVFP4_DIALECT_DEVICELOAD_H
