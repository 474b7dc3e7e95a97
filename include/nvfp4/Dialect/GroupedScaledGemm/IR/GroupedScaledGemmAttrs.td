//===- GroupedScaledGemmAttrs.td - Attributes --------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How operations say what they mean: groupings, gate layouts, activations,
// quantisers, and what a target may choose. Attributes with parameters have
// hand-written text in GroupedScaledGemmAttrs.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ATTRS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmEnums.td"

class Gsg_Attr<string name, string attrMnemonic>
    : AttrDef<GroupedScaledGemm_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Gsg_GroupingAttr : Gsg_Attr<"Grouping", "grouping"> {
  let summary = "how the rows, columns or K of a product are grouped";
  let description = [{
    | form          | lhs            | rhs         | result         | `groups` operand |
    |---------------|----------------|-------------|----------------|------------------|
    | `dense`       | `[M, K]`       | `[N, K]`    | `[M, N]`       | none             |
    | `batched`     | `[L, M, K]`    | `[L, N, K]` | `[L, M, N]`    | none             |
    | `ragged_rows` | `[R, K]`       | `[G, N, K]` | `[R, N]`       | offsets of rows  |
    | `masked`      | `[G, Mmax, K]` | `[G, N, K]` | `[G, Mmax, N]` | `[G]` row counts |
    | `ragged_k`    | `[M, Ktot]`    | `[N, Ktot]` | `[G, M, N]`    | offsets along K  |

    In the forms with a stacked `[G, N, K]` right-hand side, G operands `[N, K]`
    may be given instead.

    Offsets are `ends` (G entries: the end of each group; group g starts at the
    end of group g-1 rounded up to `align`, the first at 0) or `starts` (G+1
    entries: group g is `[starts[g], starts[g+1])`, each a multiple of
    `align`). `align` defaults to 1. Buffers may extend beyond the last offset.

    ```
    #grouped_scaled_gemm.grouping<ragged_rows, ends, align = 128>
    ```
  }];
  let parameters = (ins
    EnumParameter<Gsg_GroupingKind>:$kind,
    DefaultValuedParameter<"OffsetsKind", "OffsetsKind::Ends">:$offsets,
    DefaultValuedParameter<"int64_t", "1">:$align);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True for the forms that take a `groups` operand.
    bool hasGroupsOperand() const {
      return getKind() == GroupingKind::RaggedRows ||
             getKind() == GroupingKind::Masked ||
             getKind() == GroupingKind::RaggedK;
    }
  }];
}

def Gsg_GateAttr : Gsg_Attr<"Gate", "gate"> {
  let summary = "where gate and up columns lie in the rows of a GLU weight";
  let description = [{
    Blocks of `granularity` gate rows alternate with as many up rows; `halves`
    (granularity 0) means all of one, then all of the other. For output column
    c and granularity q the rows are `(c/q)*2q + c%q` and that plus q;
    `gate_first` says that the gate is the former.

    | producer                                  | attribute              |
    |-------------------------------------------|------------------------|
    | gpt-oss                                   | `<1, gate_first>`      |
    | DeepGEMM mega MoE                         | `<8, gate_first>`      |
    | FlashInfer NVFP4 mega MoE                 | `<16, gate_first>`     |
    | cuDNN frontend                            | `<32, gate_first>`     |
    | FlashInfer / TensorRT-LLM CuTe-DSL        | `<64, up_first>`       |
    | vLLM, Hugging Face w13                    | `<halves, gate_first>` |
    | TensorRT-LLM / FlashInfer CUTLASS         | `<halves, up_first>`   |
  }];
  let parameters = (ins "int64_t":$granularity, EnumParameter<Gsg_GateOrder>:$order);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Gsg_ActivationAttr : Gsg_Attr<"Activation", "activation"> {
  let summary = "activation of the epilogue and of `glu`";
  let description = [{
    With z the pre-activation, or (g, u) its gate and up columns:

}] # !foldl("", Gsg_Activations, text, activation,
      !strconcat(text, "    - `", activation.str, "`: ", activation.formula,
                 "\n")) # [{
    In `swiglu`, `g' = min(g, limit)` and `u' = clamp(u, -limit, limit)`; alpha
    1, beta 0 and no limit is SwiGLU; alpha 1.702, beta 1, limit 7 is the one of
    gpt-oss.

    Pairs are found through `gate`, which the formulas with g and u require and
    `custom` may have. NaN propagates through every min, max and clamp.
    `round_bf16` rounds the pre-activation to bf16 before it is used.

    ```
    #grouped_scaled_gemm.activation<swiglu, gate = <32, gate_first>,
        alpha = 1.702, beta = 1.0, limit = 7.0, round_bf16>
    ```
  }];
  let parameters = (ins
    EnumParameter<Gsg_ActivationKind>:$kind,
    OptionalParameter<"::nvfp4::gsg::GateAttr">:$gate,
    "::mlir::FloatAttr":$alpha,
    "::mlir::FloatAttr":$beta,
    OptionalParameter<"::mlir::FloatAttr">:$limit,
    "bool":$roundBf16);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "ActivationKind":$kind)>];
  let extraClassDeclaration = [{
    /// Whether a kind takes (gate, up) pairs. `custom` does if it has a gate.
    static bool isPairedKind(ActivationKind kind) {
      switch (kind) {
}] # !foldl("", Gsg_Activations, text, activation,
      !strconcat(text, "      case ActivationKind::", activation.symbol,
                 ": return ", !if(activation.isPaired, "true", "false"),
                 ";\n")) # [{
      }
      llvm_unreachable("expected an activation");
    }
    /// Whether a kind reads alpha, beta and limit.
    static bool hasParameters(ActivationKind kind) {
      switch (kind) {
}] # !foldl("", Gsg_Activations, text, activation,
      !strconcat(text, "      case ActivationKind::", activation.symbol,
                 ": return ", !if(activation.hasParameters, "true", "false"),
                 ";\n")) # [{
      }
      llvm_unreachable("expected an activation");
    }
    /// True if the activation consumes (gate, up) pairs and halves N.
    bool isPaired() const { return static_cast<bool>(getGate()); }
    float getAlphaValue() const { return getAlpha().getValue().convertToFloat(); }
    float getBetaValue() const { return getBeta().getValue().convertToFloat(); }
    /// The limit, or +infinity if there is none.
    float getLimitValue() const;
  }];
}

def Gsg_QuantizerAttr : Gsg_Attr<"Quantizer", "quantizer"> {
  let summary = "a named, byte-exact quantiser";
  let description = [{
    Peers derive block scales by different roundings, so their bytes differ;
    the name selects whose bytes are produced (docs/Spec.md lists the
    formulas). `rounding = stochastic` uses a counter-based generator (Philox
    4x32-10) keyed by the `seed` operand and the element index. `two_d` shares
    one scale among 16x16 values (`te` only).

    ```
    #grouped_scaled_gemm.quantizer<trtllm>
    #grouped_scaled_gemm.quantizer<te, neg_zero = flush, rounding = stochastic, two_d>
    ```
  }];
  let parameters = (ins
    EnumParameter<Gsg_QuantizerKind>:$kind,
    DefaultValuedParameter<"NegativeZero", "NegativeZero::Keep">:$negZero,
    DefaultValuedParameter<"Rounding", "Rounding::Nearest">:$rounding,
    DefaultValuedParameter<"bool", "false">:$twoD);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Gsg_HadamardAttr : Gsg_Attr<"Hadamard", "hadamard"> {
  let summary = "a 16-point Hadamard transform within another operation";
  let description = [{
    The transform of the operation `hadamard`, in f32, of runs of 16 elements
    along the blocks.

    ```
    #grouped_scaled_gemm.hadamard<normalized, sign_mask = 55272>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"bool", "false">:$normalized,
    DefaultValuedParameter<"uint32_t", "0">:$signMask);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Gsg_CopyAttr : Gsg_Attr<"Copy", "copy"> {
  let summary = "a further quantised result of a product";
  let description = [{
    How the numbers of a product's result become one of its `copies`: the
    quantiser; a transform before it; whether the copy is of the transposed
    matrices; whether the copy has a `global_scale`. Programs write these in the
    clause `copies`.

    ```
    #grouped_scaled_gemm.copy<quantizer = <te>>
    #grouped_scaled_gemm.copy<quantizer = <te, rounding = stochastic>, hadamard = <normalized>, transposed = true, has_global_scale = true>
    ```
  }];
  let parameters = (ins
    "QuantizerAttr":$quantizer,
    OptionalParameter<"HadamardAttr">:$hadamard,
    DefaultValuedParameter<"bool", "false">:$transposed,
    DefaultValuedParameter<"bool", "false">:$has_global_scale);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Gsg_StrategyAttr : Gsg_Attr<"Strategy", "strategy"> {
  let summary = "how a target executes a product";
  let description = [{
    How a target that tiles explicitly executes a product. Written by the user
    or by `gsg-select-strategy`; what a user leaves out of the parameters marked
    "open" is filled in by that pass, after which each has a value. The lowering
    takes its sizes from here and derives the rest (barriers, bytes, columns)
    through `nvfp4/Strategy/Tcgen05/Budget.h`. A strategy changes no bit of the result,
    unless `split_k` does, which `determinism = relaxed` allows. The x86-64
    lowering has one way to tile and does not read it.

    | parameter | default | meaning |
    |---|---|---|
    | `m`, `n` | required | extents of one product of the tensor core, over both CTAs of a pair: M operand A, N operand B of the instruction, and m x n the accumulator |
    | `k` | required | elements of K in a pipeline stage |
    | `stages` | open | stages of the pipeline that fills shared memory |
    | `ctas` | 1 | CTAs that issue one product together (`cta_group`); of a pair each holds half of the rows of A and of B |
    | `cluster_m`, `cluster_n` | 1 | neighbouring tiles along m and n whose CTAs form a cluster and share loads; it has `ctas * cluster_m * cluster_n` CTAs |
    | `split_k` | 1 | parts of K of a tile, each of `ceil(tiles of K / split_k)` tiles, computed by different CTAs and added in ascending order by those of the last part: the same bits from run to run, but others than those of one part |
    | `accumulator_stages` | open | accumulators of tensor memory; 2 let the epilogue of a tile run beside the products of the next, and share columns where they do not fit side by side |
    | `scale_stages` | open | buffers of scales in tensor memory: 1 relies on copies waiting for earlier products, 2 wait for the stage to be released |
    | `epilogue_n` | open | accumulator columns that pass through one of two staging buffers at a time |
    | `swap_ab` | false | false: tokens on m, weights on n. true: weights on m, tokens on n, and the accumulator is the transposed tile |
    | `dynamic_n` | false | with `swap_ab`: a tile with t < n tokens left loads and multiplies t rounded up to `8 * ctas` instead of n |
    | `scheduler` | `static_persistent` | which CTA computes which tile |

    Tiles are numbered group by group, in a group by token tile, in a token tile
    by weight tile; parts of a tile follow each other. `static_persistent`: slot s of S (CTAs, pairs or clusters)
    computes tiles s, s + S, ...; `dynamic_counter`: the next one of a counter in
    memory; `launch_control`: one tile a launched cluster, further ones by
    `clusterlaunchcontrol`. A token tile starts at a multiple of its extent
    within the group. Scales of tiles whose n is a multiple of 64 are loaded as
    whole atoms of 128 rows, a start in the middle of an atom being two columns
    of tensor memory further; for other n they are gathered into atoms of the
    tile.

    ```
    #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256, stages = 3>
    #grouped_scaled_gemm.strategy<m = 256, n = 64, k = 256, stages = 8, ctas = 2, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32, swap_ab = true>
    ```
  }];
  let parameters = (ins
    "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK,
    DefaultValuedParameter<"int64_t", "0", "0: open">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$ctas,
    DefaultValuedParameter<"int64_t", "1">:$clusterM,
    DefaultValuedParameter<"int64_t", "1">:$clusterN,
    DefaultValuedParameter<"int64_t", "1">:$splitK,
    DefaultValuedParameter<"int64_t", "0", "0: open">:$accumulatorStages,
    DefaultValuedParameter<"int64_t", "0", "0: open">:$scaleStages,
    DefaultValuedParameter<"int64_t", "0", "0: open">:$epilogueN,
    DefaultValuedParameter<"bool", "false">:$swapAB,
    DefaultValuedParameter<"bool", "false">:$dynamicN,
    DefaultValuedParameter<"Scheduler", "Scheduler::StaticPersistent">:$scheduler);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class Gsg_EnumAttrOf<EnumInfo e, string mnemonic>
    : EnumAttr<GroupedScaledGemm_Dialect, e, mnemonic>;

def Gsg_ProbPositionAttr : Gsg_EnumAttrOf<Gsg_ProbPosition, "prob_position">;
def Gsg_MathModeAttr : Gsg_EnumAttrOf<Gsg_MathMode, "math"> {
  let summary = "how accurate exp and tanh of an activation must be";
  let description = [{
    What a target may do. The interpreter's bound on the error of a result
    follows the attribute, and every target stays within it.

    | value    | a target may                                              | the CPU today                      |
    |----------|-----------------------------------------------------------|------------------------------------|
    | `strict` | be 4 units in the last place of f32 off                   | computes in f64 and rounds once    |
    | `fast`   | be 64 such units off, and form the sigmoid from tanh      | does what `strict` does            |

    ```
    #grouped_scaled_gemm<math fast>
    ```
  }];
}
def Gsg_TailModeAttr : Gsg_EnumAttrOf<Gsg_TailMode, "tail">;
def Gsg_DeterminismAttr : Gsg_EnumAttrOf<Gsg_Determinism, "determinism"> {
  let summary = "which runs must give the same bits";
  let description = [{
    What a target must keep. Every value is legal for every form of product: the
    attribute limits how a target may sum, not what a product is.

    | value             | a target must                                               | the CPU today                        |
    |-------------------|-------------------------------------------------------------|--------------------------------------|
    | `deterministic`   | give the same bits for the same inputs                      | does, for any number of threads too  |
    | `batch_invariant` | also give a row the same bits whatever other rows there are | does                                 |
    | `relaxed`         | nothing more than the bound on errors: sums in any order    | sums in the order of K all the same  |

    ```
    #grouped_scaled_gemm<determinism batch_invariant>
    ```
  }];
}
def Gsg_RoutingMethodAttr : Gsg_EnumAttrOf<Gsg_RoutingMethod, "routing">;

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ATTRS_TD
