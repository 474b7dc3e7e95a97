//===- Passes.td - Passes within warpspec ------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From roles and pipelines to barriers, offsets and fences, one decision a
// pass. Each description is the contract of its pass. All of them work on the
// kernels within the operation that they are run on, at any depth.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_TD
#define NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifySchedulePass : Pass<"warpspec-verify-schedule"> {
  let summary = "check the schedule of a kernel";
  let description = [{
    Accepts a kernel at any stage before `convert-warpspec-to-nvvm` and changes
    nothing. Fails with a diagnostic, labelled V1 to V6 as in
    docs/Rationale/WarpSpec.md, at the operation that breaks a property:
    closing (V1), spans (V2), balance (V3), deadlock (V4), aliasing (V5),
    resources (V6). After `warpspec-lower-roles` only what concerns places and
    single accesses is left to check: V6, of V2 that `tmem_wait` takes results
    of `tmem_load`, and of V5 that what shares no pipelines shares no memory.

    What it could not check in full, a schedule of too many hand-overs or of too
    many bounds and conditions, it names in a warning.
  }];
}

def PlanMemoryPass : Pass<"warpspec-plan-memory"> {
  let summary = "place buffers, barriers and columns";
  let description = [{
    Accepts any kernel with roles. Afterwards every `smem_alloc` and `tmem_alloc`
    has its place, every pipeline that needs barriers has `barriers`, and the
    kernel has `shared_bytes` and `tmem_columns`. Places that were given are
    kept, also if they overlap, which V5 refuses; the others are chosen in order
    so that they overlap with nothing. Fails if the buffers do not fit.
  }];
}

def MaterializeStagesPass : Pass<"warpspec-materialize-stages"> {
  let summary = "make stages and phases values";
  let description = [{
    Accepts a kernel with roles in which nothing has a stage yet. Afterwards every
    `acquire`, `wait`, `try_acquire`, `try_wait` and `drain_all` has `stage` and
    `phase`, carried through loops and branches: use n of a pipeline is at stage
    n mod depth in phase (n div depth) mod 2, inverted for the producer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def InsertFencesPass : Pass<"warpspec-insert-fences"> {
  let summary = "insert the fences that edges between agents need";
  let description = [{
    Accepts a kernel with roles and without fences. Afterwards there is, and only
    where an edge needs it:

    - `fence <tcgen05_after>` after an `acquire` or `wait` of a slot in tensor
      memory, unless both sides are the tensor core;
    - `tmem_wait` before the first use of what `tmem_load` gave, before the drain
      is released, and before the basic block ends: other operations with regions
      and waits, which are loops;
    - `fence <tmem_stores>` and `fence <tcgen05_before>` before threads hand over
      a slot in tensor memory that they accessed;
    - `fence <proxy_async>` before threads hand over shared memory that they
      wrote to `tma` or `tensor_core`, or that they read back to `tma`;
    - `fence <proxy_async_global>` before they hand over what a `tma_store` copies
      to memory that they read; no other role may read it;
    - `role_barrier` around a slot that all threads of a role fill and one
      thread stores.
  }];
}

def LowerRolesPass : Pass<"warpspec-lower-roles"> {
  let summary = "dispatch warps to roles";
  let description = [{
    Accepts a planned kernel with stages and fences. Afterwards there is no
    `roles`, `role_barrier`, `thread_index` or `for_each_tile`: a prologue initialises barriers with derived
    counts and reserves tensor memory, a dispatch on the warp index runs each
    role with its registers, what one thread issues is inside a branch on one
    elected thread, and an epilogue releases tensor memory. The kernel has
    `threads`.

    Warps: roles of a multiple of four warps come first, in order, then the
    others, padded to four with idle warps where a role asks for registers.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

#endif // NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_TD
