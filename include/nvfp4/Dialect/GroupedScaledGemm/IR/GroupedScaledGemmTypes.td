//===- GroupedScaledGemmTypes.td - Types -------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one type of the dialect. The shapes in which its values and scales are
// stored follow from its parameters, see GroupedScaledGemmTypes.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_TYPES_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmEnums.td"

def Gsg_ScaledType : TypeDef<GroupedScaledGemm_Dialect, "Scaled"> {
  let mnemonic = "scaled";
  let summary = "block-scaled tensor: values and scales as one value";
  let description = [{
    A tensor of 4- or 8-bit values whose blocks of 16 or 32 neighbours along
    `axis` (by default the last dimension, K) share one scale:
    `element = value * scale`.

    ```
    scaled-type ::= `!grouped_scaled_gemm.scaled` `<` dims `,` format
                    (`,` layout)? (`,` `starts` `=` start)? (`,` `axis` `=` int)? `>`
    ```

    | format       | values | scales | block | bits per value |
    |--------------|--------|--------|-------|----------------|
    | `nvfp4`      | E2M1   | UE4M3  | 16    | 4.5            |
    | `mxfp4`      | E2M1   | UE8M0  | 32    | 4.25           |
    | `nvfp4_e8m0` | E2M1   | UE8M0  | 16    | 4.5            |
    | `mxfp8_e4m3` | E4M3FN | UE8M0  | 32    | 8.25           |
    | `mxfp8_e5m2` | E5M2   | UE8M0  | 32    | 8.25           |

    Storage. FP4 values are packed two to a byte, the even index in the low
    nibble: a shape `...xRxK` is stored as `...xRxceil(K/2)xi8`. FP8 values are
    stored in their builtin type. With `C = ceil(K/block)` scale columns the
    scales are stored as

    - `linear`: `...xRxC`;
    - `blocked` (the 128x4 layout that `tcgen05.cp` wants):
      `...xceil(R/128)xceil(C/4)x32x4x4`, where scale (i, j) of a matrix lies at
      `[i/128, j/4, i%32, (i%128)/32, j%4]`;
    - `blocked_8x4`: `...xceil(R/8)xceil(C/4)x8x4`.

    Two layouts are of weights `[N, K]` or `[G, N, K]` for kernels of sm_90a,
    and of values and scales alike; `relayout_weights` makes them. Values and
    scales are coded together in blocks of 64 rows by 64 columns, each stored as
    2304 bytes (4352 for FP8), and what `scaled` calls its scales is one f32 for
    each matrix, by which products are to be multiplied:

    - `wgmma`, for rows multiplied in bf16: values
      `...xceil(N/64)x2*ceil(K/128)x2304xi8`, scales `Gxf32`, or `1xf32`;
    - `wgmma_f16`: the same sizes, for rows of f16.

    N and K are then known and positive. Only the `rhs` of `matmul` and
    `matmul_list` may be laid out so.

    Otherwise scales have type `f8E4M3FN` with the sign bit clear (UE4M3) or `f8E8M0FNU`.
    Padding scales are finite (0 for UE4M3).

    `starts` says where the scales of group g start when the rows (or, for
    ragged K, the columns) of several groups share one tensor:

    - `whole` (default): scales are laid out as if there were no groups;
    - `compact`: group g starts at the sum of the padded sizes of the groups
      before it (rows padded to 128 resp. 8; scale columns to 4);
    - `upper_bound`: at `floor((start_g + 127 g) / 128) * 128`, which needs no
      prefix sum.

    Example:

    ```mlir
    // Activations of dynamic row count; stacked weights of 8 experts.
    func.func private @layer(
        !grouped_scaled_gemm.scaled<?x7168, nvfp4, blocked, starts = compact>,
        !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "logical shape">:$shape,
    EnumParameter<Gsg_BlockFormat>:$format,
    EnumParameter<Gsg_ScaleLayout>:$layout,
    EnumParameter<Gsg_GroupStart>:$groupStart,
    "int64_t":$axis);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "BlockFormat":$format,
                     CArg<"ScaleLayout", "ScaleLayout::Linear">:$layout,
                     CArg<"GroupStart", "GroupStart::Whole">:$groupStart), [{
      return $_get($_ctxt, shape, format, layout, groupStart,
                   static_cast<int64_t>(shape.size()) - 1);
    }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getDimSize(int64_t dim) const { return getShape()[dim]; }
    bool isDynamicDim(int64_t dim) const {
      return ::mlir::ShapedType::isDynamic(getShape()[dim]);
    }
    bool hasStaticShape() const {
      return !::mlir::ShapedType::isDynamicShape(getShape());
    }
    /// True if blocks run along the last dimension.
    bool isKMajor() const { return getAxis() == getRank() - 1; }
    /// Values per scale: 16 or 32.
    int64_t getBlockSize() const;
    /// 4 or 8.
    int64_t getElementBits() const;
    bool isFP4() const { return getElementBits() == 4; }
    /// True for weights that kernels of sm_90a decode: values and scales are
    /// coded together.
    bool isCoded() const {
      return getLayout() == ScaleLayout::Wgmma ||
             getLayout() == ScaleLayout::WgmmaF16;
    }
    /// i8 (two packed E2M1, or coded weights) or the FP8 type.
    ::mlir::Type getDataElementType() const;
    /// f8E4M3FN or f8E8M0FNU; f32 where weights are coded.
    ::mlir::Type getScaleElementType() const;
    /// Storage shape of the values; dynamic where the logical shape is.
    ::llvm::SmallVector<int64_t> getDataShape() const;
    /// Storage shape of the scales. For group starts other than `whole` the
    /// number of row tiles (and of scale columns) depends on the groups and is
    /// dynamic.
    ::llvm::SmallVector<int64_t> getScaleShape() const;
    ::mlir::RankedTensorType getDataTensorType() const;
    ::mlir::RankedTensorType getScaleTensorType() const;
    /// The same type with another logical shape of the same rank.
    ScaledType withShape(::llvm::ArrayRef<int64_t> shape) const;
    /// The same values with their scales laid out another way.
    ScaledType withLayout(ScaleLayout layout, GroupStart start) const;
  }];
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_TYPES_TD
