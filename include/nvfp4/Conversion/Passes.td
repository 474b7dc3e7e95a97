//===- Passes.td - Conversions -----------------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_PASSES_TD
#define NVFP4_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGsgToCpuPass : Pass<"convert-gsg-to-cpu", "::mlir::ModuleOp"> {
  let summary = "lower the dialect to loops and vectors for x86-64";
  let description = [{
    Accepts operations of `grouped_scaled_gemm` in storage form on memrefs (after
    `gsg-decompose-scaled` and one-shot bufferization). Afterwards only upstream
    dialects remain: `scf.parallel` loops over tasks that call functions of
    vector code.

    A product becomes a table of problems, filled where it runs, and tasks of up
    to 256 rows by 64 weight rows over all of K, so each result is computed by
    one task alone: its bits depend neither on the number of threads nor on the
    instruction set. The `epilogue` is applied to a task's tile before it is
    stored.

    `isa` names the instruction sets that code is made for: `generic`, `avx2`,
    `avx512vnni`, or `auto` for the best one of this machine. With several, the
    runtime function `int32_t nvfp4_cpu_isa()` chooses.
  }];
  let options = [
    ListOption<"isas", "isa", "std::string",
               "instruction sets: auto, generic, avx2, avx512vnni">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // NVFP4_CONVERSION_PASSES_TD
