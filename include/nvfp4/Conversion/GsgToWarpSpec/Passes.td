//===- Passes.td - Products to kernels of warpspec ---------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From products in storage form on memrefs to kernels of warpspec and the host
// code that starts them. Each description is the contract of its pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOWARPSPEC_PASSES_TD
#define NVFP4_CONVERSION_GSGTOWARPSPEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertTransfersPass : Pass<"gsg-insert-transfers"> {
  let summary = "copy operands to where their operation runs";
  let description = [{
    Accepts operations of `grouped_scaled_gemm` and staging operations of
    `warpspec` on memrefs of the host and of the device
    (`#gpu.address_space<global>`). Afterwards products have memrefs of the
    device only, all others memrefs of the host only.
    An operand in the other memory is replaced by a new one there, into which it
    is copied if the operation reads it, and from which it is copied back if the
    operation writes it. `nvfp4-cancel-transfers` removes the copies that are
    needless.

    With `memory=device` nothing is copied: an operation without GPU code is an
    error that names it. Staging operations become kernels.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<128x64, nvfp4, blocked>
    func.func @f(%a: memref<128x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %c: memref<128x128xf32>) {
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %s : memref<128x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !a)
          rhs(%a scaled_by %s : memref<128x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !a)
          outs(%c : memref<128x128xf32>)
      return
    }
    ```

    After, for one of the operands:

    ```mlir
    func.func @f(%c: memref<128x128xf32>) {
      %d = gpu.alloc () : memref<128x128xf32, #gpu.address_space<global>>
      gpu.memcpy %d, %c : memref<128x128xf32, #gpu.address_space<global>>, memref<128x128xf32>
      // grouped_scaled_gemm.matmul ... outs(%d : memref<128x128xf32, #gpu.address_space<global>>)
      gpu.memcpy %c, %d : memref<128x128xf32>, memref<128x128xf32, #gpu.address_space<global>>
      gpu.dealloc %d : memref<128x128xf32, #gpu.address_space<global>>
      return
    }
    ```
  }];
  let options = [Option<"memory", "memory", "std::string", "\"host\"",
    "Whose memory functions have: host, or device to refuse operations without GPU code">];
  let dependentDialects = [
    "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def ConvertGsgToWarpSpecPass
    : Pass<"convert-gsg-to-warpspec", "::mlir::ModuleOp"> {
  let summary = "make one kernel of warpspec of every product";
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_100a\"",
      "sm_90a, sm_100a, sm_103a or sm_100f">,
    Option<"dataChecks", "data-checks", "bool", "false",
      "Kernels check their data">];
  let description = [{
    Accepts modules whose products are in storage form on memrefs of the device
    (`gsg-insert-transfers`), with the layouts of `gsg-assign-scale-layout`,
    whose `outer_gate` is read for `sm_100a` and refused for `sm_90a`, and with
    expanded epilogues (`gsg-expand-epilogue`). Afterwards
    there is no `matmul`: each is a persistent kernel of roles in
    `gpu.module @nvfp4_kernels`, and a `warpspec.launch` with tensor maps of its
    operands. Operands that a kernel cannot read as they lie in memory are copied
    on the device, where rows begin at other multiples of bytes, or staged by
    `warpspec.stage_...`, for which `gsg-insert-transfers` runs once more.
    Products whose kernels would be equal, as those of a list with extents that
    are not in types, share one. Other operations stay as they are, for the host.

    | role       | warps | what it does |
    |------------|-------|--------------|
    | `load`     | 1     | tiles of A and B and their scales, by TMA |
    | `mma`      | 1     | scales to tensor memory, products |
    | `epilogue` | 4     | accumulators to results, one row a thread; whole boxes leave by TMA |
    | `decode`   | 8     | beside rows without scales: weights to tensor memory, as bf16 or f16 |

    All roles go over the tiles of all groups, whose places they read from the
    group offsets in device memory. Matrices of several groups are one matrix of
    rows for TMA; rows and columns of a tile that are not the group's are
    multiplied and not stored. What lies beyond K is zero.

    With `data-checks` the role of the results, while it waits for its first tile
    in block 0, checks group offsets, a single global scale and the factors of
    packed weights by docs/Spec.md, and records the first violation of a call
    (`warpspec.data_record`).

    The strategy of a product gives the tile and the number of stages; without one
    the tile is 128 x 128 with as many stages as fit. With `swap_ab` weights lie on M
    and rows on columns of the accumulator, which the epilogue turns in shared
    memory. With `ctas = 2` the kernel is one of pairs. A `matmul_list` is one
    kernel, which reads extents and tensor maps of its problems from a table.
    Beside rows without scales the tile has `swap_ab`.
    Clusters, `math` in epilogue regions and clauses that
    `gsg-separate-quantization` takes out of products have no kernels: each is an
    error that names the nearest form that has one.

    For `target` sm_90a the roles are two; rows of A with scales are dequantised
    to bf16 before, which is exact, and weights that are not packed are packed:

    | role   | warps   | what it does |
    |--------|---------|--------------|
    | `math` | 8 or 16 | weights decoded in registers, products by `mma_decoded`, results |
    | `load` | 1       | coded weights by bulk copies, rows by TMA |

    Tiles are 256 columns by up to 96 rows, or 128 by up to 192; a group's rows are
    divided evenly over its tiles.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::nvfp4::warpspec::WarpSpecDialect"];
}

#endif // NVFP4_CONVERSION_GSGTOWARPSPEC_PASSES_TD
