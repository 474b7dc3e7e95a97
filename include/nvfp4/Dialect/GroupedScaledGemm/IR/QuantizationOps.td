//===- QuantizationOps.td - Quantise and dequantise --------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From tensors of floating point numbers to scaled values and back, and the
// rotation that spreads outliers before it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_QUANTIZATIONOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_QUANTIZATIONOPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_QuantizeOp : Gsg_DestinationOp<"quantize", [AttrSizedOperandSegments]> {
  let summary = "quantise a tensor by a named quantiser";
  let description = [{
    Splits the `axis` of the result type (by default the last dimension) into
    blocks, derives one scale a block and rounds the values, byte for byte as
    the named quantiser does (docs/Spec.md). Blocks never straddle groups. A
    last block that is not full behaves as if padded with zeros.

    `global_scale` is the second-level scale in the convention of the
    quantiser (encode scale or multiplier), one f32 or one a group (without
    `groups`: one a matrix of rank 3); absent means 1. With `per_row` it is one a
    row of the result, whose blocks lie along rows: each token has a second level
    of its own, which `row_scale` of `matmul` takes back. `seed` is required for
    stochastic rounding.

    With `groups`, rows outside every group are not read; their codes and
    scales are zero in value form and preserved in storage form.

    With `transposed` what is quantised is the input with its last two
    dimensions exchanged, byte for byte: from activations `[tokens, features]`
    the operand `[features, tokens]` of a gradient of weights, of which blocks
    and groups lie along the tokens.

    With `hadamard` every run of 16 elements along the blocks, from the first
    one of a group on, is transformed before, in f32. Elements behind the end of
    a group count as zeros, and what the transform makes of them is dropped.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x7168xbf16>, %s: f32)
        -> !grouped_scaled_gemm.scaled<?x7168, nvfp4> {
      %q = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x7168xbf16>)
          global_scale(%s : f32)
          -> !grouped_scaled_gemm.scaled<?x7168, nvfp4>
      return %q : !grouped_scaled_gemm.scaled<?x7168, nvfp4>
    }
    ```
  }];
  let arguments = (ins
    Gsg_QuantizerAttr:$quantizer,
    Arg<Gsg_RealShaped, "what is quantised">:$input,
    Arg<Optional<Gsg_Offsets>, "group offsets">:$groups,
    OptionalAttr<Gsg_GroupingAttr>:$grouping,
    Arg<Optional<Gsg_F32OrShaped>, "second-level scale">:$global_scale,
    Arg<Optional<I64>, "seed of stochastic rounding">:$seed,
    Arg<Optional<Gsg_AnyShaped>, "values, in storage form">:$out,
    Arg<Optional<Gsg_AnyShaped>, "scales, in storage form">:$out_scales,
    OptionalAttr<ArrayAttr>:$out_types,
    OptionalAttr<Gsg_HadamardAttr>:$hadamard,
    UnitAttr:$transposed,
    UnitAttr:$per_row);
  let results = (outs Variadic<Gsg_ScaledOrTensor>:$results);
  let assemblyFormat = [{
    $quantizer `(` $input `:` type($input) `)`
    (`hadamard` `=` $hadamard^)?
    (`groups` `(` $groups^ `:` type($groups) `)` `as` $grouping)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`seed` `(` $seed^ `)`)?
    (`outs` `(` custom<OptionalScaledOperand>($out, type($out), $out_scales,
                              type($out_scales), $out_types)^ `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    /// The scaled type of the result, in value and in storage form.
    ScaledType getScaledResultType();
    /// The dimension of the input that dimension `d` of the result is.
    int64_t getInputDim(int64_t d);
  }];
  let hasVerifier = 1;
}

