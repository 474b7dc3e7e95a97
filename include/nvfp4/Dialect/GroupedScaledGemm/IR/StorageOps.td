//===- StorageOps.td - In and out of the scaled type -------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scaled values from packed values and scales, their parts, and changes of the
// layout that leave what they mean as it is.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_STORAGEOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_STORAGEOPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_MakeScaledOp : Gsg_Op<"make_scaled", [Pure]> {
  let summary = "pair values with their scales";
  let description = [{
    Makes one `scaled` value of packed values and their scales. The storage
    shapes must be those of the result type (see the type); a dynamic extent is
    checked where it becomes known. Making a pair of what was split folds away.

    Example:

    ```mlir
    func.func @f(%v: tensor<4096x3584xi8>, %s: tensor<4096x448xf8E4M3FN>)
        -> !grouped_scaled_gemm.scaled<4096x7168, nvfp4> {
      %w = grouped_scaled_gemm.make_scaled %v, %s
          : tensor<4096x3584xi8>, tensor<4096x448xf8E4M3FN>
          -> !grouped_scaled_gemm.scaled<4096x7168, nvfp4>
      return %w : !grouped_scaled_gemm.scaled<4096x7168, nvfp4>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_AnyShaped, "packed values">:$data,
    Arg<Gsg_AnyShaped, "scales in the layout of the result type">:$scales);
  let results = (outs Gsg_ScaledType:$result);
  let assemblyFormat = [{
    $data `,` $scales attr-dict `:` type($data) `,` type($scales) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gsg_SplitScaledOp : Gsg_Op<"split_scaled", [Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "values and scales of a scaled value";
  let description = [{
    The inverse of `make_scaled`; folds with it.

    Example:

    ```mlir
    func.func @f(%w: !grouped_scaled_gemm.scaled<64x128, mxfp4>)
        -> tensor<64x4xf8E8M0FNU> {
      %v, %s = grouped_scaled_gemm.split_scaled %w
          : !grouped_scaled_gemm.scaled<64x128, mxfp4>
          -> tensor<64x64xi8>, tensor<64x4xf8E8M0FNU>
      return %s : tensor<64x4xf8E8M0FNU>
    }
    ```
  }];
  let arguments = (ins Gsg_ScaledType:$input);
  let results = (outs AnyRankedTensor:$data, AnyRankedTensor:$scales);
  let assemblyFormat = [{
    $input attr-dict `:` type($input) `->` type($data) `,` type($scales)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Gsg_RelayoutScalesOp : Gsg_DestinationOp<"relayout_scales",
    [AttrSizedOperandSegments]> {
  let summary = "move scales to another layout";
  let description = [{
    The values stay as they are; the scales move between `linear`, `blocked`
    and `blocked_8x4` and between group starts. Padding scales of the result
    are zero (UE4M3) or one (UE8M0). `groups` is required where either layout
    depends on it; the scales of rows outside every group are then unspecified. A re-layout to the same type folds away; two in a row fold
    into one.

    Example:

    ```mlir
    func.func @f(%w: !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
        -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, blocked> {
      %b = grouped_scaled_gemm.relayout_scales(
          %w : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
          -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, blocked>
      return %b : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, blocked>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_ScaledOrData, "scaled value, or its values">:$input,
    Arg<Optional<Gsg_AnyShaped>, "its scales, in storage form">:$input_scales,
    OptionalAttr<ArrayAttr>:$input_types,
    Arg<Optional<Gsg_Offsets>, "group offsets">:$groups,
    OptionalAttr<Gsg_GroupingAttr>:$grouping,
    Arg<Optional<Gsg_AnyShaped>, "scales of the result, in storage form">:$out_scales,
    OptionalAttr<TypeAttr>:$out_type);
  let results = (outs Optional<Gsg_ScaledOrTensor>:$result);
  let assemblyFormat = [{
    `(` custom<ScaledOperand>($input, type($input), $input_scales,
                              type($input_scales), $input_types) `)`
    (`groups` `(` $groups^ `:` type($groups) `)` `as` $grouping)?
    (`outs` `(` $out_scales^ `:` type($out_scales) `as` $out_type `)`)?
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    /// The scaled type before and after.
    ScaledType getInputType();
    ScaledType getResultType();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Gsg_RelayoutGateOp : Gsg_DestinationOp<"relayout_gate",
    [AttrSizedOperandSegments]> {
  let summary = "reorder gate and up rows of a GLU weight";
  let description = [{
    Permutes the rows (dimension -2) of a scaled weight, or the last dimension
    of a plain tensor such as a bias, from one gate/up convention to another.
    Scales move with their rows. Equal conventions fold away, two re-layouts in
    a row become one.

    Example:

    ```mlir
    func.func @f(%w: !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
        -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4> {
      %b = grouped_scaled_gemm.relayout_gate(
          %w : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
          from <halves, gate_first> to <32, gate_first>
          -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>
      return %b : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_ScaledOrData, "scaled weight, its values, or a plain tensor">:$input,
    Arg<Optional<Gsg_AnyShaped>, "its scales, in storage form">:$input_scales,
    OptionalAttr<ArrayAttr>:$input_types,
    Gsg_GateAttr:$from, Gsg_GateAttr:$to,
    Arg<Optional<Gsg_AnyShaped>, "result, in storage form">:$out,
    Arg<Optional<Gsg_AnyShaped>, "scales of the result, in storage form">:$out_scales,
    OptionalAttr<ArrayAttr>:$out_types);
  let results = (outs Variadic<Gsg_ScaledOrTensor>:$results);
  let assemblyFormat = [{
    `(` custom<ScaledOperand>($input, type($input), $input_scales,
                              type($input_scales), $input_types) `)`
    `from` $from `to` $to
    (`outs` `(` custom<OptionalScaledOperand>($out, type($out), $out_scales,
                              type($out_scales), $out_types)^ `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Gsg_RelayoutWeightsOp : Gsg_DestinationOp<"relayout_weights",
    [AttrSizedOperandSegments]> {
  let summary = "lay weights out for kernels of sm_90a, or back";
  let description = [{
    Moves weights from the layout `linear` to `wgmma` or `wgmma_f16` (see the
    type), or back. Done once, offline, it saves a launch on Hopper the same
    work. Every value times its scale stays what it is, up to this:

    - values under a zero scale, and blocks of zeros, become +0;
    - NaN in 16 columns of a row is NaN of all of them;
    - a UE8M0 scale of a block of zeros comes back as 1.

    Weights fail the call whose UE4M3 scale has its sign set, that have an
    infinite element, or UE8M0 scales further apart in one matrix than the
    decoder's range. On the way back bytes of weights that the
    op never writes fail the call; those of padding are not read.

    Example:

    ```mlir
    func.func @f(%w: !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
        -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, wgmma> {
      %b = grouped_scaled_gemm.relayout_weights(
          %w : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>)
          -> !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, wgmma>
      return %b : !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4, wgmma>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_ScaledOrData, "scaled weight, or its values">:$input,
    Arg<Optional<Gsg_AnyShaped>, "its scales, in storage form">:$input_scales,
    OptionalAttr<ArrayAttr>:$input_types,
    Arg<Optional<Gsg_AnyShaped>, "result, in storage form">:$out,
    Arg<Optional<Gsg_AnyShaped>, "scales of the result, in storage form">:$out_scales,
    OptionalAttr<ArrayAttr>:$out_types);
  let results = (outs Variadic<Gsg_ScaledOrTensor>:$results);
  let assemblyFormat = [{
    `(` custom<ScaledOperand>($input, type($input), $input_scales,
                              type($input_scales), $input_types) `)`
    (`outs` `(` custom<OptionalScaledOperand>($out, type($out), $out_scales,
                              type($out_scales), $out_types)^ `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    /// The scaled type before and after.
    ScaledType getInputType();
    ScaledType getResultType();
  }];
  let hasVerifier = 1;
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_STORAGEOPS_TD
