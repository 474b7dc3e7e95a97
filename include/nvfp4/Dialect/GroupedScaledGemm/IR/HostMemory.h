//===- HostMemory.h - Operands that the host can read -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every target takes pointers of the host: a launch copies operands itself.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_HOSTMEMORY_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_HOSTMEMORY_H

#include "mlir/IR/Operation.h"

namespace nvfp4::gsg {

/// Success if no memref of `op` names a memory space; else an error
/// (target_c2).
llvm::LogicalResult verifyHostMemory(mlir::Operation *op);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_HOSTMEMORY_H
