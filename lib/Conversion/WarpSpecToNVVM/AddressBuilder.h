//===- AddressBuilder.h - Addresses and pointers in a kernel ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_ADDRESSBUILDER_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_ADDRESSBUILDER_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace nvfp4::warpspec {

/// The array of dynamic shared memory that all kernels of a module share.
inline constexpr llvm::StringLiteral kSharedMemory = "nvfp4_smem";

/// Address spaces of pointers.
enum class Space { Global = 1, Shared = 3, Tensor = 6, Cluster = 7 };

/// Builds arithmetic on addresses, 32 bits unless a comment says otherwise, at
/// the insertion point.
struct AddressBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;

  AddressBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Type getI1() { return b.getI1Type(); }
  mlir::Type getI32() { return b.getI32Type(); }
  mlir::Type getI64() { return b.getI64Type(); }

  mlir::Value constant(int64_t value);
  /// 64 bits.
  mlir::Value constant64(uint64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value multiply(mlir::Value x, int64_t y);
  mlir::Value bitAnd(mlir::Value x, int64_t mask);
  mlir::Value shiftRight(mlir::Value x, int64_t by);

  /// The address `offset` bytes from the start of the kernel's shared memory.
  mlir::Value getSharedAddress(int64_t offset);
  /// The pointer that is `address`, of 64 bits in global memory.
  mlir::Value getPointer(Space space, mlir::Value address);
  /// Pointer to entry `index`, an integer, of `bytes` each.
  mlir::Value getGlobal(mlir::Value memref, mlir::Value index, int64_t bytes);
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_ADDRESSBUILDER_H
