//===- MemoryOps.td - What threads load and store ----------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores by threads: of tensor memory, of shared memory, and of the
// words of global memory by which blocks hand over.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

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

#endif // NVFP4_DIALECT_WARPSPEC_IR_MEMORYOPS_TD
