//===- GroupedScaledGemmEnums.td - Enumerations ------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed sets of the dialect: formats, layouts, grouping forms, quantisers. The
// keyword of a case is its spelling in IR. lib/Format has twins of some, for
// code that links no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmDialect.td"

class Gsg_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::nvfp4::gsg";
  let genSpecializedAttr = 0;
}

// The order equals nvfp4::format::BlockFormat.
def Gsg_BlockFormat : Gsg_Enum<"BlockFormat", "block-scaled number format", [
  I32EnumAttrCase<"NVFP4", 0, "nvfp4">,
  I32EnumAttrCase<"MXFP4", 1, "mxfp4">,
  I32EnumAttrCase<"NVFP4_E8M0", 2, "nvfp4_e8m0">,
  I32EnumAttrCase<"MXFP8_E4M3", 3, "mxfp8_e4m3">,
  I32EnumAttrCase<"MXFP8_E5M2", 4, "mxfp8_e5m2">]>;

def Gsg_ScaleLayout : Gsg_Enum<"ScaleLayout", "memory layout of scales", [
  I32EnumAttrCase<"Linear", 0, "linear">,
  I32EnumAttrCase<"Blocked", 1, "blocked">,
  I32EnumAttrCase<"Blocked8x4", 2, "blocked_8x4">,
  I32EnumAttrCase<"Wgmma", 3, "wgmma">,
  I32EnumAttrCase<"WgmmaF16", 4, "wgmma_f16">]>;

def Gsg_GroupStart : Gsg_Enum<"GroupStart",
    "where the scales of each group start", [
  I32EnumAttrCase<"Whole", 0, "whole">,
  I32EnumAttrCase<"Compact", 1, "compact">,
  I32EnumAttrCase<"UpperBound", 2, "upper_bound">]>;

def Gsg_GroupingKind : Gsg_Enum<"GroupingKind", "form of grouping", [
  I32EnumAttrCase<"Dense", 0, "dense">,
  I32EnumAttrCase<"Batched", 1, "batched">,
  I32EnumAttrCase<"RaggedRows", 2, "ragged_rows">,
  I32EnumAttrCase<"Masked", 3, "masked">,
  I32EnumAttrCase<"RaggedK", 4, "ragged_k">]>;

def Gsg_OffsetsKind : Gsg_Enum<"OffsetsKind", "meaning of group offsets", [
  I32EnumAttrCase<"Ends", 0, "ends">,
  I32EnumAttrCase<"Starts", 1, "starts">]>;

// An activation is declared here and nowhere else in the dialect. The formula is
// for documents, in terms of z, or of (g, u) if the activation takes pairs. With
// `parameters` the activation reads alpha, beta and limit. The values are those
// of nvfp4-c/Attributes.h.
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
                                  Gsg_Activations>;

def Gsg_GateOrder : Gsg_Enum<"GateOrder", "which half of a GLU pair is first", [
  I32EnumAttrCase<"GateFirst", 0, "gate_first">,
  I32EnumAttrCase<"UpFirst", 1, "up_first">]>;

// The order equals nvfp4::format::Quantizer.
def Gsg_QuantizerKind : Gsg_Enum<"QuantizerKind", "named quantiser", [
  I32EnumAttrCase<"Cutlass", 0, "cutlass">,
  I32EnumAttrCase<"Trtllm", 1, "trtllm">,
  I32EnumAttrCase<"TE", 2, "te">,
  I32EnumAttrCase<"ModelOpt", 3, "modelopt">,
  I32EnumAttrCase<"Mega16", 4, "mega16">,
  I32EnumAttrCase<"UE8M0Up", 5, "ue8m0_up">,
  I32EnumAttrCase<"OCP", 6, "ocp">,
  I32EnumAttrCase<"TritonNearest", 7, "triton_nearest">,
  I32EnumAttrCase<"FourOverSix", 8, "four_over_six">]>;

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
  I32EnumAttrCase<"Fast", 1, "fast">]>;

def Gsg_TailMode : Gsg_Enum<"TailMode", "fate of rows outside every group", [
  I32EnumAttrCase<"Preserve", 0, "preserve">,
  I32EnumAttrCase<"Zero", 1, "zero">]>;

def Gsg_Determinism : Gsg_Enum<"Determinism", "reproducibility contract", [
  I32EnumAttrCase<"Deterministic", 0, "deterministic">,
  I32EnumAttrCase<"BatchInvariant", 1, "batch_invariant">,
  I32EnumAttrCase<"Relaxed", 2, "relaxed">]>;

def Gsg_Scheduler : Gsg_Enum<"Scheduler", "tile scheduler", [
  I32EnumAttrCase<"StaticPersistent", 0, "static_persistent">,
  I32EnumAttrCase<"DynamicCounter", 1, "dynamic_counter">,
  I32EnumAttrCase<"LaunchControl", 2, "launch_control">]>;

def Gsg_RoutingMethod : Gsg_Enum<"RoutingMethod", "router", [
  I32EnumAttrCase<"Default", 0, "softmax_topk">,
  I32EnumAttrCase<"Renormalize", 1, "topk_softmax">,
  I32EnumAttrCase<"TopK", 2, "topk">,
  I32EnumAttrCase<"Sigmoid", 3, "sigmoid_topk">,
  I32EnumAttrCase<"TopKSigmoid", 4, "topk_sigmoid">,
  I32EnumAttrCase<"SigmoidRenorm", 5, "sigmoid_renorm">,
  I32EnumAttrCase<"Llama4", 6, "llama4">,
  I32EnumAttrCase<"DeepSeekV3", 7, "deepseek_v3">,
  I32EnumAttrCase<"MiniMax2", 8, "minimax2">]>;

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMS_TD
