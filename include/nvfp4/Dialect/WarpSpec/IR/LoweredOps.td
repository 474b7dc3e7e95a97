//===- LoweredOps.td - What only passes write --------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that no user writes: derived from pipelines by the passes of the
// dialect, on the way to PTX.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_LOWEREDOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_LOWEREDOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_FenceOp : WarpSpec_Op<"fence"> {
  let summary = "one edge of order between agents";
  let description = [{
    Written by `warpspec-insert-fences`.

    | kind             | orders                                                      |
    |------------------|-------------------------------------------------------------|
    | `proxy_async`    | stores of threads to shared memory before `tma`, `tensor_core` |
    | `tcgen05_before` | accesses of tensor memory before the hand-over that follows |
    | `tcgen05_after`  | accesses of tensor memory after the hand-over before        |
    | `tmem_stores`    | `tmem_store`s before the hand-over that follows             |
    | `proxy_async_global` | what threads read of global memory before `tma` writes it |

    Example:

    ```mlir
    warpspec.kernel @k() {
      warpspec.fence <proxy_async>
    }
    ```
  }];
  let arguments = (ins WarpSpec_FenceKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

def WarpSpec_TmemWaitOp : WarpSpec_Op<"tmem_wait", [
    TypesMatchWith<"results are the values waited for", "values", "results",
                   "$_self">]> {
  let summary = "values of tensor-memory loads that have arrived";
  let description = [{
    Written by `warpspec-insert-fences`: waits for all loads before it. Uses are
    of the results, so nothing can move a use up before the wait.

    Example:

    ```mlir
    func.func @f(%part: memref<128x32xf32, #warpspec.tmem>) -> vector<32xf32> {
      %v = warpspec.tmem_load %part : memref<128x32xf32, #warpspec.tmem>
      %w = warpspec.tmem_wait %v : vector<32xf32>
      return %w : vector<32xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$results);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def WarpSpec_RoleBarrierOp : WarpSpec_Op<"role_barrier"> {
  let summary = "all threads of the role meet";
  let description = [{
    Written by `warpspec-insert-fences` where the threads of a role hand over
    as one; `warpspec-lower-roles` makes it a named barrier.

    Example:

    ```mlir
    warpspec.kernel @k() {
      warpspec.roles
      role @work warps(4) {
        warpspec.role_barrier
      }
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def WarpSpec_InitBarriersOp : WarpSpec_Op<"init_barriers"> {
  let summary = "initialise barriers of a pipeline";
  let description = [{
    Written by `warpspec-lower-roles`: `depth` barriers from `at` on, each of
    which completes a phase after `count` arrivals.

    Example:

    ```mlir
    func.func @f() {
      warpspec.init_barriers at(147456) depth(4) count(1)
      return
    }
    ```
  }];
  let arguments = (ins I32Attr:$offset, I32Attr:$depth, I32Attr:$count);
  let assemblyFormat = [{
    `at` `(` $offset `)` `depth` `(` $depth `)` `count` `(` $count `)` attr-dict
  }];
}

def WarpSpec_ReserveTmemOp : WarpSpec_Op<"reserve_tmem"> {
  let summary = "allocate the tensor memory of the kernel";
  let description = [{
    Written by `warpspec-lower-roles`, run by one whole warp: `columns` columns,
    their address stored to shared memory at `to`.

    Example:

    ```mlir
    func.func @f() {
      warpspec.reserve_tmem columns(256) to(147520)
      return
    }
    ```
  }];
  let arguments = (ins I32Attr:$columns, I32Attr:$offset);
  let assemblyFormat = [{
    `columns` `(` $columns `)` `to` `(` $offset `)` attr-dict
  }];
}

def WarpSpec_ReleaseTmemOp : WarpSpec_Op<"release_tmem"> {
  let summary = "free the tensor memory of the kernel";
  let description = [{
    Written by `warpspec-lower-roles`, run by the warp that reserved it, when no
    thread uses tensor memory any more.

    Example:

    ```mlir
    func.func @f() {
      warpspec.release_tmem columns(256) from(147520)
      return
    }
    ```
  }];
  let arguments = (ins I32Attr:$columns, I32Attr:$offset);
  let assemblyFormat = [{
    `columns` `(` $columns `)` `from` `(` $offset `)` attr-dict
  }];
}

def WarpSpec_KernelInfoOp : WarpSpec_Op<"kernel_info", [
    HasParent<"::mlir::gpu::GPUModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "needs of a kernel that has become a function";
  let description = [{
    Written by `convert-warpspec-to-nvvm` beside the `llvm.func` of a kernel, for
    facts of its launch that `nvvm` has no attribute for: bytes of dynamic shared
    memory, and whether its blocks wait for one another and must run all at once
    (`cooperative`). Threads and blocks of a cluster are the function's
    `nvvm.reqntid` and `nvvm.cluster_dim`. `nvfp4-embed-kernels` passes all of
    them on to the runtime. There is nothing of it in LLVM IR.

    Example:

    ```mlir
    gpu.module @kernels {
      warpspec.kernel_info @k shared_bytes(147520) cooperative
      llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 192, 1, 1>} {
        llvm.return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
    ConfinedAttr<I32Attr, [IntNonNegative]>:$sharedBytes,
    UnitAttr:$cooperative);
  let assemblyFormat = [{
    $kernel `shared_bytes` `(` $sharedBytes `)` (`cooperative` $cooperative^)?
    attr-dict
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_LOWEREDOPS_TD
