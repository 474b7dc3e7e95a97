//===- HostMemory.cpp - Operands that the host can read -------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/HostMemory.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

LogicalResult nvfp4::gsg::verifyHostMemory(Operation *op) {
  for (Type type : op->getOperandTypes()) {
    auto memref = dyn_cast<BaseMemRefType>(type);
    // target_c2
    if (memref && memref.getMemorySpace())
      return op->emitOpError("expected memrefs in the host's memory, without a "
                             "memory space, but got ")
             << type << "; copy it to memory of the host first";
  }
  return success();
}
