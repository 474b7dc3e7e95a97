//===- MatmulOps.td - The grouped block-scaled products ----*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `matmul` in all its groupings, `matmul_list` of independent problems, and
// `yield`, which ends the region of a custom activation.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MATMULOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MATMULOPS_TD

include "mlir/Interfaces/TilingInterface.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_MatmulOp : Gsg_DestinationOp<"matmul", [
    AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<TilingInterface,
      ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
       "getResultTilePosition", "generateResultTileValue",
       "getIterationDomainTileFromResultTile"]>]> {
  let summary = "grouped block-scaled matrix product with epilogue";
  let description = [{
    For every group g, row m and column n of the group, with all arithmetic
    after the exact block products in f32:

    ```
    acc = sum over blocks b of (sum over k in b of lhs[m,k] * rhs[n,k])
                               * lhs_scale[m,b] * rhs_scale[n,b]
    z   = alpha[g] * acc * row_scale[m]       (* prob[m] at `gemm`)
        + beta * addend[m,n] + bias[g,n]      (bias * prob[m] at `bias`)
    z   = z * prob[m]                         (at `pre_activation`)
    preact_out[m,n] = z
    y   = activation(z)  or  activation(z_gate, z_up)
    y   = y * prob[m]                         (at `post_activation`)
    out[m,n] = y, rounded to the element type or quantised by `quantizer`
    amax_out[g] = max |y| over the group
    copies: out, or y without outs, each quantised by a quantiser of its own
    ```

    `lhs` may be bf16 or f16 without scales. `rhs` holds one `[N, K]` matrix a
    group (weights, K-major), stacked or one operand each. Pairs halve columns
    of the result; `alpha` may then be `[G, 2]` (gate, up). `row_scale` is the
    second-level scale of each row of lhs, as quantisers of tokens have it, beside
    a `prob` at any position. `beta` without `addend` reads the destination,
    which accumulates in place. `activation_params` (`[G, 3]`: alpha, beta,
    limit) overrides the parameters of the activation for each group.

    `outer_gate` names the gate layout of columns of `addend` and `preact_outs`
    where it is not that of `activation`, which weights and bias have.
    `gsg-assign-scale-layout` moves weights and bias, leaves the other two where
    they are, and says so by it; a program may also be written so. Kernels for
    sm_100a read it. Code for CPUs, kernels for sm_90a, tiles and the
    interpreter refuse it.

    A quantised result has type `scaled` and no destination in value form (what
    lies outside every group is zero); in storage form values and scales have
    destinations. `global_scale` is the second-level scale of the quantiser,
    scalar or `[G]`.

    `copies` are further quantised results, each with its own format, layout and
    quantiser. They hold the numbers of `outs`; without `outs`, or if it is
    quantised, those of y in f32. A copy is to the bit what `quantize` with the
    same clauses makes of these numbers, within the groups of the product.
    `transposed` exchanges rows and columns: blocks of a K-major copy then lie
    along the rows of each group, as the products of gradients read them. A
    product with copies may have no `outs`.

    `gradient_of` makes y the gradient of an activation, whose input was the
    stored pre-activation `preact` (`[M, N]`; `[M, 2N]` for pairs, in the gate
    layout of the activation), with respect to this input:

    ```
    dy  = alpha[g] * acc * row_scale[m] + beta * addend[m,n]
    y   = gradient(preact[m,..], dy * prob[m])    shape and layout of preact
    prob_out[m] = sum over n of dy * activation(preact[m,..])
    ```

    The formulas and the sum are those of `glu_backward`, to which
    `gsg-decompose-gradient` brings such a product.

    Groups may be empty; with K = 0 `acc` is zero. Rows outside every group are
    never written (`tail = preserve`) or written as zero (`tail = zero`).
    Group offsets are read where the product runs and never by the host.

    Regions: with `activation = <custom>` the `epilogue` region computes y. Its
    arguments, all f32: z (or gate and up), then one for each operand of
    `row(...)` (`[M]`), `column(...)` (`[N_out]` or `[G, N_out]`) and
    `group(...)` (`[G]`). It holds scalar operations of `arith` and `math` without
    side effects and sees nothing but its arguments.

    `gsg-expand-epilogue` replaces the steps after acc by a region that says
    them all, with acc as its argument and `store_result` at its end. The clauses
    remain operands; the activation is `custom` then, and `prob` has no position.

    Example:

    ```mlir
    !act = !grouped_scaled_gemm.scaled<?x2880, nvfp4>
    !w13 = !grouped_scaled_gemm.scaled<32x5760x2880, nvfp4>
    func.func @gate_up(%x: !act, %w: !w13, %ends: tensor<32xi32>,
                       %alpha: tensor<32x2xf32>, %c: tensor<32xf32>) -> !act {
      %h = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<32xi32>)
          lhs(%x : !act) rhs(%w : !w13) alpha(%alpha : tensor<32x2xf32>)
          activation = <swiglu, gate = <halves, gate_first>>
          quantizer = <trtllm> global_scale(%c : tensor<32xf32>)
          -> !act
      return %h : !act
    }

    func.func @down(%h: !act, %w: !grouped_scaled_gemm.scaled<32x2880x2880, nvfp4>,
                    %ends: tensor<32xi32>, %alpha: tensor<32xf32>,
                    %init: tensor<?x2880xbf16>) -> tensor<?x2880xbf16> {
      %y = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<32xi32>)
          lhs(%h : !act)
          rhs(%w : !grouped_scaled_gemm.scaled<32x2880x2880, nvfp4>)
          alpha(%alpha : tensor<32xf32>)
          outs(%init : tensor<?x2880xbf16>) -> tensor<?x2880xbf16>
      return %y : tensor<?x2880xbf16>
    }

    !rows = !grouped_scaled_gemm.scaled<?x64, nvfp4>
    !columns = !grouped_scaled_gemm.scaled<64x?, nvfp4>
    func.func @both(%x: !grouped_scaled_gemm.scaled<?x128, nvfp4>,
                    %w: !grouped_scaled_gemm.scaled<4x64x128, nvfp4>,
                    %ends: tensor<4xi32>, %s: f32, %seed: i64)
        -> (!rows, !columns) {
      %r:2 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 16>
          groups(%ends : tensor<4xi32>)
          lhs(%x : !grouped_scaled_gemm.scaled<?x128, nvfp4>)
          rhs(%w : !grouped_scaled_gemm.scaled<4x64x128, nvfp4>)
          copies(<te> global_scale(%s : f32),
                 <te, rounding = stochastic> transposed hadamard = <normalized>
                     global_scale(%s : f32) seed(%seed))
          -> !rows, !columns
      return %r#0, %r#1 : !rows, !columns
    }

    func.func @down_backward(%dy: !grouped_scaled_gemm.scaled<?x64, mxfp8_e4m3>,
                             %w: !grouped_scaled_gemm.scaled<4x96x64, mxfp8_e4m3>,
                             %ends: tensor<4xi32>, %z: tensor<?x192xbf16>,
                             %p: tensor<?xf32>, %dz0: tensor<?x192xbf16>,
                             %dp0: tensor<?xf32>)
        -> (tensor<?x192xbf16>, tensor<?xf32>) {
      %dz, %dp = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<4xi32>)
          lhs(%dy : !grouped_scaled_gemm.scaled<?x64, mxfp8_e4m3>)
          rhs(%w : !grouped_scaled_gemm.scaled<4x96x64, mxfp8_e4m3>)
          prob(%p : tensor<?xf32>)
          gradient_of = <swiglu, gate = <halves, gate_first>>
          preact(%z : tensor<?x192xbf16>)
          outs(%dz0 : tensor<?x192xbf16>) prob_outs(%dp0 : tensor<?xf32>)
          -> tensor<?x192xbf16>, tensor<?xf32>
      return %dz, %dp : tensor<?x192xbf16>, tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins
    Gsg_GroupingAttr:$grouping,
    Arg<Optional<Gsg_Offsets>, "offsets or counts of the groups">:$groups,
    Arg<Variadic<Gsg_ScaledOrData>, "activations">:$lhs,
    Arg<Variadic<Gsg_AnyShaped>, "their scales, in storage form">:$lhs_scales,
    OptionalAttr<ArrayAttr>:$lhs_types,
    Arg<Variadic<Gsg_ScaledOrData>, "weights, stacked or one a group">:$rhs,
    Arg<Variadic<Gsg_AnyShaped>, "their scales, in storage form">:$rhs_scales,
    OptionalAttr<ArrayAttr>:$rhs_types,
    Arg<Optional<Gsg_F32OrShaped>, "scalar, [G] or [G, 2]">:$alpha,
    Arg<Optional<Gsg_F32Shaped>, "one a row">:$row_scale,
    Arg<Optional<Gsg_RealShaped>, "[N] or [G, N]">:$bias,
    Arg<Optional<Gsg_F32Shaped>, "one a row">:$prob,
    DefaultValuedAttr<Gsg_ProbPositionAttr,
                      "ProbPosition::PostActivation">:$prob_position,
    Arg<Optional<Gsg_F32OrShaped>, "scalar or [G]">:$beta,
    Arg<Optional<Gsg_RealShaped>, "shape of the product">:$addend,
    OptionalAttr<Gsg_ActivationAttr>:$activation,
    // matmul_c41
    OptionalAttr<Gsg_GateAttr>:$outer_gate,
    Arg<Optional<Gsg_F32Shaped>, "[G, 3]">:$activation_params,
    // matmul_c44
    OptionalAttr<Gsg_ActivationAttr>:$gradient_of,
    Arg<Optional<Gsg_RealShaped>, "pre-activation of gradient_of">:$preact,
    Arg<Variadic<Gsg_F32Shaped>, "[M] each, for the epilogue region">:$row,
    Arg<Variadic<Gsg_F32Shaped>, "[N] or [G, N] each">:$column,
    Arg<Variadic<Gsg_F32Shaped>, "[G] each">:$group,
    OptionalAttr<Gsg_QuantizerAttr>:$quantizer,
    Arg<Optional<Gsg_F32OrShaped>, "scalar or [G]">:$global_scale,
    Arg<Optional<I64>, "seed of stochastic rounding">:$seed,
    OptionalAttr<TypedArrayAttrBase<Gsg_CopyAttr, "array of copies">>:$copies,
    Arg<Variadic<Gsg_F32OrShaped>, "scalar or [G], of copies">:$copy_global_scales,
    Arg<Variadic<I64>, "seeds of copies">:$copy_seeds,
    DefaultValuedAttr<Gsg_MathModeAttr, "MathMode::Strict">:$math,
    DefaultValuedAttr<Gsg_TailModeAttr, "TailMode::Preserve">:$tail,
    DefaultValuedAttr<Gsg_DeterminismAttr,
                      "Determinism::Deterministic">:$determinism,
    OptionalAttr<Gsg_StrategyAttr>:$strategy,
    // matmul_c39
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$expected_rows,
    Arg<Optional<Gsg_RealShaped>, "destination of z">:$preact_out,
    Arg<Optional<Gsg_AnyShaped>, "destination of y, or of its values">:$out,
    Arg<Optional<Gsg_AnyShaped>, "destination of the scales of y">:$out_scales,
    OptionalAttr<ArrayAttr>:$out_types,
    Arg<Optional<Gsg_F32Shaped>, "[G]">:$amax_out,
    Arg<Optional<Gsg_F32Shaped>, "gradient of prob">:$prob_out,
    Arg<Variadic<Gsg_AnyShaped>, "destinations of copies' values">:$copy_outs,
    Arg<Variadic<Gsg_AnyShaped>, "destinations of copies' scales">:$copy_out_scales,
    OptionalAttr<ArrayAttr>:$copy_types);
  let results = (outs Variadic<Gsg_ScaledOrTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $grouping (`groups` `(` $groups^ `:` type($groups) `)`)?
    `lhs` `(` custom<ScaledOperands>($lhs, type($lhs), $lhs_scales,
                                     type($lhs_scales), $lhs_types) `)`
    `rhs` `(` custom<ScaledOperands>($rhs, type($rhs), $rhs_scales,
                                     type($rhs_scales), $rhs_types) `)`
    (`alpha` `(` $alpha^ `:` type($alpha) `)`)?
    (`row_scale` `(` $row_scale^ `:` type($row_scale) `)`)?
    (`beta` `(` $beta^ `:` type($beta) `)`)?
    (`addend` `(` $addend^ `:` type($addend) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`prob` `(` custom<ProbClause>($prob, type($prob), $prob_position)^)?
    (`activation` `=` $activation^)?
    (`outer_gate` `=` $outer_gate^)?
    (`activation_params` `(` $activation_params^ `:` type($activation_params) `)`)?
    (`gradient_of` `=` $gradient_of^)?
    (`preact` `(` $preact^ `:` type($preact) `)`)?
    (`row` `(` $row^ `:` type($row) `)`)?
    (`column` `(` $column^ `:` type($column) `)`)?
    (`group` `(` $group^ `:` type($group) `)`)?
    (`epilogue` custom<EpilogueRegion>($epilogue)^)?
    (`quantizer` `=` $quantizer^)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`seed` `(` $seed^ `)`)?
    (`preact_outs` `(` $preact_out^ `:` type($preact_out) `)`)?
    (`outs` `(` custom<OptionalScaledOperand>($out, type($out), $out_scales,
                              type($out_scales), $out_types)^ `)`)?
    (`amax_outs` `(` $amax_out^ `:` type($amax_out) `)`)?
    (`prob_outs` `(` $prob_out^ `:` type($prob_out) `)`)?
    (`copies` `(` custom<Copies>($copies, $copy_global_scales,
                                 type($copy_global_scales), $copy_seeds,
                                 $copy_outs, type($copy_outs), $copy_out_scales,
                                 type($copy_out_scales), $copy_types)^ `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    /// The scaled types of the operands, in value and in storage form.
    ScaledType getLhsType();
    ScaledType getRhsType(int64_t index = 0);
    /// True if the weights of the groups are separate operands.
    bool hasDiscreteRhs();
    /// The activation; identity if the op names none.
    ActivationAttr getActivationOrIdentity();
    /// The scaled type of a quantised result, or null.
    ScaledType getQuantizedType();
    /// The copies with their operands; a copy without scaled type is malformed.
    ::llvm::SmallVector<ProductCopy> getCopyList();
    /// Number of groups; dynamic if only known where the op runs.
    int64_t getNumGroups();
    /// Columns of the product (rows of each weight matrix).
    int64_t getN();
    /// Columns of the result: N, N/2 for paired activations, or 2N for the
    /// gradient of one.
    int64_t getNumOutputColumns();
    int64_t getK();
    /// True if the epilogue region says all steps after acc.
    bool hasExpandedEpilogue();
    /// True if the epilogue reads a matrix of the shape of the product: an
    /// addend, or the destination.
    bool readsAddend();
    /// True if a tile covers every row and column of its groups.
    bool isFullTile(::mlir::OpBuilder &builder,
                    ::llvm::ArrayRef<::mlir::OpFoldResult> offsets,
                    ::llvm::ArrayRef<::mlir::OpFoldResult> sizes);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Gsg_MatmulListOp : Gsg_DestinationOp<"matmul_list",
    [AttrSizedOperandSegments, IsolatedFromAbove]> {
  let summary = "list of independent block-scaled products";
  let description = [{
    Problem i computes `outs[i] = alpha[i] * lhs[i] * rhs[i]^T + beta * outs[i]`
    with its own M, N and K (`[M, K]`, `[N, K]`, `[M, N]`). All problems share
    one format. `alpha` is absent (1), a scalar or one a problem; `beta` absent
    means that the destination is not read. `gsg-expand-epilogue` puts these
    steps into an `epilogue` region, as for `matmul`.

    Example:

    ```mlir
    !a0 = !grouped_scaled_gemm.scaled<64x512, nvfp4>
    !b0 = !grouped_scaled_gemm.scaled<128x512, nvfp4>
    !a1 = !grouped_scaled_gemm.scaled<72x256, nvfp4>
    !b1 = !grouped_scaled_gemm.scaled<384x256, nvfp4>
    func.func @f(%a0: !a0, %b0: !b0, %a1: !a1, %b1: !b1,
                 %c0: tensor<64x128xf16>, %c1: tensor<72x384xf16>)
        -> (tensor<64x128xf16>, tensor<72x384xf16>) {
      %d:2 = grouped_scaled_gemm.matmul_list
          lhs(%a0 : !a0, %a1 : !a1) rhs(%b0 : !b0, %b1 : !b1)
          outs(%c0, %c1 : tensor<64x128xf16>, tensor<72x384xf16>)
          -> tensor<64x128xf16>, tensor<72x384xf16>
      return %d#0, %d#1 : tensor<64x128xf16>, tensor<72x384xf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<Gsg_ScaledOrData>, "[M, K] each">:$lhs,
    Arg<Variadic<Gsg_AnyShaped>, "their scales, in storage form">:$lhs_scales,
    OptionalAttr<ArrayAttr>:$lhs_types,
    Arg<Variadic<Gsg_ScaledOrData>, "[N, K] each">:$rhs,
    Arg<Variadic<Gsg_AnyShaped>, "their scales, in storage form">:$rhs_scales,
    OptionalAttr<ArrayAttr>:$rhs_types,
    Arg<Optional<Gsg_F32OrShaped>, "scalar or one a problem">:$alpha,
    Arg<Optional<Gsg_F32OrShaped>, "scalar or one a problem">:$beta,
    DefaultValuedAttr<Gsg_DeterminismAttr,
                      "Determinism::Deterministic">:$determinism,
    OptionalAttr<Gsg_StrategyAttr>:$strategy,
    Arg<Variadic<Gsg_RealShaped>, "[M, N] each">:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `lhs` `(` custom<ScaledOperands>($lhs, type($lhs), $lhs_scales,
                                     type($lhs_scales), $lhs_types) `)`
    `rhs` `(` custom<ScaledOperands>($rhs, type($rhs), $rhs_scales,
                                     type($rhs_scales), $rhs_types) `)`
    (`alpha` `(` $alpha^ `:` type($alpha) `)`)?
    (`beta` `(` $beta^ `:` type($beta) `)`)?
    (`epilogue` custom<EpilogueRegion>($epilogue)^)?
    `outs` `(` $outs `:` type($outs) `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = destinationDeclaration # [{
    ScaledType getLhsType(int64_t index);
    ScaledType getRhsType(int64_t index);
    bool hasExpandedEpilogue() { return !getEpilogue().empty(); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Gsg_YieldOp : Gsg_Op<"yield", [Pure, Terminator, HasParent<"MatmulOp">]> {
  let summary = "end the region of a custom activation";
  let description = [{
    Returns y from the `epilogue` region of `matmul`, as a program writes it.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %t: tensor<16xf32>, %c: tensor<16x32xf32>)
        -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom> row(%t : tensor<16xf32>)
          epilogue {
          ^bb0(%z: f32, %r: f32):
            %y = arith.maximumf %z, %r : f32
            grouped_scaled_gemm.yield %y : f32
          }
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MATMULOPS_TD
