//===- Passes.td - Conversions -----------------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step from `grouped_scaled_gemm` on memrefs to upstream dialects, and the
// checks of data that compiled code makes at run time.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_PASSES_TD
#define NVFP4_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGsgToCpuPass : Pass<"convert-gsg-to-cpu", "::mlir::ModuleOp"> {
  let summary = "lower the dialect to loops and vectors for x86-64";
  let description = [{
    Accepts modules whose operations of `grouped_scaled_gemm` are in storage form
    on memrefs (after `gsg-decompose-scaled` and one-shot bufferization), with
    expanded epilogues (`gsg-expand-epilogue`).
    Afterwards no operation of the dialect is left, only upstream dialects:
    `scf.parallel` loops over tasks that call functions of vector code, which
    the pass adds to the module. Everything else in the module stays as it is.

    A product becomes a table of problems, filled where it runs, and tasks of up
    to 128 rows by 64 weight rows over all of K, so each result is computed by
    one task alone: its bits depend neither on the number of threads nor on the
    instruction set. The `epilogue` region is emitted on vectors of a task's tile
    before it is stored. `strategy` is not read, for there is one way to tile. It meets every
    contract, with one choice: 64 rows of bf16 or more have scaled NVFP4 weights
    unless they must be `batch_invariant`. `math = fast` is computed like `strict`.

    Two parts of a product become operations beside it, with memory while they
    run. A result with blocks along rows is written as f32 and then quantised as
    by `quantize`: 4 bytes for each element. Tiled scales of groups along K that
    are not aligned to four blocks are moved to `linear`: one byte for each
    block.

    Refused, each with an error at the operation that says what was expected:

    - tensors, and values of type `scaled`;
    - values or matrices of a product whose rows are not contiguous, and scales
      of a product whose memrefs are not dense;
    - products without an expanded epilogue, or with operations in it that have no
      vector form;
    - a list of products of more than one format, scale layout or result type.

    `isa` names the instruction sets that code is made for: `generic`, `avx2`,
    `avx512vnni`, `avx512bf16` (the same but for rows of bf16, which AMD's CPUs
    multiply faster by it), `amx` (the same but for many rows of NVFP4 and
    MXFP4), or `auto` for the fastest of this machine without `amx`; another name
    is an error. With several, the runtime function `int32_t nvfp4_cpu_isa()`
    chooses. Products for `amx` are there for
    `avx512vnni` as well, since a process has to ask for tiles of AMX, which
    that function does.

    Before:

    ```mlir
    func.func @f(%x: memref<?x16xf32>, %tokens: memref<?xi32>, %y: memref<?x16xf32>) {
      grouped_scaled_gemm.permute(%x : memref<?x16xf32>) by(%tokens : memref<?xi32>)
          outs(%y : memref<?x16xf32>)
      return
    }
    ```

    After, with constants at the top:

    ```mlir
    func.func @f(%x: memref<?x16xf32>, %tokens: memref<?xi32>, %y: memref<?x16xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f32
      %numTokens = memref.dim %x, %c0 : memref<?x16xf32>
      %numRows = memref.dim %y, %c0 : memref<?x16xf32>
      scf.parallel (%row) = (%c0) to (%numRows) step (%c1) {
        %entry = memref.load %tokens[%row] : memref<?xi32>
        %token = arith.index_cast %entry : i32 to index
        %exists = arith.cmpi ult, %token, %numTokens : index
        scf.if %exists {
          scf.for %column = %c0 to %c16 step %c1 {
            %element = memref.load %x[%token, %column] : memref<?x16xf32>
            memref.store %element, %y[%row, %column] : memref<?x16xf32>
          }
        } else {
          scf.for %column = %c0 to %c16 step %c1 {
            memref.store %zero, %y[%row, %column] : memref<?x16xf32>
          }
        }
        scf.reduce
      }
      return
    }
    ```
  }];
  let options = [
    ListOption<"isas", "isa", "std::string",
               "instruction sets: auto, generic, avx2, avx512vnni, avx512bf16, amx">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def EmitRuntimeChecksPass
    : Pass<"gsg-emit-runtime-checks", "::mlir::ModuleOp"> {
  let summary = "check data and dynamic extents where the code runs";
  let description = [{
    Accepts operations of `grouped_scaled_gemm` in storage form on memrefs. Before
    each it calls functions of the runtime (`nvfp4_checks.h`) that hold the
    constraints of docs/Spec.md against what the verifiers could not see: group
    offsets and counts, indices of tokens, rows and experts, and dynamic extents.
    What is static is not checked again. An operation whose data break a
    constraint does not run: its destinations keep what they held, except that
    integer results become zero.

    Without `data` only extents are checked, and that destinations do not
    overlap: the host cannot read the memory of a device. Kernels check the rest
    (`data-checks` of `convert-gsg-to-warpspec` and `convert-gsg-to-gpu`), and
    stay within their operands whatever offsets say.

    The runtime keeps the first violation of a call, with the source location and
    the value that was seen, and `nvfp4_function_call` then fails. The time is
    that of reading offsets and indices once, on the thread that calls.

    Before:

    ```mlir
    func.func @f(%x: memref<?x64xbf16>, %t: memref<?xi32>, %y: memref<?x64xbf16>) {
      grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>)
          outs(%y : memref<?x64xbf16>)
      return
    }
    ```

    After, in outline:

    ```mlir
    llvm.mlir.global internal constant @where("f.mlir:2:3: ...\00")
    llvm.mlir.global internal constant @label("permute_c2\00")
    llvm.mlir.global internal constant @what("rows of outs\00")
    llvm.func @nvfp4_check_equal(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
    func.func @f(%x: memref<?x64xbf16>, %t: memref<?xi32>, %y: memref<?x64xbf16>) {
      %zero = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %rows = memref.dim %y, %c0 : memref<?x64xbf16>
      %seen = arith.index_cast %rows : index to i64
      %tokens = memref.dim %t, %c0 : memref<?xi32>
      %expected = arith.index_cast %tokens : index to i64
      %where = llvm.mlir.addressof @where : !llvm.ptr
      %label = llvm.mlir.addressof @label : !llvm.ptr
      %what = llvm.mlir.addressof @what : !llvm.ptr
      %ok = llvm.call @nvfp4_check_equal(%where, %label, %what, %seen, %expected)
          : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
      %holds = arith.cmpi ne, %ok, %zero : i32
      scf.if %holds {
        grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>)
            outs(%y : memref<?x64xbf16>)
      }
      return
    }
    ```
  }];
  let options = [Option<"data", "data", "bool", /*default=*/"true",
    "check what memory holds, too: offsets, indices, factors">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

#endif // NVFP4_CONVERSION_PASSES_TD
