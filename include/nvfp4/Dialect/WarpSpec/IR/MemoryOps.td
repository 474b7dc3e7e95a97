//===- MemoryOps.td - Buffers and copies -------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers in shared and tensor memory, tensor maps, and the copies between them
// and global memory. Places in shared memory are in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD

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

def WarpSpec_TmemLoadOp : WarpSpec_AgentOp<"tmem_load", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "one lane of tensor memory into the registers of each thread";
  let description = [{
    Thread t of the role gets lane t mod 128: one element of every column. Only
    in a role of 4, 8, ... warps. The values may be used where they are needed:
    `warpspec-insert-fences` puts the `tmem_wait` before.

    Example:

    ```mlir
    func.func @f(%part: memref<128x32xf32, #warpspec.tmem>) -> vector<32xf32> {
      %v = warpspec.tmem_load %part : memref<128x32xf32, #warpspec.tmem>
      return %v : vector<32xf32>
    }
    ```
  }];
  let arguments = (ins WarpSpec_TmemBuffer:$source);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def WarpSpec_TmemStoreOp : WarpSpec_AgentOp<"tmem_store"> {
  let summary = "the registers of each thread into one lane of tensor memory";
  let description = [{
    The mirror of `tmem_load`.

    Example:

    ```mlir
    func.func @f(%v: vector<32xi32>, %part: memref<128x32xi32, #warpspec.tmem>) {
      warpspec.tmem_store %v, %part
          : vector<32xi32>, memref<128x32xi32, #warpspec.tmem>
      return
    }
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, WarpSpec_TmemBuffer:$target);
  let assemblyFormat = [{
    $value `,` $target attr-dict `:` type($value) `,` type($target)
  }];
}

def WarpSpec_SmemLoadOp : WarpSpec_AgentOp<"smem_load"> {
  let summary = "neighbours in a row of a buffer in shared memory";
  let description = [{
    Undoes the buffer's swizzle. The vector has at most 16 bytes or a multiple
    of them, lies within one row, and starts at a multiple of its size or of 16
    bytes. Elements take whole bytes, as padded FP4 in a vector would not.

    Example:

    ```mlir
    func.func @f(%b: memref<64x64xbf16, #warpspec.smem<128>>, %r: i32, %c: i32)
        -> vector<16xbf16> {
      %v = warpspec.smem_load %b[%r, %c]
          : memref<64x64xbf16, #warpspec.smem<128>>, vector<16xbf16>
      return %v : vector<16xbf16>
    }
    ```
  }];
  let arguments = (ins WarpSpec_SmemBuffer:$source, Variadic<I32>:$indices);
  let results = (outs VectorOfRankAndType<[1], [AnyType]>:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `,` type($result)
  }];
}

def WarpSpec_SmemStoreOp : WarpSpec_AgentOp<"smem_store"> {
  let summary = "store neighbours in a row of a buffer in shared memory";
  let description = [{
    The mirror of `smem_load`.

    Example:

    ```mlir
    func.func @f(%v: vector<16xbf16>, %r: i32, %c: i32,
                 %b: memref<64x64xbf16, #warpspec.smem<128>>) {
      warpspec.smem_store %v, %b[%r, %c]
          : vector<16xbf16>, memref<64x64xbf16, #warpspec.smem<128>>
      return
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [AnyType]>:$value,
                       WarpSpec_SmemBuffer:$target, Variadic<I32>:$indices);
  let assemblyFormat = [{
    $value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)
  }];
}

class WarpSpec_FlagOp<string mnemonic>
    : WarpSpec_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins MemRefRankOf<[I32], [1]>:$flags, Index:$index);
  let assemblyFormat = "$flags `[` $index `]` attr-dict `:` type($flags)";
}

