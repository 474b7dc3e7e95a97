//===- StagingOps.td - Operands as kernels read them -------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies that stand before a kernel which cannot read an operand as it lies in
// memory. Formats are those of nvfp4/Format/BlockFormat.h, by name.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_STAGINGOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_STAGINGOPS_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_StagedMemRef : MemRefRankOf<[AnyType], [2]>;
def WarpSpec_OffsetMemRef : MemRefRankOf<[I32, I64], [1]>;
def WarpSpec_FactorMemRef : MemRefRankOf<[F32], [1]>;

def WarpSpec_StageRowsOp : WarpSpec_Op<"stage_rows", [AttrSizedOperandSegments]> {
  let summary = "rows of lhs in 16 bits and whole stages";
  let description = [{
    Rows of all matrices of `input` to rows of 16 bits: values of a block-scaled
    `format` times their scales as bf16, other rows as they are. Each row is
    filled with zeros up to whole stages of `stage` columns. Groups along K begin
    at stages of their own, group g at stage `start / stage + g`, and their
    scales follow each other if they are `compact`. A number that bf16 does not
    hold, in a row of a group, fails the call.

    Example:

    ```mlir
    func.func @f(%a: memref<8x64xi8>, %s: memref<8x8xf8E4M3FN>, %k: index, %rows: memref<8x128xbf16>) {
      warpspec.stage_rows(%a, %s) format "nvfp4" columns(%k) stage(128) outs(%rows)
          : memref<8x64xi8>, memref<8x8xf8E4M3FN> to memref<8x128xbf16>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "rows, or packed values", [MemRead]>:$input,
    Arg<Optional<AnyMemRef>, "linear scales", [MemRead]>:$scales,
    OptionalAttr<StrAttr>:$format, UnitAttr:$compact, Index:$columns,
    Arg<Optional<WarpSpec_OffsetMemRef>, "group offsets", [MemRead]>:$groups,
    OptionalAttr<WarpSpec_GroupFormAttr>:$form,
    DefaultValuedAttr<I64Attr, "1">:$align,
    ConfinedAttr<I64Attr, [IntPositive]>:$stage,
    Arg<WarpSpec_StagedMemRef, "rows of 16 bits", [MemWrite]>:$out);
  let assemblyFormat = [{
    `(` $input (`,` $scales^ )? `)` (`format` $format^)? (`compact` $compact^)?
    `columns` `(` $columns `)`
    (`groups` `(` $groups^ `:` type($groups) `)` $form)? (`align` `(` $align^ `)`)?
    `stage` `(` $stage `)` `outs` `(` $out `)` attr-dict
    `:` type($input) (`,` type($scales)^)? `to` type($out)
  }];
  let extraClassDeclaration = [{
    /// Groups cut the rows; others only say which rows are read.
    bool isGroupedAlongK() {
      return getForm() == GroupForm::KEnds || getForm() == GroupForm::KStarts;
    }
  }];
}

def WarpSpec_StageValuesOp : WarpSpec_Op<"stage_values"> {
  let summary = "packed values whose groups along K begin at stages";
  let description = [{
    Rows of packed values of `format`; group g begins at stage
    `start / stage + g`, with zeros after it.

    Example:

    ```mlir
    func.func @f(%a: memref<8x100xi8>, %ends: memref<2xi32>, %k: index, %rows: memref<8x384xi8>) {
      warpspec.stage_values(%a) format "nvfp4" columns(%k)
          groups(%ends : memref<2xi32>) k_ends stage(256) outs(%rows)
          : memref<8x100xi8> to memref<8x384xi8>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "packed values", [MemRead]>:$input,
    StrAttr:$format, Index:$columns,
    Arg<WarpSpec_OffsetMemRef, "group offsets", [MemRead]>:$groups,
    WarpSpec_GroupFormAttr:$form, DefaultValuedAttr<I64Attr, "1">:$align,
    ConfinedAttr<I64Attr, [IntPositive]>:$stage,
    Arg<WarpSpec_StagedMemRef, "rows of bytes", [MemWrite]>:$out);
  let assemblyFormat = [{
    `(` $input `)` `format` $format `columns` `(` $columns `)`
    `groups` `(` $groups `:` type($groups) `)` $form (`align` `(` $align^ `)`)?
    `stage` `(` $stage `)` `outs` `(` $out `)` attr-dict
    `:` type($input) `to` type($out)
  }];
}

def WarpSpec_StageScalesOp : WarpSpec_Op<"stage_scales"> {
  let summary = "scales of such values, in tiles";
  let description = [{
    Linear scales of values of `format` to tiles of 128 rows by 4 columns; a row
    of the result has the tiles of 128 rows. Groups begin where those of
    `stage_values` do; in `input` they follow each other if they are `compact`.

    Example:

    ```mlir
    func.func @f(%s: memref<8x13xf8E4M3FN>, %ends: memref<2xi32>, %k: index, %tiles: memref<1x6144xi8>) {
      warpspec.stage_scales(%s) format "nvfp4" columns(%k)
          groups(%ends : memref<2xi32>) k_ends stage(256) outs(%tiles)
          : memref<8x13xf8E4M3FN> to memref<1x6144xi8>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "linear scales", [MemRead]>:$input,
    StrAttr:$format, UnitAttr:$compact, Index:$columns,
    Arg<WarpSpec_OffsetMemRef, "group offsets", [MemRead]>:$groups,
    WarpSpec_GroupFormAttr:$form, DefaultValuedAttr<I64Attr, "1">:$align,
    ConfinedAttr<I64Attr, [IntPositive]>:$stage,
    Arg<WarpSpec_StagedMemRef, "rows of tiles", [MemWrite]>:$out);
  let assemblyFormat = [{
    `(` $input `)` `format` $format (`compact` $compact^)?
    `columns` `(` $columns `)`
    `groups` `(` $groups `:` type($groups) `)` $form (`align` `(` $align^ `)`)?
    `stage` `(` $stage `)` `outs` `(` $out `)` attr-dict
    `:` type($input) `to` type($out)
  }];
}

def WarpSpec_StageWeightsOp : WarpSpec_Op<"stage_weights"> {
  let summary = "weights packed for kernels that decode them";
  let description = [{
    Matrices of weights of `format` to blocks of 64 rows by 64 columns, packed for
    kernels of sm_90a, in whole stages of `stage` columns; each matrix is a row
    of the result. They are decoded to bf16, or to f16 if `to_f16`. Groups along
    K begin at stages of their own. `factors` becomes the number by which the
    products of each matrix are to be multiplied.

    Weights that are packed once and offline (`relayout_weights`) need no such
    operation. It depends on the weights alone, so that it may be hoisted out of
    any loop. A scale with its sign set, an infinite element, and UE8M0 scales
    further apart in one matrix than the decoder's range fail the call.

    Example:

    ```mlir
    func.func @f(%w: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %k: index, %blocks: memref<1x4608xi8>,
                 %factors: memref<1xf32>) {
      warpspec.stage_weights(%w, %s) format "nvfp4" columns(%k) stage(128) outs(%blocks, %factors)
          : memref<64x64xi8>, memref<64x8xf8E4M3FN> to memref<1x4608xi8>, memref<1xf32>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "packed values", [MemRead]>:$input,
    Arg<AnyMemRef, "linear scales", [MemRead]>:$scales,
    StrAttr:$format, UnitAttr:$f16, UnitAttr:$compact, Index:$columns,
    Arg<Optional<WarpSpec_OffsetMemRef>, "group offsets", [MemRead]>:$groups,
    OptionalAttr<WarpSpec_GroupFormAttr>:$form,
    DefaultValuedAttr<I64Attr, "1">:$align,
    ConfinedAttr<I64Attr, [IntPositive]>:$stage,
    Arg<WarpSpec_StagedMemRef, "blocks of each matrix", [MemWrite]>:$out,
    Arg<WarpSpec_FactorMemRef, "factors", [MemWrite]>:$factors);
  let assemblyFormat = [{
    `(` $input `,` $scales `)` `format` $format (`to_f16` $f16^)?
    (`compact` $compact^)? `columns` `(` $columns `)`
    (`groups` `(` $groups^ `:` type($groups) `)` $form)? (`align` `(` $align^ `)`)?
    `stage` `(` $stage `)` `outs` `(` $out `,` $factors `)` attr-dict
    `:` type($input) `,` type($scales) `to` type($out) `,` type($factors)
  }];
}

def WarpSpec_StagePaddedScalesOp : WarpSpec_Op<"stage_padded_scales"> {
  let summary = "tiled scales with zeros after the last column";
  let description = [{
    Copies scales in tiles of 128 rows by 4 columns, of which a row has `columns`
    columns. The rest of the last tile of a row becomes zero: a kernel multiplies
    it with the zeros after the end of K, and NaN there would spread.

    Example:

    ```mlir
    func.func @f(%s: memref<1x2x32x4x4xf8E4M3FN>, %columns: index, %rows: memref<1x1024xi8>) {
      warpspec.stage_padded_scales(%s) columns(%columns) outs(%rows)
          : memref<1x2x32x4x4xf8E4M3FN> to memref<1x1024xi8>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "scales in tiles", [MemRead]>:$input, Index:$columns,
    Arg<WarpSpec_StagedMemRef, "rows of tiles", [MemWrite]>:$out);
  let assemblyFormat = [{
    `(` $input `)` `columns` `(` $columns `)` `outs` `(` $out `)` attr-dict
    `:` type($input) `to` type($out)
  }];
}

def WarpSpec_StageOddValuesOp : WarpSpec_Op<"stage_odd_values"> {
  let summary = "rows of an odd number of FP4 values, with a zero after them";
  let description = [{
    Copies rows of bytes of two values and clears the second value of the last
    one, which belongs to no column.

    Example:

    ```mlir
    func.func @f(%a: memref<8x9xi8>, %rows: memref<8x16xi8>) {
      warpspec.stage_odd_values(%a) outs(%rows) : memref<8x9xi8> to memref<8x16xi8>
      return
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "packed values", [MemRead]>:$input,
    Arg<WarpSpec_StagedMemRef, "rows of bytes", [MemWrite]>:$out);
  let assemblyFormat = [{
    `(` $input `)` `outs` `(` $out `)` attr-dict `:` type($input) `to` type($out)
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_STAGINGOPS_TD
