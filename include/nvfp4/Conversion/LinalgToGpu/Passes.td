//===- Passes.td - Structured operations as launches -------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// convert-linalg-to-gpu.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_LINALGTOGPU_PASSES_TD
#define NVFP4_CONVERSION_LINALGTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToGpuPass : Pass<"convert-linalg-to-gpu", "::mlir::ModuleOp"> {
  let summary = "lower structured operations on memory of a device to launches";
  let description = [{
    Accepts operations of linalg on memrefs of the device
    (`#gpu.address_space<global>`) and leaves all others alone. Afterwards each is
    a `gpu.launch` with a thread for every point of the parallel loops, the last
    of which is that of neighbouring threads. A reduction of f32 or i32 by one
    operation (`addf`, `maximumf` and such) has a warp for every point, whose
    threads share the iterations and add up in the order of a tree.

    Bodies may hold `arith` and, on f32, the operations of `math` that
    `nvfp4-expand-math` knows, and loads of elements of other tensors on the
    device, such as of the row of a table that an index names. Other operations
    are errors.

    Launches load in the kernel, with the arithmetic behind it, what a load on the
    host would take from memory of the device. A kernel of one thread before them
    saves the value of a load whose memory may change until they end.

    Before:

    ```mlir
    !x = memref<?x2880xf32, #gpu.address_space<global>>
    func.func @add(%x: !x, %y: !x) {
      linalg.add ins(%x, %y : !x, !x) outs(%y : !x)
      return
    }
    ```

    After, shortened:

    ```
    gpu.launch blocks(%block, ...) in (...) threads(%thread, ...) in (... = %c128, ...) {
      %row = arith.divui %number, %c2880
      %column = arith.remui %number, %c2880
      %a = memref.load %x[%row, %column]
      %b = memref.load %y[%row, %column]
      %s = arith.addf %a, %b
      memref.store %s, %y[%row, %column]
    ```
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // NVFP4_CONVERSION_LINALGTOGPU_PASSES_TD
