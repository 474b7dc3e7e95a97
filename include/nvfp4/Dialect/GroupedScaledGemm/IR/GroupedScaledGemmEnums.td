//===- GroupedScaledGemmEnums.td - Enumerations ------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed sets of the dialect: formats, layouts, grouping forms, quantisers. The
// keyword of a case is its spelling in IR. scripts/generate-enums makes of them
// the enumerations of C, the words of Python, and the twins of some that libraries
// without MLIR have.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmDialect.td"

class Gsg_Enum<string name, string summary, list<I32EnumAttrCase> cases,
               string nameInC = name>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::nvfp4::gsg";
  let genSpecializedAttr = 0;
  /// The enumeration of C is Nvfp4 and this.
  string cName = nameInC;
  /// The enumeration in nvfp4 with the same cases, or none.
  string twin = "";
}

/// A case with a comment, or with another name in C.
class Gsg_Case<string symbol, int value, string keyword, string text = "",
               string nameInC = symbol>
    : I32EnumAttrCase<symbol, value, keyword> {
  string comment = text;
  string cName = nameInC;
}

def Gsg_BlockFormat : Gsg_Enum<"BlockFormat", "block-scaled number format", [
  I32EnumAttrCase<"NVFP4", 0, "nvfp4">,
  I32EnumAttrCase<"MXFP4", 1, "mxfp4">,
  I32EnumAttrCase<"NVFP4_E8M0", 2, "nvfp4_e8m0">,
  I32EnumAttrCase<"MXFP8_E4M3", 3, "mxfp8_e4m3">,
  I32EnumAttrCase<"MXFP8_E5M2", 4, "mxfp8_e5m2">]> {
  let twin = "format::BlockFormat";
  let description = "Elements and the scales of their blocks.";
}

def Gsg_ScaleLayout : Gsg_Enum<"ScaleLayout", "memory layout of scales", [
  I32EnumAttrCase<"Linear", 0, "linear">,
  I32EnumAttrCase<"Blocked", 1, "blocked">,
  I32EnumAttrCase<"Blocked8x4", 2, "blocked_8x4">,
  I32EnumAttrCase<"Wgmma", 3, "wgmma">,
  I32EnumAttrCase<"WgmmaF16", 4, "wgmma_f16">]>;

def Gsg_GroupStart : Gsg_Enum<"GroupStart",
    "where the scales of each group start", [
  Gsg_Case<"Whole", 0, "whole",
    "At the group's first row; groups start on the row alignment already.">,
  Gsg_Case<"Compact", 1, "compact",
    "At the sum of the padded row counts of the groups before it.">,
  Gsg_Case<"UpperBound", 2, "upper_bound",
    "At a bound that needs only the group's first row and number, no scan: "
    "floor((firstRow + (T-1)*g) / T) * T with T the row alignment.">]> {
  let twin = "format::GroupStart";
  let description = [{
    Where the scales of group g start when groups of rows share one buffer.
  }];
}

def Gsg_GroupingKind : Gsg_Enum<"GroupingKind", "form of grouping", [
  I32EnumAttrCase<"Dense", 0, "dense">,
  I32EnumAttrCase<"Batched", 1, "batched">,
  I32EnumAttrCase<"RaggedRows", 2, "ragged_rows">,
  I32EnumAttrCase<"Masked", 3, "masked">,
  I32EnumAttrCase<"RaggedK", 4, "ragged_k">], "Grouping">;

def Gsg_OffsetsKind : Gsg_Enum<"OffsetsKind", "meaning of group offsets", [
  I32EnumAttrCase<"Ends", 0, "ends">,
  I32EnumAttrCase<"Starts", 1, "starts">]>;

// An activation is declared here and nowhere else in the dialect. The formula is
// for documents, in terms of z, or of (g, u) if the activation takes pairs. With
// `parameters` the activation reads alpha, beta and limit. The values are those
// of nvfp4-c/Enums.h.
class Gsg_ActivationCase<string symbol, int value, string keyword,
                         string formulaText, bit paired = 0, bit parameters = 0>
    : I32EnumAttrCase<symbol, value, keyword> {
  string formula = formulaText;
  bit isPaired = paired;
  bit hasParameters = parameters;
}

defvar Gsg_Activations = [
  Gsg_ActivationCase<"Identity", 0, "identity", "`z`">,
  Gsg_ActivationCase<"ReLU", 1, "relu", "`max(z, 0)`">,
  Gsg_ActivationCase<"ReLU2", 2, "relu2", "`max(z, 0)^2`">,
  Gsg_ActivationCase<"SiLU", 3, "silu", "`z * sigmoid(z)`">,
  Gsg_ActivationCase<"SwiGLU", 4, "swiglu",
      "`g' * sigmoid(alpha * g') * (u' + beta)`", /*paired=*/1, /*parameters=*/1>,
  Gsg_ActivationCase<"GeGLUTanh", 5, "geglu_tanh",
      "`u * 0.5 g (1 + tanh(0.7978845608028654 (g + 0.044715 g^3)))`",
      /*paired=*/1>,
  Gsg_ActivationCase<"Custom", 6, "custom", "the `epilogue` region of `matmul`">,
  Gsg_ActivationCase<"ReGLU", 7, "reglu", "`max(g, 0) * u`", /*paired=*/1>,
  Gsg_ActivationCase<"GELUTanh", 8, "gelu_tanh",
      "`0.5 z (1 + tanh(0.7978845608028654 (z + 0.044715 z^3)))`">];

