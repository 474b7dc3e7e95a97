//===- Passes.td - Passes on upstream dialects -------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pipelines need between upstream passes: nothing here knows of
// `grouped_scaled_gemm`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TRANSFORMS_PASSES_TD
#define NVFP4_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CancelTransfersPass : Pass<"nvfp4-cancel-transfers", "::mlir::func::FuncOp"> {
  let summary = "remove copies between host and device that nobody needs";
  let description = [{
    Accepts any IR. Looks at `gpu.memcpy` and `memref.copy` of whole memrefs and
    at `memref.alloc` and `gpu.alloc`, and leaves all else alone:

    - a copy of a copy reads the original instead, if that is in the memory of
      the target: what was copied to the host is not copied back;
    - a new memref that is a copy of another, and only read, becomes the other
      where nobody writes that in the meantime;
    - copies of memory that nobody has written, and into memory that nobody
      reads afterwards, vanish, and so does memory that nobody uses.

    Memrefs that the function does not allocate may share memory with each
    other. Copies within loops are left alone.

    Before:

    ```mlir
    func.func @f(%d: memref<4xf32, 1>, %e: memref<4xf32, 1>) {
      %h = memref.alloc() : memref<4xf32>
      gpu.memcpy %h, %d : memref<4xf32>, memref<4xf32, 1>
      gpu.memcpy %e, %h : memref<4xf32, 1>, memref<4xf32>
      memref.dealloc %h : memref<4xf32>
      return
    }
    ```

    After:

    ```mlir
    func.func @f(%d: memref<4xf32, 1>, %e: memref<4xf32, 1>) {
      gpu.memcpy %e, %d : memref<4xf32, 1>, memref<4xf32, 1>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect"];
}

def UseDeviceMemoryPass : Pass<"nvfp4-use-device-memory", "::mlir::ModuleOp"> {
  let summary = "let functions work on memory of the device";
  let description = [{
    Accepts functions on memrefs of the host, with every allocation freed.
    Afterwards all their memrefs are in `#gpu.address_space<global>`:
    `memref.alloc`, `dealloc` and `copy` are `gpu.alloc`, `dealloc` and `memcpy`,
    and a fill with zeros is a `gpu.memset`. What public functions return is
    memory of the caller (`warpspec.result`): an allocation that is returned
    becomes it, anything else is copied there.

    Constants in memory, and public functions that others of the module call,
    are errors. Operations that touch memory on the host are left for
    `convert-gpu-host-to-llvm` to refuse.

    Before:

    ```mlir
    func.func @f(%n: index) -> memref<?xf32> {
      %y = memref.alloc(%n) : memref<?xf32>
      return %y : memref<?xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%n: index) -> memref<?xf32, #gpu.address_space<global>> {
      %y = warpspec.result 0(%n) : memref<?xf32, #gpu.address_space<global>>
      return %y : memref<?xf32, #gpu.address_space<global>>
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect",
                           "::nvfp4::warpspec::WarpSpecDialect"];
}

def ExpandMathPass : Pass<"nvfp4-expand-math"> {
  let summary = "turn math into what code without a library can compute";
  let description = [{
    Accepts any IR. Afterwards `math.exp`, `exp2`, `log`, `tanh`, `erf` and
    `rsqrt` on f32 are arithmetic (upstream's polynomials, within some units in
    the last place), and `absf`, `ceil`, `copysign`, `floor`, `fma` and `sqrt` are
    intrinsics of LLVM. For kernels, where upstream's lowering would call a
    library of NVIDIA's.

    Before:

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = math.sqrt %x : f32
      return %y : f32
    }
    ```

    After:

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = llvm.call_intrinsic "llvm.sqrt"(%x) : (f32) -> f32
      return %y : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def GuardAllocationsPass : Pass<"nvfp4-guard-allocations", "::mlir::ModuleOp"> {
  let summary = "end the call where a memref is larger than any memory";
  let description = [{
    Accepts any IR. Afterwards calls of `nvfp4_memory_bytes` stand before each
    `memref.alloc` whose size is not known, or too large for 64 bits: they
    multiply the size of an element and the extents, and end the call with
    NVFP4_OUT_OF_MEMORY where an extent is negative or the product is more than
    the address space of a process. Without them the product wraps around and
    the memory is too small. `_mlir_memref_to_llvm_alloc`, which ends the call if
    there is no memory, is declared, for `finalize-memref-to-llvm` with
    `use-generic-functions` to call: its result aliases nothing. Nothing else
    changes.

    Before:

    ```mlir
    func.func @f(%n: index) -> memref<?x4xf32> {
      %m = memref.alloc(%n) : memref<?x4xf32>
      return %m : memref<?x4xf32>
    }
    ```

    After:

    ```mlir
    llvm.func @_mlir_memref_to_llvm_alloc(i64) -> (!llvm.ptr {llvm.noalias})
    llvm.func @nvfp4_memory_bytes(i64, i64) -> i64
    func.func @f(%n: index) -> memref<?x4xf32> {
      %known = llvm.mlir.constant(16 : i64) : i64
      %extent = arith.index_cast %n : index to i64
      %bytes = llvm.call @nvfp4_memory_bytes(%known, %extent) : (i64, i64) -> i64
      %m = memref.alloc(%n) : memref<?x4xf32>
      return %m : memref<?x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def InlineAllocaScopesPass : Pass<"nvfp4-inline-alloca-scopes"> {
  let summary = "remove scopes of stack allocations that hold none";
  let description = [{
    Accepts any IR. Afterwards every `memref.alloca_scope` that is left holds a
    `memref.alloca` or an `llvm.alloca`, at any depth: of all others the bodies
    stand where the scopes stood, with results and the order of operations as
    before. Nothing else changes.

    `convert-scf-to-openmp` wraps the body of each parallel loop in a scope, and
    a scope holds one block only, so `convert-scf-to-cf` could not make control
    flow of what is inside. `canonicalize` inlines a scope only if every
    operation in it tells its memory effects, which LLVM's masked loads and
    stores do not.

    Before:

    ```mlir
    func.func @f(%m: memref<4xf32>, %i: index) -> f32 {
      %r = memref.alloca_scope -> f32 {
        %x = memref.load %m[%i] : memref<4xf32>
        memref.alloca_scope.return %x : f32
      }
      return %r : f32
    }
    ```

    After:

    ```mlir
    func.func @f(%m: memref<4xf32>, %i: index) -> f32 {
      %x = memref.load %m[%i] : memref<4xf32>
      return %x : f32
    }
    ```
  }];
}

def MergeLoopsPass : Pass<"nvfp4-merge-loops"> {
  let summary = "make one loop of two with the same body";
  let description = [{
    Accepts any IR. Of two `scf.for` of the same step and attributes that follow
    each other in a block, whose bodies of `least` operations and more differ
    only in numbers that are known before the first, afterwards there is one, inside a loop of two rounds that selects these
    numbers and is not unrolled. The second has to begin with the results of the
    first, which nobody else needs but operations between the loops. Of those the
    ones without effects that do not depend on the first loop stand before both
    afterwards; the others run at the end of the first round. The order of
    effects stays. A third such loop stays a loop of its own.

    Before, with `least = 1`:

    ```mlir
    func.func @f(%m: memref<8xf32>, %a: index, %b: index, %x: f32, %n: index, %step: index) {
      %zero = arith.constant 0 : index
      scf.for %i = %zero to %n step %step {
        %at = arith.addi %a, %i : index
        memref.store %x, %m[%at] : memref<8xf32>
      }
      gpu.barrier
      scf.for %i = %zero to %n step %step {
        %at = arith.addi %b, %i : index
        memref.store %x, %m[%at] : memref<8xf32>
      }
      return
    }
    ```

    After:

    ```mlir
    func.func @f(%m: memref<8xf32>, %a: index, %b: index, %x: f32, %n: index, %step: index) {
      %zero = arith.constant 0 : index
      %first = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      scf.for %round = %first to %two step %one : i32 {
        %isFirst = arith.cmpi eq, %round, %first : i32
        %start = arith.select %isFirst, %a, %b : index
        scf.for %i = %zero to %n step %step {
          %at = arith.addi %start, %i : index
          memref.store %x, %m[%at] : memref<8xf32>
        }
        scf.if %isFirst {
          gpu.barrier
        }
      }
      return
    }
    ```
  }];
  let options = [
    Option<"least", "least", "int64_t", "100",
           "Operations of a body that is worth a loop around it">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ShareCallPass : Pass<"nvfp4-share-call", "::mlir::ModuleOp"> {
  let summary = "tell the threads of parallel regions which call they work for";
  let description = [{
    Accepts any IR. Afterwards each thread of an `omp.parallel` from which
    `nvfp4_check_...`, `nvfp4_memory_...`, `nvfp4_relayout_...`,
    `nvfp4_stage_...`, `nvfp4_kernel_...` or `mgpu...` of the runtime may be
    called enters the call of the thread that starts the region
    (`nvfp4_call_current`, `nvfp4_call_enter`), and leaves it at the end. An error
    of such a function is then the error of that call, whatever other calls run at
    the same time; work of a device goes to the call's stream.
    Regions that cannot reach one stay as they are.

    Before:

    ```mlir
    llvm.func @nvfp4_check_equal(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
    func.func @f(%p: !llvm.ptr, %n: i64) {
      omp.parallel {
        %ok = llvm.call @nvfp4_check_equal(%p, %p, %p, %n, %n)
            : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
        omp.terminator
      }
      return
    }
    ```

    After:

    ```mlir
    llvm.func @nvfp4_check_equal(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
    llvm.func @nvfp4_call_current() -> !llvm.ptr
    llvm.func @nvfp4_call_enter(!llvm.ptr) -> !llvm.ptr
    func.func @f(%p: !llvm.ptr, %n: i64) {
      %call = llvm.call @nvfp4_call_current() : () -> !llvm.ptr
      omp.parallel {
        %before = llvm.call @nvfp4_call_enter(%call) : (!llvm.ptr) -> !llvm.ptr
        %ok = llvm.call @nvfp4_check_equal(%p, %p, %p, %n, %n)
            : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
        %mine = llvm.call @nvfp4_call_enter(%before) : (!llvm.ptr) -> !llvm.ptr
        omp.terminator
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // NVFP4_TRANSFORMS_PASSES_TD
