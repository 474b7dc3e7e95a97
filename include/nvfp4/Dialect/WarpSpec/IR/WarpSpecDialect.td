//===- WarpSpecDialect.td - The dialect --------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine's face of the compiler: roles, pipelines and asynchronous tile
// operations, with every barrier, parity and fence still to be derived.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_DIALECT_TD
#define NVFP4_DIALECT_WARPSPEC_IR_DIALECT_TD

include "mlir/IR/OpBase.td"

def WarpSpec_Dialect : Dialect {
  let name = "warpspec";
  let cppNamespace = "::nvfp4::warpspec";
  let summary = "warp-specialised kernels as roles that hand buffers over";
  let description = [{
    A kernel of a tensor-core GPU is a few programs that run side by side on
    the warps of a block and hand tiles of shared and tensor memory to each
    other. This dialect states exactly that:

    - `roles` holds one region for each program. SSA keeps values of one role
      out of the others;
    - a `pipeline` covers buffers and names, in its type, the agent that fills
      them and the agent that drains them: `threads`, `tma` or `tensor_core`;
    - `acquire` gives a `!warpspec.fill`, which `commit` closes; `wait` gives a
      `!warpspec.drain`, which `release` closes. Both are linear: closed once
      on every path;
    - `tma_load`, `copy_scales`, `mma_scaled`, `tmem_load`, ... are the
      operations of those agents on whole tiles.

    Beside kernels stand the operations of the host that start them: `launch`,
    `encode_tensor_map`, `write_table` and `result`, which with upstream's `gpu`
    dialect are all of a call (HostOps.td).

    Arrival counts, transaction bytes, stages, parities, fences, offsets and
    columns are never written: passes derive them through one operation
    interface, `AgentOpInterface`. After `convert-warpspec-to-nvvm` only
    upstream dialects remain in a kernel, and a `kernel_info` beside it. Why it is so: docs/Rationale/WarpSpec.md.

    Address spaces of memrefs in kernels: `1` is global memory, `#warpspec.smem`
    shared memory with its swizzle, `#warpspec.tmem` tensor memory (128 lanes by
    columns of 32 bits). Functions of the host call the first
    `#gpu.address_space<global>`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_DIALECT_TD
