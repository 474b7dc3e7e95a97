//===- BufferOps.td - Buffers and their views --------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers in shared and tensor memory, which live for the whole kernel, and views
// of them. Places in shared memory are in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_BUFFEROPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_BUFFEROPS_TD

include "mlir/Interfaces/ViewLikeInterface.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_SmemAllocOp : WarpSpec_Op<"smem_alloc", [HasParent<"KernelOp">,
    WarpSpec_NamesResult]> {
  let summary = "buffer in shared memory, alive for the whole kernel";
  let description = [{
    `at(offset)` is its place from the start of the kernel's shared memory, in
    bytes: chosen by `warpspec-plan-memory` if not given. A buffer starts at a
    multiple of 8 times its swizzle, at least 128.

    Example:

    ```mlir
    warpspec.kernel @k() {
      %a = warpspec.smem_alloc : memref<4x128x128xi8, #warpspec.smem<128>>
      %b = warpspec.smem_alloc at(65536) : memref<4x4x512xi8, #warpspec.smem>
    }
    ```
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative]>>:$offset);
  let results = (outs WarpSpec_SmemBuffer:$result);
  let assemblyFormat = "(`at` `(` $offset^ `)`)? attr-dict `:` type($result)";
}

def WarpSpec_TmemAllocOp : WarpSpec_Op<"tmem_alloc", [HasParent<"KernelOp">,
    WarpSpec_NamesResult]> {
  let summary = "columns of tensor memory, for the whole kernel";
  let description = [{
    `at(column)` is chosen by `warpspec-plan-memory` if not given. With several
    slots, slot i starts `i` times `stride` columns after the first: the columns
    of one slot, unless others are to lie in between. The planner leaves those
    alone; a buffer gets there by its own `at`.

    Example:

    ```mlir
    warpspec.kernel @k() {
      %acc = warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
      %scales = warpspec.tmem_alloc at(256) : memref<128x32xi32, #warpspec.tmem>
      %ends = warpspec.tmem_alloc at(288) stride(128) : memref<2x128x64xf32, #warpspec.tmem>
    }
    ```
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative]>>:$column,
    OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$stride);
  let results = (outs WarpSpec_TmemBuffer:$result);
  let builders = [OpBuilder<(ins "::mlir::MemRefType":$type,
      "::mlir::IntegerAttr":$column), [{
    build($_builder, $_state, type, column, ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    (`at` `(` $column^ `)`)? (`stride` `(` $stride^ `)`)? attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// Columns from one slot to the next.
    int64_t getSlotStride();
    /// Columns from the first to the last, with those between slots.
    int64_t getNumColumns();
  }];
}

def WarpSpec_TmemJoinOp : WarpSpec_Op<"tmem_join", [Pure]> {
  let summary = "two buffers side by side in tensor memory, as one";
  let description = [{
    The columns of both, where those of one follow those of the other; either may
    be the first, and which one may depend on the slot. An access to the result is
    one to both.

    Example:

    ```mlir
    func.func @f(%own: memref<128x192xf32, #warpspec.tmem>,
                 %shared: memref<128x64xf32, #warpspec.tmem>)
        -> memref<128x256xf32, #warpspec.tmem> {
      %acc = warpspec.tmem_join %own, %shared
          : memref<128x192xf32, #warpspec.tmem>, memref<128x64xf32, #warpspec.tmem>
          to memref<128x256xf32, #warpspec.tmem>
      return %acc : memref<128x256xf32, #warpspec.tmem>
    }
    ```
  }];
  let arguments = (ins WarpSpec_TmemBuffer:$first, WarpSpec_TmemBuffer:$second);
  let results = (outs WarpSpec_TmemBuffer:$result);
  let assemblyFormat = [{
    $first `,` $second attr-dict `:` type($first) `,` type($second)
    `to` type($result)
  }];
}

def WarpSpec_TmemSliceOp : WarpSpec_Op<"tmem_slice", [Pure,
    DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "some columns of a buffer in tensor memory";
  let description = [{
    The columns from `offset` on, as many as the result has; its element type
    may be another of 32 bits.

    Example:

    ```mlir
    func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %c: i32) {
      %part = warpspec.tmem_slice %acc[%c]
          : memref<128x128xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_TmemBuffer:$source, I32:$offset);
  let results = (outs WarpSpec_TmemBuffer:$result);
  let assemblyFormat = [{
    $source `[` $offset `]` attr-dict `:` type($source) `to` type($result)
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_BUFFEROPS_TD