def Gsg_DequantizeOp : Gsg_DestinationOp<"dequantize",
    [AttrSizedOperandSegments]> {
  let summary = "values times scales";
  let description = [{
    `result = value * scale * global_scale`, the product of value and scale
    exact, the product with `global_scale` (absent: 1) rounded once to f32 and
    then to the element type of the result. `global_scale` has one number a
    group, or with `per_row` one a row, as for `quantize`. With `groups`, rows
    outside every group keep what `outs` holds.

    Example:

    ```mlir
    func.func @f(%w: !grouped_scaled_gemm.scaled<64x128, mxfp8_e4m3>,
                 %init: tensor<64x128xf32>) -> tensor<64x128xf32> {
      %d = grouped_scaled_gemm.dequantize(
          %w : !grouped_scaled_gemm.scaled<64x128, mxfp8_e4m3>)
          outs(%init : tensor<64x128xf32>) -> tensor<64x128xf32>
      return %d : tensor<64x128xf32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_ScaledOrData, "scaled value, or its values">:$input,
    Arg<Optional<Gsg_AnyShaped>, "its scales, in storage form">:$input_scales,
    OptionalAttr<ArrayAttr>:$input_types,
    Arg<Optional<Gsg_Offsets>, "group offsets">:$groups,
    OptionalAttr<Gsg_GroupingAttr>:$grouping,
    Arg<Optional<Gsg_F32OrShaped>, "second-level scale (multiplier)">:$global_scale,
    Arg<Gsg_RealShaped, "destination">:$out,
    UnitAttr:$per_row);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` custom<ScaledOperand>($input, type($input), $input_scales,
                              type($input_scales), $input_types) `)`
    (`groups` `(` $groups^ `:` type($groups) `)` `as` $grouping)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    ScaledType getInputType();
  }];
  let hasVerifier = 1;
}

def Gsg_HadamardOp : Gsg_DestinationOp<"hadamard"> {
  let summary = "16-point Hadamard transform of the last dimension";
  let description = [{
    Multiplies every run of 16 values of the last dimension by
    `diag(signs) * H16`, with `H16[i, j] = (-1)^popcount(i & j)`; `normalized`
    divides by 4. Bit i of `sign_mask` set means sign -1 for element i.
    Computed in f32 as four stages of additions (stride 1, 2, 4, 8).

    Example:

    ```mlir
    func.func @f(%x: tensor<?x256xbf16>, %init: tensor<?x256xbf16>)
        -> tensor<?x256xbf16> {
      %y = grouped_scaled_gemm.hadamard %x outs(%init) {normalized}
          : tensor<?x256xbf16>, tensor<?x256xbf16> -> tensor<?x256xbf16>
      return %y : tensor<?x256xbf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealShaped, "input">:$input,
    Arg<Gsg_RealShaped, "destination">:$out,
    UnitAttr:$normalized,
    DefaultValuedAttr<I32Attr, "0">:$sign_mask);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $input `outs` `(` $out `)` attr-dict `:` type($input) `,` type($out)
    (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_AmaxOp : Gsg_DestinationOp<"amax"> {
  let summary = "the largest magnitude of a matrix";
  let description = [{
    max |x| over all elements of `[M, N]`, or over those of each matrix of
    `[G, M, N]`; 0 without elements, NaN if an element is NaN. Second-level
    scales follow from it. With `hadamard` x is what the transform makes of runs
    of 16 along the last dimension, or, with `transposed`, along the one before:
    the numbers that `quantize` with the same attributes rounds, without groups.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x2048xbf16>, %init: tensor<f32>) -> tensor<f32> {
      %m = grouped_scaled_gemm.amax(%x : tensor<?x2048xbf16>) hadamard = <normalized>
          outs(%init : tensor<f32>) {transposed} -> tensor<f32>
      return %m : tensor<f32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealShaped, "[M, N] or [G, M, N]">:$input,
    Arg<Gsg_F32Shaped, "destination">:$out,
    OptionalAttr<Gsg_HadamardAttr>:$hadamard,
    UnitAttr:$transposed);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` (`hadamard` `=` $hadamard^)?
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_QUANTIZATIONOPS_TD
