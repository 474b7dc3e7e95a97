//===- MathOps.td - Tensor-core operations -----------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block-scaled and plain multiplications of tiles, and what brings scale
// factors to where the tensor core reads them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_MATHOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_MATHOPS_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_CopyScalesOp : WarpSpec_AgentOp<"copy_scales"> {
  let summary = "scale factors from shared to tensor memory";
  let description = [{
    The source is a sequence of atoms of 512 bytes, each 128 rows by 4 scales
    in the 128x4 layout; atom i goes to columns 4 i to 4 i + 3, once for each
    quarter of the lanes. A tile of several atoms a row block has its atoms
    along K outermost, as `mma_scaled` reads them.

    With `row(r)` lane i gets row r + i instead of i, for tiles of at most 32
    rows that begin in the middle of an atom: r is a multiple of 8 below 32. The
    instruction copies 32 rows all the same, so the source has an atom more than
    the target, of which anything may be in the lanes behind the tile.

    In order with the multiplications of the same thread, before and after.

    Example:

    ```mlir
    func.func @f(%src: memref<4x512xi8, #warpspec.smem>,
                 %dst: memref<128x16xi32, #warpspec.tmem>) {
      warpspec.copy_scales %src to %dst
          : memref<4x512xi8, #warpspec.smem> to memref<128x16xi32, #warpspec.tmem>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_SmemBuffer:$source, WarpSpec_TmemBuffer:$target,
                       Optional<I32>:$row);
  let assemblyFormat = [{
    $source `to` $target (`row` `(` $row^ `)`)? attr-dict `:` type($source) `to` type($target)
  }];
  let extraClassDeclaration = [{
    /// Atoms that go to columns of the target: one less than those of the
    /// source if they begin at a row.
    int64_t getAtoms();
  }];
}

def WarpSpec_MmaScaledOp : WarpSpec_AgentOp<"mma_scaled", [
    AttrSizedOperandSegments]> {
  let summary = "multiply two block-scaled tiles into tensor memory";
  let description = [{
    `acc[m, n] (+)= sum over k of (a[m, k] * sa[m, k / block]) * (b[n, k] * sb[n, k / block])`

    | kind       | values of A and B       | bytes of a step | scales           | block |
    |------------|-------------------------|-----------------|------------------|-------|
    | `mxf4nvf4` | `i8`, two E2M1 in each  | 32 (64 values)  | `f8E4M3FN` (UE4M3) | 16  |
    | `mxf4`     | `i8`, two E2M1 in each  | 32 (64 values)  | `f8E8M0FNU`      | 32    |
    | `mxf8f6f4` | `f8E4M3FN`, `f8E5M2`, `f4E2M1FN` (padded) | 32 (32 values) | `f8E8M0FNU` | 32 |

    `a` and `b` are K-major tiles `[rows, k]`, or `[k blocks, rows, k]` where one
    row takes more bytes than the swizzle spans; in a `pair` each block holds
    half the rows of each, and all columns of `acc` in its half of the lanes.
    `sa` and `sb` are what `copy_scales` wrote. The tile's K steps run in
    order; `steps` issues only the first so many of them.

    `ue8m0` makes the scales of `mxf4nvf4` UE8M0, still of blocks of 16.

    `accumulate` adds to `acc`; where it is false the first step overwrites it.
    Absent means true.

    Example:

    ```mlir
    func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %first: i1,
                 %a: memref<128x128xi8, #warpspec.smem<128>>,
                 %b: memref<128x128xi8, #warpspec.smem<128>>,
                 %sa: memref<128x16xi32, #warpspec.tmem>,
                 %sb: memref<128x16xi32, #warpspec.tmem>) {
      warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %sa, %b scaled_by %sb
          accumulate(%first)
          : memref<128x128xf32, #warpspec.tmem>,
            memref<128x128xi8, #warpspec.smem<128>>, memref<128x16xi32, #warpspec.tmem>,
            memref<128x128xi8, #warpspec.smem<128>>, memref<128x16xi32, #warpspec.tmem>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_ScaledKindAttr:$kind,
    WarpSpec_TmemBuffer:$acc,
    WarpSpec_SmemBuffer:$a, WarpSpec_TmemBuffer:$aScales,
    WarpSpec_SmemBuffer:$b, WarpSpec_TmemBuffer:$bScales,
    Optional<I1>:$accumulate, Optional<I32>:$steps, UnitAttr:$ue8m0);
  let assemblyFormat = [{
    $kind $acc `+` `` `=` $a `scaled_by` $aScales `,` $b `scaled_by` $bScales
    (`accumulate` `(` $accumulate^ `)`)? (`steps` `(` $steps^ `)`)? (`ue8m0` $ue8m0^)? attr-dict
    `:` type($acc) `,` type($a) `,` type($aScales) `,` type($b) `,` type($bScales)
  }];
  let extraClassDeclaration = [{
    /// Bytes of one row of A or B along K.
    int64_t getRowBytes();
    /// Instructions along K: row bytes / 32.
    int64_t getStepCount() { return getRowBytes() / 32; }
    /// Scales of one row that one step reads: 4, 2 or 1.
    int64_t getScalesPerStep();
    /// True if this operation is one of a kernel with `pair`.
    bool isPair();
  }];
}

def WarpSpec_WarpgroupMmaOp : WarpSpec_AgentOp<"warpgroup_mma", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "multiply two tiles into the registers of a warpgroup";
  let description = [{
    Hopper's `wgmma`: `acc (+)= a * b^T` with both tiles K-major in shared
    memory, or A in registers. The accumulator is one vector of N / 2 values a
    thread, in the instruction's fragment order, for 64 rows of A. Asynchronous:
    a drain that it reads may be released only when a later `warpgroup_mma` or
    the use of its result shows that it has finished, which the release waits
    for.

    Example:

    ```mlir
    func.func @f(%acc: vector<64xf32>, %a: memref<64x64xf16, #warpspec.smem<128>>,
                 %b: memref<128x64xf16, #warpspec.smem<128>>) -> vector<64xf32> {
      %r = warpspec.warpgroup_mma %acc += %a, %b
          : vector<64xf32>, memref<64x64xf16, #warpspec.smem<128>>,
            memref<128x64xf16, #warpspec.smem<128>>
      return %r : vector<64xf32>
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$acc, AnyType:$a,
                       WarpSpec_SmemBuffer:$b);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $acc `+` `` `=` $a `,` $b attr-dict `:` type($acc) `,` type($a) `,` type($b)
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_MATHOPS_TD