def WarpSpec_PublishOp : WarpSpec_FlagOp<"publish"> {
  let summary = "hand what this thread has written to another block";
  let description = [{
    Stores 1 to a word of global memory, after all writes of the thread to
    global memory that stand before it. The word was 0 when the kernel began.

    Example:

    ```mlir
    func.func @f(%flags: memref<?xi32, 1>, %i: index) {
      warpspec.publish %flags[%i] : memref<?xi32, 1>
      return
    }
    ```
  }];
}

def WarpSpec_AwaitOp : WarpSpec_FlagOp<"await"> {
  let summary = "wait until a thread of another block has published";
  let description = [{
    Waits until the word is not 0. What the thread that stored it had written
    before can be read then.

    Nothing here proves that the word is ever stored: a tile must wait only for
    tiles that stand before it in the sequence of `for_each_tile`. Every block
    takes its tiles in that order, so the first tile that is not finished waits
    for nobody.

    Example:

    ```mlir
    func.func @f(%flags: memref<?xi32, 1>, %i: index) {
      warpspec.await %flags[%i] : memref<?xi32, 1>
      return
    }
    ```
  }];
}

def WarpSpec_TensorMapOp : WarpSpec_Op<"tensor_map", [
    MemoryEffects<[MemRead]>]> {
  let summary = "tensor map from a table in global memory";
  let description = [{
    Entry `index` of a table of encoded maps, 128 bytes each, aligned to 64: one
    for each group of a list of problems. The acquire fence that another
    kernel's writes need is part of the lowering.

    Example:

    ```mlir
    func.func @f(%table: memref<?x128xi8, 1>, %group: i32)
        -> !warpspec.tensor_map<128x128xi8, swizzle = 128> {
      %map = warpspec.tensor_map %table[%group]
          : memref<?x128xi8, 1> to !warpspec.tensor_map<128x128xi8, swizzle = 128>
      return %map : !warpspec.tensor_map<128x128xi8, swizzle = 128>
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$table, I32:$index);
  let results = (outs WarpSpec_TensorMapType:$result);
  let assemblyFormat = [{
    $table `[` $index `]` attr-dict `:` type($table) `to` type($result)
  }];
}

def WarpSpec_TmaLoadOp : WarpSpec_CountedOp<"tma_load"> {
  let summary = "copy one box of a tensor into a slot";
  let description = [{
    Coordinates are in elements, outermost first, as the box of the map. What
    lies outside the tensor is zero. The bytes are counted on the full barrier
    of `fills`, so the load stands in the block of its `acquire`: what is
    expected must not depend on control flow.

    In a `pair` both blocks' loads are counted on the even block's barrier.

    Example:

    ```mlir
    func.func @f(%map: !warpspec.tensor_map<128x128xi8, swizzle = 128>,
                 %dst: memref<128x128xi8, #warpspec.smem<128>>,
                 %fill: !warpspec.fill, %row: i32, %k: i32) {
      warpspec.tma_load %map[%row, %k] to %dst fills(%fill) cache evict_last
          : !warpspec.tensor_map<128x128xi8, swizzle = 128>
          to memref<128x128xi8, #warpspec.smem<128>>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_TensorMapType:$map, Variadic<I32>:$coordinates,
                       WarpSpec_SmemBuffer:$target, WarpSpec_FillType:$fill,
                       OptionalAttr<WarpSpec_CacheHintAttr>:$cache);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $target `fills` `(` $fill `)`
    (`cache` `` $cache^)? attr-dict
    `:` type($map) `to` type($target)
  }];
}

def WarpSpec_TmaLoadRowsOp : WarpSpec_Op<"tma_load_rows", [
    DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface,
      ["getCountedFill", "getTransactionBytes", "getTransactionCount"]>]> {
  let summary = "copy as many rows of a tensor into a slot as a tile has";
  let description = [{
    One of a family of maps of one tensor `[k / c, rows, c]`: map i has boxes of
    8 (i + 1) rows. `rows` is a multiple of 8 of at most as many rows as the last
    map has; the K blocks of the box are adjacent in the slot, `rows` rows each.
    The bytes are counted as those of `tma_load`, times the rows.

    Example:

    ```mlir
    !m8 = !warpspec.tensor_map<2x8x64xbf16, swizzle = 128>
    !m16 = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
    func.func @f(%m8: !m8, %m16: !m16, %dst: memref<2x16x64xbf16, #warpspec.smem<128>>,
                 %fill: !warpspec.fill, %n: i32, %k: i32, %row: i32, %zero: i32) {
      warpspec.tma_load_rows %n of %m8, %m16[%k, %row, %zero] to %dst fills(%fill)
          : !m8, !m16 to memref<2x16x64xbf16, #warpspec.smem<128>>
      return
    }
    ```
  }];
  let arguments = (ins I32:$rows, Variadic<WarpSpec_TensorMapType>:$maps,
                       I32:$k, I32:$row, I32:$column,
                       WarpSpec_SmemBuffer:$target, WarpSpec_FillType:$fill,
                       OptionalAttr<WarpSpec_CacheHintAttr>:$cache);
  let assemblyFormat = [{
    $rows `of` $maps `[` $k `,` $row `,` $column `]` `to` $target
    `fills` `(` $fill `)` (`cache` `` $cache^)? attr-dict
    `:` type($maps) `to` type($target)
  }];
}

def WarpSpec_BulkLoadOp : WarpSpec_CountedOp<"bulk_load"> {
  let summary = "copy neighbouring bytes of global memory into a slot";
  let description = [{
    The bytes from `offset` on fill entry `entry` of the slot's leading
    dimension. Both are multiples of 16 bytes; no tensor map is needed.

    Example:

    ```mlir
    func.func @f(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill,
                 %dst: memref<4x4608xi8, #warpspec.smem>) {
      warpspec.bulk_load %src[%at] to 2 of %dst fills(%fill) cache evict_first
          : memref<?xi8, 1> to memref<4x4608xi8, #warpspec.smem>
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, I64:$offset, I32Attr:$entry,
                       WarpSpec_SmemBuffer:$target, WarpSpec_FillType:$fill,
                       OptionalAttr<WarpSpec_CacheHintAttr>:$cache);
  let assemblyFormat = [{
    $source `[` $offset `]` `to` $entry `of` $target `fills` `(` $fill `)`
    (`cache` `` $cache^)? attr-dict `:` type($source) `to` type($target)
  }];
}

def WarpSpec_TmaStoreOp : WarpSpec_Op<"tma_store", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface, ["getWrittenMemory"]>]> {
  let summary = "copy a slot to one box of a tensor";
  let description = [{
    What lies outside the tensor is not written. The slot may be filled again
    when its drain has been released and the copy has read it.

    `of` names the tensor's memory. It belongs there if threads of the role
    access that memory too: where they read what the box overwrites,
    `warpspec-insert-fences` orders the copy after these reads.

    Example:

    ```mlir
    func.func @f(%map: !warpspec.tensor_map<64x64xbf16, swizzle = 128>,
                 %src: memref<64x64xbf16, #warpspec.smem<128>>, %r: i32, %c: i32,
                 %out: memref<?xbf16, 1>) {
      warpspec.tma_store %src to %map[%r, %c] of %out
          : memref<64x64xbf16, #warpspec.smem<128>>
          to !warpspec.tensor_map<64x64xbf16, swizzle = 128> of memref<?xbf16, 1>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_SmemBuffer:$source, WarpSpec_TensorMapType:$map,
                       Variadic<I32>:$coordinates, Optional<AnyMemRef>:$memory,
                       OptionalAttr<WarpSpec_CacheHintAttr>:$cache);
  let assemblyFormat = [{
    $source `to` $map `[` $coordinates `]` (`of` $memory^)?
    (`cache` `` $cache^)? attr-dict
    `:` type($source) `to` type($map) (`of` type($memory)^)?
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD
