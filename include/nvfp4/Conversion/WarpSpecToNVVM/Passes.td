//===- Passes.td - warpspec to upstream dialects -----------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From kernels whose roles are dispatched to what LLVM and NVVM can translate.
// The description is the contract of the pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_WARPSPECTONVVM_PASSES_TD
#define NVFP4_CONVERSION_WARPSPECTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertWarpSpecToNVVMPass
    : Pass<"convert-warpspec-to-nvvm"> {
  let summary = "lower kernels without roles to NVVM";
  let description = [{
    Accepts one `gpu.module` or several whose kernels have gone through
    `warpspec-lower-roles`; a kernel outside of one is an error. Afterwards each
    kernel is an `llvm.func` with the attributes of a kernel (`nvvm.reqntid`,
    `nvvm.cluster_dim`), whose body is of `arith`, `scf`, `vector`, `memref`
    (global memory only), `gpu`, `nvvm` and `llvm`. Tensor maps are parameters by
    value (`llvm.byval`, `nvvm.grid_constant`), memrefs are pointers. Shared
    memory is one dynamic array, `@nvfp4_smem`. Nothing of `warpspec` is left but
    a `warpspec.kernel_info` before each function: the bytes of that array, and
    whether the kernel has an `await`, so that its blocks wait for one another.

    The bytes that a fill expects are the sum of those of its counted
    operations.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // NVFP4_CONVERSION_WARPSPECTONVVM_PASSES_TD
