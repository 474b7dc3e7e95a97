//===- TmaOps.td - Copies that TMA carries out -------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor maps, and the asynchronous copies between global and shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_TMAOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_TMAOPS_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

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
    Or one map whose box has an open number of rows: the host has chosen `rows`.
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
  let extraClassDeclaration = [{
    /// One map, whose box has the rows that are asked for.
    bool hasOpenRows();
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

#endif // NVFP4_DIALECT_WARPSPEC_IR_TMAOPS_TD