def Gsg_ActivationKind : Gsg_Enum<"ActivationKind", "activation function",
                                  Gsg_Activations, "Activation">;

def Gsg_GateOrder : Gsg_Enum<"GateOrder", "which half of a GLU pair is first", [
  I32EnumAttrCase<"GateFirst", 0, "gate_first">,
  I32EnumAttrCase<"UpFirst", 1, "up_first">]> {
  let twin = "format::GateOrder";
  let description = [{
    Which of a block of gate rows and a block of up rows comes first.
  }];
}

def Gsg_QuantizerKind : Gsg_Enum<"QuantizerKind", "named quantiser", [
  I32EnumAttrCase<"Cutlass", 0, "cutlass">,
  I32EnumAttrCase<"Trtllm", 1, "trtllm">,
  I32EnumAttrCase<"TE", 2, "te">,
  I32EnumAttrCase<"ModelOpt", 3, "modelopt">,
  I32EnumAttrCase<"Mega16", 4, "mega16">,
  I32EnumAttrCase<"UE8M0Up", 5, "ue8m0_up">,
  I32EnumAttrCase<"OCP", 6, "ocp">,
  I32EnumAttrCase<"TritonNearest", 7, "triton_nearest">,
  I32EnumAttrCase<"FourOverSix", 8, "four_over_six">], "Quantizer"> {
  let twin = "format::Quantizer";
  let description = [{
    The producers whose bytes can be reproduced. Section 4 of docs/Spec.md has the
    formulas, and what becomes of zeros, NaN and infinity.
  }];
}

def Gsg_NegativeZero : Gsg_Enum<"NegativeZero", "fate of negative zero codes", [
  I32EnumAttrCase<"Keep", 0, "keep">,
  I32EnumAttrCase<"Flush", 1, "flush">]>;

def Gsg_Rounding : Gsg_Enum<"Rounding", "rounding of values", [
  I32EnumAttrCase<"Nearest", 0, "nearest">,
  I32EnumAttrCase<"Stochastic", 1, "stochastic">]>;

def Gsg_ProbPosition : Gsg_Enum<"ProbPosition",
    "where the row probability is applied", [
  I32EnumAttrCase<"Gemm", 0, "gemm">,
  I32EnumAttrCase<"Bias", 1, "bias">,
  I32EnumAttrCase<"PreActivation", 2, "pre_activation">,
  I32EnumAttrCase<"PostActivation", 3, "post_activation">]>;

def Gsg_MathMode : Gsg_Enum<"MathMode", "accuracy of transcendentals", [
  I32EnumAttrCase<"Strict", 0, "strict">,
  I32EnumAttrCase<"Fast", 1, "fast">], "Math">;

def Gsg_TailMode : Gsg_Enum<"TailMode", "fate of rows outside every group", [
  I32EnumAttrCase<"Preserve", 0, "preserve">,
  I32EnumAttrCase<"Zero", 1, "zero">], "Tail">;

def Gsg_Determinism : Gsg_Enum<"Determinism", "reproducibility contract", [
  I32EnumAttrCase<"Deterministic", 0, "deterministic">,
  I32EnumAttrCase<"BatchInvariant", 1, "batch_invariant">,
  I32EnumAttrCase<"Relaxed", 2, "relaxed">]>;

def Gsg_Scheduler : Gsg_Enum<"Scheduler", "tile scheduler", [
  I32EnumAttrCase<"StaticPersistent", 0, "static_persistent">,
  I32EnumAttrCase<"DynamicCounter", 1, "dynamic_counter">,
  I32EnumAttrCase<"LaunchControl", 2, "launch_control">]> {
  let twin = "strategy::Scheduler";
}

def Gsg_RoutingMethod : Gsg_Enum<"RoutingMethod", "router", [
  Gsg_Case<"Default", 0, "softmax_topk", "", "SoftmaxTopK">,
  Gsg_Case<"Renormalize", 1, "topk_softmax", "", "TopKSoftmax">,
  I32EnumAttrCase<"TopK", 2, "topk">,
  Gsg_Case<"Sigmoid", 3, "sigmoid_topk", "", "SigmoidTopK">,
  I32EnumAttrCase<"TopKSigmoid", 4, "topk_sigmoid">,
  I32EnumAttrCase<"SigmoidRenorm", 5, "sigmoid_renorm">,
  I32EnumAttrCase<"Llama4", 6, "llama4">,
  I32EnumAttrCase<"DeepSeekV3", 7, "deepseek_v3">,
  I32EnumAttrCase<"MiniMax2", 8, "minimax2">], "Routing">;

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD
