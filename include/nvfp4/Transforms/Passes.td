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

#endif // NVFP4_TRANSFORMS_PASSES_TD
