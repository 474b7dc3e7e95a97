//===- Passes.td - Operations that are no products to kernels -*- tablegen -*-//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From operations beside products, on device memory, to launches of upstream's
// gpu dialect. The description is the contract of the pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOGPU_PASSES_TD
#define NVFP4_CONVERSION_GSGTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGsgToGpuPass : Pass<"convert-gsg-to-gpu", "::mlir::ModuleOp"> {
  let summary = "lower operations that are no products to GPU launches";
  let description = [{
    Accepts `route`, `sort_tokens`, `permute`, `combine`, `glu`, `hadamard`,
    `glu_backward`, `sum_rows`, `amax`, `quantize`, `dequantize`, `relayout_scales`, `relayout_gate`
    and packing `relayout_weights` on memrefs of the device
    (`#gpu.address_space<global>`), and the staging operations of `warpspec`. It
    leaves everything else alone. Afterwards each is one or more `gpu.launch`, which
    `gpu-kernel-outlining` makes kernels. Results have the bits that
    `convert-gsg-to-cpu` gives them, but for the payload of a NaN and the last
    rounding of sums over rows. Where staging on the host fails a call, for
    weights or rows that the kernel's numbers do not hold, they have NaN.

    A kernel but that of `permute` waits for the launch before it
    (`griddepcontrol`), and so starts while that one ends. A block of 128 threads
    has a piece of one row of the result; a thread has up
    to 16 bytes of it where the number of columns is known and allows that. For
    `sort_tokens`, which takes at most 8192 experts, a block has one expert; of
    more than 2048 entries three launches count, add up and place pieces. For
    `quantize` and `dequantize` a thread has one block of values under one scale.
    For `route`, which takes at most 1024 experts and 32 slots, a warp has a token.

    With `data-checks` kernels check offsets, indices and global scales by
    docs/Spec.md, and record the first violation of a call
    (`warpspec.data_record`). With or without it none of them touches memory
    outside of its operands.

    Before:

    ```mlir
    !x = memref<64x2880xbf16, #gpu.address_space<global>>
    !t = memref<256xi32, #gpu.address_space<global>>
    !p = memref<256x2880xbf16, #gpu.address_space<global>>
    func.func @f(%x: !x, %t: !t, %p: !p) {
      grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !p)
      return
    }
    ```

    After, shortened:

    ```
    gpu.launch blocks(%row, ...) in (... = %c256, ...) threads(...) in (... = %c128, ...) {
      %token = memref.load %t[%row]
      %value = scf.if ... { vector.load %x[%token, %column] } else { zeros }
      vector.store %value, %p[%row, %column]
    ```
  }];
  let options = [Option<"dataChecks", "data-checks", "bool", "false",
    "Kernels check their data">];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::nvfp4::warpspec::WarpSpecDialect"];
}

#endif // NVFP4_CONVERSION_GSGTOGPU_PASSES_TD
