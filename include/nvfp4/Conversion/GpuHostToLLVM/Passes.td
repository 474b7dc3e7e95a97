//===- Passes.td - The host's side of kernels to LLVM ------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From functions that launch kernels to calls of the runtime. The description is
// the contract of the pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GPUHOSTTOLLVM_PASSES_TD
#define NVFP4_CONVERSION_GPUHOSTTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGpuHostToLLVMPass : Pass<"convert-gpu-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "lower launches, device memory and copies to calls of the runtime";
  let description = [{
    Accepts functions with operations of `gpu` and of the host's side of
    `warpspec`, made asynchronous by `gpu-async-region`, beside any others.
    Afterwards functions have none of these, and no memref in
    `#gpu.address_space<global>`: an address is an address. Modules of kernels
    stay as they are.

    The patterns are upstream's, whose calls are named `mgpu...`, and ours for
    what these refuse: launches by a table entry of the kernel (`@m_k_entry`
    of kernel `@m::@k`, which `nvfp4-embed-kernels` defines), tensor maps by value,
    tables, copies of rows, zeros of any type, memory of results
    (nvfp4_kernels.h), and staging on memory of the host (nvfp4_staging.h).

    An operation of the host that reads or writes device memory is an error
    that names it: it has no GPU code.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::arith::ArithDialect"];
}

#endif // NVFP4_CONVERSION_GPUHOSTTOLLVM_PASSES_TD
