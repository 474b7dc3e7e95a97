//===- MemoryUses.h - Who uses the memory of a memref -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses of memory by all of its names: views, tensor maps, and tables that hold
// its address.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_MEMORYUSES_H
#define NVFP4_DIALECT_WARPSPEC_IR_MEMORYUSES_H

#include "mlir/IR/Operation.h"

namespace nvfp4::warpspec {

/// The memref that `value` is a view of.
mlir::Value getRoot(mlir::Value value);

/// Whether `op` neither reads nor writes nor passes on the memory it names.
bool isName(mlir::Operation *op);

/// Collects the operands by which operations use `memref`, a view or a tensor
/// map of it, or its address.
void collectUses(mlir::Value memref,
                 llvm::SmallVectorImpl<mlir::OpOperand *> &uses);

/// Whether the memory of `memref` may be written or freed after `from` and
/// before the end of `to`, which `from` dominates. A write by an operation that
/// holds `to`, such as a loop, counts; one through an argument that overlaps
/// with another does not, for arguments of functions are distinct.
bool mayChange(mlir::Value memref, mlir::Operation *from, mlir::Operation *to);

} // namespace nvfp4::warpspec

#endif // NVFP4_DIALECT_WARPSPEC_IR_MEMORYUSES_H
