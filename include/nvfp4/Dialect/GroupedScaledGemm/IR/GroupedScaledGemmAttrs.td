//===- GroupedScaledGemmAttrs.td - Attributes --------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

    - `identity`, `relu`: z, max(z, 0); `relu2`: max(z, 0)^2; `silu`:
      z * sigmoid(z);
    - `swiglu`: `g' = min(g, limit)`, `u' = clamp(u, -limit, limit)`,
      `y = g' * sigmoid(alpha * g') * (u' + beta)`. alpha 1, beta 0 and no limit
      is SwiGLU; alpha 1.702, beta 1, limit 7 is the one of gpt-oss;
    - `geglu_tanh`: `u * 0.5 g (1 + tanh(0.7978845608 (g + 0.044715 g^3)))`;
    - `custom`: the `epilogue` region of `matmul`.

    Pairs are found through `gate`, which `swiglu` and `geglu_tanh` require and
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

def Gsg_StrategyAttr : Gsg_Attr<"Strategy", "strategy"> {
  let summary = "how a target executes a product";
  let description = [{
    A wish of the user for targets that tile explicitly: extents of the tile in
    elements, pipeline stages, CTAs that share a product, clusters, split of K,
    exchange of the operands and the scheduler. It changes no bit of the result
    where the op is deterministic. The x86-64 lowering has one way to tile and
    does not read it.

    ```
    #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256, stages = 4, ctas = 2>
    ```
  }];
  let parameters = (ins
    "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK,
    DefaultValuedParameter<"int64_t", "1">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$ctas,
    DefaultValuedParameter<"int64_t", "1">:$clusterM,
    DefaultValuedParameter<"int64_t", "1">:$clusterN,
    DefaultValuedParameter<"int64_t", "1">:$splitK,
    DefaultValuedParameter<"bool", "false">:$swapAB,
    DefaultValuedParameter<"Scheduler", "Scheduler::StaticPersistent">:$scheduler);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class Gsg_EnumAttrOf<EnumInfo e, string mnemonic>
    : EnumAttr<GroupedScaledGemm_Dialect, e, mnemonic>;

def Gsg_ProbPositionAttr : Gsg_EnumAttrOf<Gsg_ProbPosition, "prob_position">;
def Gsg_MathModeAttr : Gsg_EnumAttrOf<Gsg_MathMode, "math">;
def Gsg_TailModeAttr : Gsg_EnumAttrOf<Gsg_TailMode, "tail">;
def Gsg_DeterminismAttr : Gsg_EnumAttrOf<Gsg_Determinism, "determinism">;
def Gsg_RoutingMethodAttr : Gsg_EnumAttrOf<Gsg_RoutingMethod, "routing">;

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ATTRS_TD
