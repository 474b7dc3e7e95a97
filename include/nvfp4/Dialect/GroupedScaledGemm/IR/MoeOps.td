//===- MoeOps.td - The rest of a Mixture-of-Experts layer --*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations outside a product, the choice of experts, and the movement of
// tokens to the rows of their experts and back.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MOEOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MOEOPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_GluOp : Gsg_DestinationOp<"glu"> {
  let summary = "activation of a pre-activation tensor";
  let description = [{
    Applies an activation to the last dimension; with pairs it halves it.
    The same function as in the epilogue of `matmul`, to the bit;
    `gsg-fuse-epilogue` moves it there.

    Example:

    ```mlir
    func.func @f(%z: tensor<?x5760xf32>, %init: tensor<?x2880xf32>)
        -> tensor<?x2880xf32> {
      %y = grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>,
                                    alpha = 1.702, beta = 1.0, limit = 7.0>
          (%z : tensor<?x5760xf32>) outs(%init : tensor<?x2880xf32>)
          -> tensor<?x2880xf32>
      return %y : tensor<?x2880xf32>
    }
    ```
  }];
  let arguments = (ins
    Gsg_ActivationAttr:$activation,
    Arg<Gsg_RealShaped, "pre-activation">:$input,
    DefaultValuedAttr<Gsg_MathModeAttr, "MathMode::Strict">:$math,
    Arg<Gsg_RealShaped, "destination">:$out);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $activation `(` $input `:` type($input) `)`
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_GluBackwardOp
    : Gsg_DestinationOp<"glu_backward", [AttrSizedOperandSegments]> {
  let summary = "gradient of an activation with respect to its input";
  let description = [{
    From the pre-activation z that the input of `glu` was, and the gradient dy
    of what `glu` returned times `prob`, computes dz, in the gate layout of z.
    `prob` (one number a row) is the factor of the result, as at
    `post_activation` of `matmul`; without it the factor is 1. `prob_outs`
    receives the gradient of the factor: the sum over a row of dy times the
    activation, in f64 and rounded once. docs/Spec.md has the formulas. Limits
    are inclusive; rounding z to bf16 passes gradients on.

    `groups` says which rows there are: of `[R, N]` (`ragged_rows`) or of
    `[G, M, N]` (`masked`). Other rows are not read, and rows of `outs` and
    entries of `prob_outs` outside every group keep what they hold.

    Example:

    ```mlir
    func.func @f(%z: tensor<?x1536xbf16>, %dy: tensor<?x768xbf16>, %p: tensor<?xf32>,
                 %init: tensor<?x1536xbf16>, %dp0: tensor<?xf32>)
        -> (tensor<?x1536xbf16>, tensor<?xf32>) {
      %dz, %dp = grouped_scaled_gemm.glu_backward <swiglu, gate = <halves, gate_first>>
          (%z : tensor<?x1536xbf16>) gradient(%dy : tensor<?x768xbf16>) prob(%p : tensor<?xf32>)
          outs(%init : tensor<?x1536xbf16>) prob_outs(%dp0 : tensor<?xf32>)
          -> tensor<?x1536xbf16>, tensor<?xf32>
      return %dz, %dp : tensor<?x1536xbf16>, tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins
    Gsg_ActivationAttr:$activation,
    Arg<Gsg_RealShaped, "pre-activation">:$input,
    Arg<Gsg_RealShaped, "gradient of the result">:$gradient,
    Arg<Optional<Gsg_Offsets>, "group offsets">:$groups,
    OptionalAttr<Gsg_GroupingAttr>:$grouping,
    Arg<Optional<Gsg_F32Shaped>, "factor of each row">:$prob,
    Arg<Gsg_RealShaped, "destination">:$out,
    Arg<Optional<Gsg_F32Shaped>, "gradient of the factors">:$prob_out);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $activation `(` $input `:` type($input) `)`
    `gradient` `(` $gradient `:` type($gradient) `)`
    (`groups` `(` $groups^ `:` type($groups) `)` `as` $grouping)?
    (`prob` `(` $prob^ `:` type($prob) `)`)?
    `outs` `(` $out `:` type($out) `)`
    (`prob_outs` `(` $prob_out^ `:` type($prob_out) `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_SumRowsOp : Gsg_DestinationOp<"sum_rows", [AttrSizedOperandSegments]> {
  let summary = "sum the rows of each group";
  let description = [{
    The sum over the rows of each group, which is the gradient of a bias of the
    columns: `[G, N]` from `[R, N]` whose rows `groups` cuts (`ragged_rows`), or
    from `[G, M, N]` (`masked`). Without `groups` the groups are the matrices:
    `[N]` from `[M, N]`, `[G, N]` from `[G, M, N]`. `prob` multiplies each row.
    A sum is added in f64 and rounded once; that of an empty group is 0. Rows
    of no group are not read.

    Example:

    ```mlir
    func.func @f(%dz: tensor<?x1536xbf16>, %ends: tensor<8xi32>, %init: tensor<8x1536xf32>)
        -> tensor<8x1536xf32> {
      %db = grouped_scaled_gemm.sum_rows(%dz : tensor<?x1536xbf16>)
          groups(%ends : tensor<8xi32>) as <ragged_rows, ends>
          outs(%init : tensor<8x1536xf32>) -> tensor<8x1536xf32>
      return %db : tensor<8x1536xf32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealShaped, "[R, N] or [G, M, N]">:$input,
    Arg<Optional<Gsg_Offsets>, "group offsets">:$groups,
    OptionalAttr<Gsg_GroupingAttr>:$grouping,
    Arg<Optional<Gsg_F32Shaped>, "factor of each row">:$prob,
    Arg<Gsg_F32Shaped, "destination">:$out);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)`
    (`groups` `(` $groups^ `:` type($groups) `)` `as` $grouping)?
    (`prob` `(` $prob^ `:` type($prob) `)`)?
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_RouteOp : Gsg_DestinationOp<"route"> {
  let summary = "choose the experts of each token";
  let description = [{
    From logits `[T, E]` chooses `top_k` experts a token and their weights by a
    named method (docs/Spec.md, formulas); ties go to the lower expert index.
    Experts are written in order of decreasing score. `bias` (`[E]`),
    `n_group`, `topk_group` and `routed_scaling` belong to `deepseek_v3` and
    `minimax2`.

    Example:

    ```mlir
    func.func @f(%l: tensor<?x128xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>)
        -> (tensor<?x4xf32>, tensor<?x4xi32>) {
      %weights, %experts = grouped_scaled_gemm.route topk_softmax
          (%l : tensor<?x128xf32>)
          outs(%w, %i : tensor<?x4xf32>, tensor<?x4xi32>)
          -> tensor<?x4xf32>, tensor<?x4xi32>
      return %weights, %experts : tensor<?x4xf32>, tensor<?x4xi32>
    }
    ```
  }];
  let arguments = (ins
    Gsg_RoutingMethodAttr:$method,
    Arg<Gsg_RealShaped, "[T, E]">:$logits,
    Arg<Optional<Gsg_F32Shaped>, "[E]">:$bias,
    DefaultValuedAttr<I64Attr, "1">:$n_group,
    DefaultValuedAttr<I64Attr, "1">:$topk_group,
    DefaultValuedAttr<F32Attr, "1.0f">:$routed_scaling,
    Arg<Gsg_F32Shaped, "[T, top_k]">:$weights_out,
    Arg<Gsg_I32Shaped, "[T, top_k]">:$experts_out);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $method `(` $logits `:` type($logits) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $weights_out `,` $experts_out `:` type($weights_out) `,`
               type($experts_out) `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_SortTokensOp : Gsg_DestinationOp<"sort_tokens"> {
  let summary = "order (token, slot) pairs by expert";
  let description = [{
    From experts `[T, k]` (entry -1: slot not used) computes a stable order by
    expert, then by `token * k + slot`:

    - `ends[e]`: end of the rows of expert e, with group starts rounded up to
      `align` (as `#grouped_scaled_gemm.grouping<ragged_rows, ends, align>`
      reads it);
    - `token_of_row[r]`: the token of row r, -1 for padding and unused rows;
    - `row_of_slot[t, s]`: the row of a slot, -1 if it is not used.

    `token_of_row` must hold at least `T*k + E*(align-1)` entries.

    Example:

    ```mlir
    func.func @f(%experts: tensor<64x4xi32>, %e: tensor<32xi32>,
                 %t: tensor<256xi32>, %r: tensor<64x4xi32>)
        -> (tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) {
      %s:3 = grouped_scaled_gemm.sort_tokens(%experts : tensor<64x4xi32>)
          outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>)
          -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
      return %s#0, %s#1, %s#2 : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_I32Shaped, "[T, k]">:$experts,
    DefaultValuedAttr<I64Attr, "1">:$align,
    Arg<Gsg_I32Shaped, "[E]">:$ends_out,
    Arg<Gsg_I32Shaped, "[rows]">:$token_of_row_out,
    Arg<Gsg_I32Shaped, "[T, k]">:$row_of_slot_out);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `(` $experts `:` type($experts) `)`
    `outs` `(` $ends_out `,` $token_of_row_out `,` $row_of_slot_out `:`
               type($ends_out) `,` type($token_of_row_out) `,`
               type($row_of_slot_out) `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_PermuteOp : Gsg_DestinationOp<"permute"> {
  let summary = "gather rows of tokens into expert order";
  let description = [{
    `out[r] = input[token_of_row[r]]`; rows whose entry is -1 become zero.

    Example:

    ```mlir
    func.func @f(%x: tensor<64x2880xbf16>, %t: tensor<256xi32>,
                 %init: tensor<256x2880xbf16>) -> tensor<256x2880xbf16> {
      %p = grouped_scaled_gemm.permute(%x : tensor<64x2880xbf16>)
          by(%t : tensor<256xi32>) outs(%init : tensor<256x2880xbf16>)
          -> tensor<256x2880xbf16>
      return %p : tensor<256x2880xbf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealShaped, "[T, K]">:$input,
    Arg<Gsg_I32Shaped, "[rows]">:$token_of_row,
    Arg<Gsg_RealShaped, "[rows, K]">:$out);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` `by` `(` $token_of_row `:`
    type($token_of_row) `)` `outs` `(` $out `:` type($out) `)`
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

def Gsg_CombineOp : Gsg_DestinationOp<"combine"> {
  let summary = "weighted sum of the expert rows of each token";
  let description = [{
    `out[t] = sum over slots s of weights[t, s] * input[row_of_slot[t, s]]` in
    f32, in ascending order of slots, each step one fused multiply-add, rounded
    once at the end. Slots with row -1 contribute nothing. Without `weights`
    each weight is 1.

    Example:

    ```mlir
    func.func @f(%y: tensor<256x2880xbf16>, %r: tensor<64x4xi32>,
                 %w: tensor<64x4xf32>, %init: tensor<64x2880xbf16>)
        -> tensor<64x2880xbf16> {
      %o = grouped_scaled_gemm.combine(%y : tensor<256x2880xbf16>)
          by(%r : tensor<64x4xi32>) weights(%w : tensor<64x4xf32>)
          outs(%init : tensor<64x2880xbf16>) -> tensor<64x2880xbf16>
      return %o : tensor<64x2880xbf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealShaped, "[rows, N]">:$input,
    Arg<Gsg_I32Shaped, "[T, k]">:$row_of_slot,
    Arg<Optional<Gsg_F32Shaped>, "[T, k]">:$weights,
    Arg<Gsg_RealShaped, "[T, N]">:$out);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` `by` `(` $row_of_slot `:`
    type($row_of_slot) `)` (`weights` `(` $weights^ `:` type($weights) `)`)?
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = destinationDeclaration;
  let hasVerifier = 1;
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MOEOPS_TD
