//===- RoleOps.td - Kernels and roles ----------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a kernel: its entry, and the roles into which its warps are
// divided.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_KernelOp : WarpSpec_Op<"kernel", [
    Symbol, IsolatedFromAbove, AutomaticAllocationScope, WarpSpec_NamesArguments,
    SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "entry point of a warp-specialised kernel";
  let description = [{
    The body is run by every thread of a block; its block arguments are the
    kernel's parameters: tensor maps, scalars (integers and floats), and
    contiguous memrefs in global memory (`1`) of which at most the first
    dimension is dynamic. A memref is passed as one pointer.

    Buffers and pipelines come first, then one `roles`. The number of threads
    follows from the roles.

    `cluster(n)` launches clusters of n blocks. `pair` makes the two blocks of
    each even-odd pair work on one tile (`cta_group::2`): the even block issues
    the multiplications of both. `shared_bytes` and `tmem_columns` are what
    `warpspec-plan-memory` found; `threads` is set by `warpspec-lower-roles`.

    Example:

    ```mlir
    warpspec.kernel @nothing(%n: i32, %out: memref<?x64xf32, 1>) {
      warpspec.roles
      role @work warps(4) {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    OptionalAttr<SymbolNameAttr>:$sym_visibility,
    OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$cluster,
    UnitAttr:$pair,
    OptionalAttr<I32Attr>:$shared_bytes,
    OptionalAttr<I32Attr>:$tmem_columns,
    OptionalAttr<I32Attr>:$threads);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<KernelBody>($body)
    oilist(`cluster` `(` $cluster `)`
         | `pair` $pair
         | `shared_bytes` `(` $shared_bytes `)`
         | `tmem_columns` `(` $tmem_columns `)`
         | `threads` `(` $threads `)`)
    attr-dict-with-keyword
  }];
  let extraClassDeclaration = [{
    /// The roles of the kernel, null after `warpspec-lower-roles`.
    RolesOp getRoles();
  }];
}

def WarpSpec_EndOp : WarpSpec_Op<"end", [Terminator, Pure,
    ParentOneOf<["KernelOp", "RolesOp"]>]> {
  let summary = "end of a kernel or of a role";
  let description = [{
    Implicit terminator; not printed.

    Example:

    ```mlir
    warpspec.kernel @nothing() {
    }
    ```
  }];
  let hasVerifier = 0;
  let assemblyFormat = "attr-dict";
}

def WarpSpec_RolesOp : WarpSpec_Op<"roles", [
    HasParent<"KernelOp">, SingleBlockImplicitTerminator<"EndOp">,
    RecursiveMemoryEffects]> {
  let summary = "programs that run side by side";
  let description = [{
    One region for each role. A role is run by `warps` warps of the block; with
    one warp it may act for `tma` and `tensor_core` through one elected thread.
    `registers` is the number of registers that each of its threads may use: a
    multiple of 8 in [24, 256]; without it the kernel's limit holds.

    Roles see the values of the kernel above them and none of each other. They
    meet only in pipelines. Names are distinct.

    Example:

    ```mlir
    warpspec.kernel @copy(%map: !warpspec.tensor_map<64x64xi16>) {
      %tile = warpspec.smem_alloc : memref<2x64x64xi16, #warpspec.smem>
      %in = warpspec.pipeline(%tile) tma to threads
          : memref<2x64x64xi16, #warpspec.smem>
      warpspec.roles
      role @load warps(1) registers(40) {
        %c0 = arith.constant 0 : i32
        %fill, %dst = warpspec.acquire %in
            : !warpspec.pipeline<2 x (memref<64x64xi16, #warpspec.smem>), tma to threads>
        warpspec.tma_load %map[%c0, %c0] to %dst fills(%fill)
            : !warpspec.tensor_map<64x64xi16> to memref<64x64xi16, #warpspec.smem>
        warpspec.commit %fill
      }
      role @work warps(4) {
        %drain, %src = warpspec.wait %in
            : !warpspec.pipeline<2 x (memref<64x64xi16, #warpspec.smem>), tma to threads>
        warpspec.release %drain
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI32ArrayAttr:$warps,
                       DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "`` custom<Roles>($names, $warps, $registers, $bodies) attr-dict";
  let extraClassDeclaration = [{
    /// The number of the role that holds `op`, or -1.
    int getRoleNumber(::mlir::Operation *op);
    ::llvm::StringRef getRoleName(unsigned number);
  }];
}

def WarpSpec_ThreadIndexOp : WarpSpec_Op<"thread_index", [Pure]> {
  let summary = "number of this thread in its role";
  let description = [{
    From 0 to 32 times the warps of the role, less one. Only inside a role.

    Example:

    ```mlir
    warpspec.kernel @nothing() {
      warpspec.roles
      role @work warps(4) {
        %row = warpspec.thread_index : i32
      }
    }
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD
