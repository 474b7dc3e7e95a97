//===- MathOps.td - Tensor-core operations -----------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiplications of tiles, block-scaled or of decoded weights, and what brings
// scale factors and decoded weights to where the tensor core reads them.
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

def WarpSpec_MmaScaledOp : WarpSpec_AgentOp<"mma_scaled"> {
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
    `sa` and `sb` are what `copy_scales` wrote. The tile's K steps run in order.

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
    Optional<I1>:$accumulate, UnitAttr:$ue8m0);
  let assemblyFormat = [{
    $kind $acc `+` `` `=` $a `scaled_by` $aScales `,` $b `scaled_by` $bScales
    (`accumulate` `(` $accumulate^ `)`)? (`ue8m0` $ue8m0^)? attr-dict
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

def WarpSpec_MmaOp : WarpSpec_AgentOp<"mma"> {
  let summary = "multiply a tile in tensor memory by one in shared memory";
  let description = [{
    `acc[m, n] (+)= sum over k of a[m, k] * b[n, k]`, without scales.

    `a` is a tile of 128 rows in tensor memory, one a lane; each of its words
    holds two values, the one of the lower k in the lower half, as
    `decode_codes` makes them. `b` is a K-major tile `[rows, k]` or
    `[k blocks, rows, k]` of bf16 or f16, with rows of the bytes of its swizzle;
    the values of `a` are of the same type. K steps of 16 run in order.

    `accumulate` adds to `acc`; where it is false the first step overwrites it.
    Absent means true. Kernels with `pair` do not have it.

    Example:

    ```mlir
    func.func @f(%acc: memref<128x16xf32, #warpspec.tmem>, %first: i1,
                 %a: memref<128x64xi32, #warpspec.tmem>,
                 %b: memref<2x16x64xbf16, #warpspec.smem<128>>) {
      warpspec.mma %acc += %a, %b accumulate(%first)
          : memref<128x16xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>,
            memref<2x16x64xbf16, #warpspec.smem<128>>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_TmemBuffer:$acc, WarpSpec_TmemBuffer:$a,
                       WarpSpec_SmemBuffer:$b, Optional<I1>:$accumulate);
  let assemblyFormat = [{
    $acc `+` `` `=` $a `,` $b (`accumulate` `(` $accumulate^ `)`)? attr-dict
    `:` type($acc) `,` type($a) `,` type($b)
  }];
  let extraClassDeclaration = [{
    /// Instructions along K, each of 16 values.
    int64_t getStepCount();
  }];
}

def WarpSpec_DecodeCodesOp : WarpSpec_Op<"decode_codes", [Pure]> {
  let summary = "codes and their scales to words of bf16 or f16";
  let description = [{
    Values of one row of weights in the order of K: `codes` are bytes of two
    E2M1 codes, the lower half first, or of one FP8 code; `scales` are those of
    their blocks, which all have the same number of values. Word i of the result
    holds values 2 i and 2 i + 1, each its element times its scale times a power
    of two that depends on `of` alone, so that no exponent of UE8M0 leaves the
    range of bf16 at the lower end:

    | `of`         | factor | to bf16                                       | to f16 |
    |--------------|--------|-----------------------------------------------|--------|
    | `e2m1_ue4m3` | 1      | exact                                         | exact  |
    | `e2m1_ue8m0` | 2^-2   | exact                                         | none   |
    | `e4m3_ue8m0` | 2^3    | exact; infinite from 2^125 on, with scales from 2^117 on | none |
    | `e5m2_ue8m0` | 2^10   | exact; infinite from 2^118 on, with scales from 2^103 on | none |

    A NaN in an element makes one value NaN, one in a scale all of its block.
    The sign of a UE4M3 scale is ignored, as `tcgen05.mma` does.

    Example:

    ```mlir
    func.func @f(%codes: vector<32xi8>, %scales: vector<4xi8>) -> vector<32xi32> {
      %words = warpspec.decode_codes %codes scaled_by %scales of e2m1_ue4m3 to bf16
          : vector<32xi8>, vector<4xi8> -> vector<32xi32>
      return %words : vector<32xi32>
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I8]>:$codes,
                       VectorOfRankAndType<[1], [I8]>:$scales,
                       WarpSpec_WeightCodeAttr:$code, TypeAttr:$element);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = [{
    $codes `scaled_by` $scales `of` $code `to` $element attr-dict
    `:` type($codes) `,` type($scales) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The exponent of the power of two by which a result is too large.
    static int64_t getExponent(WeightCode code);
    /// Whether a byte of codes has two of E2M1.
    static bool isFP4(WeightCode code);
  }];
}

/// Fragments in global memory.
def WarpSpec_Sums : MemRefRankOf<[F32], [1]>;

/// An operation of threads that are numbered from the first of the block.
class WarpSpec_WarpgroupOp<string mnemonic, list<Trait> traits = []>
    : WarpSpec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface,
          ["isOfFirstWarpgroups"]>])>;

def WarpSpec_MmaDecodedOp : WarpSpec_WarpgroupOp<"mma_decoded", [
    AttrSizedOperandSegments,
    WarpSpec_PipelineEndOpInterface, WarpSpec_SlotLoopOpInterface]> {
  let summary = "multiply coded weights by the tokens of many slots";
  let description = [{
    The loop along K of a role whose warpgroups decode weights in registers:
    waits for the slots `from` to `to` of the pipeline in turn, multiplies, and
    releases each. Warpgroup w multiplies entry w of the first buffer of a slot,
    64 rows of weights as `nvfp4/Format/WgmmaWeights.h` lays them out, by the
    first `width` rows of the second, K-major tokens of bf16 or f16 with a swizzle
    of 128 bytes; weights are decoded to the same type. `of` names their elements
    and scales, `e2m1_ue4m3` if it is absent; those of 8 bits need 4352 bytes for
    64 columns, the others 2304. `width` is one of 8, 16, ... up to the rows of the buffer, and
    beyond 64 of `step` more each; the K blocks of 64 columns lie `width` rows
    apart.

    The result is the product divided by what the coding of the weights says, 128
    with UE4M3: half the rows of the buffer values a
    thread, in the fragment order of `wgmma`, of which the first `width / 2` are
    defined. Columns of the fragment are tokens.

    With `after`, and under a condition, products are added to the fragment that
    `store_fragment` has left in that slot: the result is the same, bit by bit,
    as that of one operation for the steps of both.

    The agent is `threads`: they wait, decode, and issue `wgmma` together, and
    all that is asynchronous has finished when the operation has. Stage and phase
    are those of the first slot, and what follows the last, set by
    `warpspec-materialize-stages`.

    Example:

    ```mlir
    !w = memref<4x4608xi8, #warpspec.smem>
    !t = memref<2x16x64xbf16, #warpspec.smem<128>>
    warpspec.kernel @k(%src: memref<?xi8, 1>, %steps: i32, %n: i32, %at: i64) {
      %w = warpspec.smem_alloc : memref<3x4x4608xi8, #warpspec.smem>
      %t = warpspec.smem_alloc : memref<3x2x16x64xbf16, #warpspec.smem<128>>
      %in = warpspec.pipeline(%w, %t) tma to threads
          : memref<3x4x4608xi8, #warpspec.smem>,
            memref<3x2x16x64xbf16, #warpspec.smem<128>>
      warpspec.roles
      role @load warps(1) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        scf.for %k = %c0 to %steps step %c1 : i32 {
          %fill, %dst:2 = warpspec.acquire %in
              : !warpspec.pipeline<3 x (!w, !t), tma to threads>
          warpspec.bulk_load %src[%at] to 0 of %dst#0 fills(%fill)
              : memref<?xi8, 1> to !w
          warpspec.commit %fill
        }
      }
      role @math warps(16) {
        %c0 = arith.constant 0 : i32
        %acc, %stage, %phase = warpspec.mma_decoded %in from %c0 to %steps width(%n) step 16
            : !warpspec.pipeline<3 x (!w, !t), tma to threads> -> vector<8xf32>
      }
    }
    ```
  }];
  let arguments = (ins WarpSpec_PipelineType:$pipeline, I32:$from, I32:$to,
                       I32:$width,
                       ConfinedAttr<I32Attr, [IntPositive]>:$widthStep,
                       DefaultValuedAttr<WarpSpec_WeightCodeAttr,
                         "WeightCode::E2M1_UE4M3">:$code,
                       Optional<WarpSpec_Sums>:$sums, Optional<I32>:$sumsSlot,
                       Optional<I1>:$isAfter,
                       Optional<I32>:$stage, Optional<I32>:$phase);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result, I32:$nextStage,
                      I32:$nextPhase);
  let assemblyFormat = [{
    $pipeline (`[` $stage^ `,` $phase `]`)? `from` $from `to` $to
    `width` `(` $width `)` `step` $widthStep (`of` $code^)?
    (`after` $sums^ `[` $sumsSlot `]` `if` $isAfter `:` type($sums))? attr-dict
    `:` type($pipeline) `->` type($result)
  }];
  let extraClassDeclaration = WarpSpec_End</*fills=*/0, /*opens=*/1>.methods # [{
    RingPosition getNextPosition(::mlir::OpBuilder &builder);
    /// 64 rows of weights each.
    int64_t getWarpgroups();
    /// Rows of the buffer of tokens.
    int64_t getMaxWidth();
    /// K blocks of 64 columns of a slot.
    int64_t getKBlocks();
    /// Bytes of 64 rows by 64 columns of weights.
    int64_t getBlockBytes();
    /// The widths that are multiplied as they are, ascending.
    ::llvm::SmallVector<int64_t> getWidths();
  }];
}

def WarpSpec_StageFragmentOp : WarpSpec_WarpgroupOp<"stage_fragment"> {
  let summary = "some columns of an accumulator to shared memory, transposed";
  let description = [{
    Each warpgroup of the role stores columns `column` and following of its
    fragment of 64 rows: entry w of `target`, whose rows are the columns of the
    fragment, as many as it has, and whose columns are the rows. `column` is a
    multiple of them. The threads of the warpgroup meet before and after, so
    that what stood there has been read and what stands there may be.

    `barrier` is the first of as many named barriers as there are warpgroups,
    set by `warpspec-lower-roles`.

    Example:

    ```mlir
    func.func @f(%acc: vector<48xf32>, %c: i32,
                 %dst: memref<4x32x68xf32, #warpspec.smem>) {
      warpspec.stage_fragment %acc[%c] to %dst
          : vector<48xf32> to memref<4x32x68xf32, #warpspec.smem>
      return
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$fragment, I32:$column,
                       WarpSpec_SmemBuffer:$target,
                       OptionalAttr<I32Attr>:$barrier);
  let assemblyFormat = [{
    $fragment `[` $column `]` `to` $target (`barrier` `(` $barrier^ `)`)? attr-dict
    `:` type($fragment) `to` type($target)
  }];
}

def WarpSpec_StoreFragmentOp : WarpSpec_WarpgroupOp<"store_fragment"> {
  let summary = "leave an accumulator in global memory, for mma_decoded";
  let description = [{
    Each thread of the role stores its values of a fragment in slot `slot` of the
    target, those that the first `width` columns need. A slot has a place for all
    values of all threads of the role: the four values from 4 j on of thread t of
    T stand at 4 (j T + t). `publish` says that they are there.

    Example:

    ```mlir
    func.func @f(%acc: vector<48xf32>, %width: i32, %slot: i32,
                 %sums: memref<?xf32, 1>) {
      warpspec.store_fragment %acc width(%width) to %sums[%slot]
          : vector<48xf32> to memref<?xf32, 1>
      return
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$fragment, I32:$width,
                       WarpSpec_Sums:$target, I32:$slot);
  let assemblyFormat = [{
    $fragment `width` `(` $width `)` `to` $target `[` $slot `]` attr-dict
    `:` type($fragment) `to` type($target)
  }];
}

def WarpSpec_AddFragmentsOp : WarpSpec_WarpgroupOp<"add_fragments", [
    AllTypesMatch<["fragment", "result"]>]> {
  let summary = "add accumulators from global memory, for parts of K";
  let description = [{
    The sum of the fragments that `store_fragment` has left in `count` slots from
    `slot` on, in that order, and then of this one: of the first `width` columns.
    With a count of 0 it is the fragment.

    Example:

    ```mlir
    func.func @f(%acc: vector<48xf32>, %width: i32, %slot: i32, %count: i32,
                 %sums: memref<?xf32, 1>) -> vector<48xf32> {
      %all = warpspec.add_fragments %acc width(%width) to %count of %sums[%slot]
          : vector<48xf32>, memref<?xf32, 1>
      return %all : vector<48xf32>
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$fragment, I32:$width,
                       I32:$count, WarpSpec_Sums:$source, I32:$slot);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $fragment `width` `(` $width `)` `to` $count `of` $source `[` $slot `]`
    attr-dict `:` type($fragment) `,` type($source)
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_MATHOPS_TD
