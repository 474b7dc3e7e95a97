//===- Verifiers.h - What verifiers of operations share ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_IR_VERIFIERS_H
#define NVFP4_LIB_DIALECT_WARPSPEC_IR_VERIFIERS_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// A buffer of 128 lanes of elements of 32 bits, in numbers of 32 bits.
mlir::LogicalResult verifyTmem(mlir::Operation *op, mlir::MemRefType type);

/// Contiguous elements in global memory.
bool isGlobal(mlir::MemRefType type);

/// Elements of a buffer of static shape, at most kMaxElementCount: more fit in
/// no memory, and their number need not fit in 64 bits.
int64_t countElements(mlir::MemRefType type);
inline constexpr int64_t kMaxElementCount = int64_t(1) << 40;

/// An operation that uses slots of `pipeline` in turn: the pipeline is one of
/// the kernel, stage and phase come together, and outside a role they are
/// there.
mlir::LogicalResult verifyUse(mlir::Operation *op, mlir::Value pipeline,
                              mlir::Value stage, mlir::Value phase);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_IR_VERIFIERS_H
