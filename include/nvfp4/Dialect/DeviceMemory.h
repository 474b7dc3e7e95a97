//===- DeviceMemory.h - Memory of a device in functions ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In functions of the host, memory of a device is a type: a memref in
// #gpu.address_space<global>. Memrefs without a memory space are the host's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_DEVICEMEMORY_H
#define NVFP4_DIALECT_DEVICEMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nvfp4 {

inline mlir::Attribute getDeviceSpace(mlir::MLIRContext *context) {
  return mlir::gpu::AddressSpaceAttr::get(context,
                                          mlir::gpu::AddressSpace::Global);
}

inline bool isDeviceMemory(mlir::Type type) {
  auto memref = llvm::dyn_cast<mlir::BaseMemRefType>(type);
  auto space = memref ? llvm::dyn_cast_or_null<mlir::gpu::AddressSpaceAttr>(
                            memref.getMemorySpace())
                      : mlir::gpu::AddressSpaceAttr();
  return space && space.getValue() == mlir::gpu::AddressSpace::Global;
}

inline bool isHostMemory(mlir::Type type) {
  auto memref = llvm::dyn_cast<mlir::BaseMemRefType>(type);
  return memref && !memref.getMemorySpace();
}

/// Memory of a device or of the host with the extents and elements of `type`,
/// which follow each other.
inline mlir::MemRefType getDenseMemory(mlir::MemRefType type, bool isOnDevice) {
  mlir::Attribute space;
  if (isOnDevice)
    space = getDeviceSpace(type.getContext());
  return mlir::MemRefType::get(type.getShape(), type.getElementType(),
                               mlir::MemRefLayoutAttrInterface(), space);
}

} // namespace nvfp4

#endif // NVFP4_DIALECT_DEVICEMEMORY_H
