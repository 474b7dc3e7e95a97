/*===- nvfp4-c/Enums.h - Enumerations in C --------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Written by scripts/generate-enums from GroupedScaledGemmEnums.td.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_ENUMS_H
#define NVFP4_C_ENUMS_H

/* Block-scaled number format. */
typedef enum Nvfp4BlockFormat {
  Nvfp4BlockFormatNVFP4 = 0,
  Nvfp4BlockFormatMXFP4 = 1,
  Nvfp4BlockFormatNVFP4E8M0 = 2,
  Nvfp4BlockFormatMXFP8E4M3 = 3,
  Nvfp4BlockFormatMXFP8E5M2 = 4
} Nvfp4BlockFormat;

/* Memory layout of scales. */
typedef enum Nvfp4ScaleLayout {
  Nvfp4ScaleLayoutLinear = 0,
  Nvfp4ScaleLayoutBlocked = 1,
  Nvfp4ScaleLayoutBlocked8x4 = 2,
  Nvfp4ScaleLayoutWgmma = 3,
  Nvfp4ScaleLayoutWgmmaF16 = 4
} Nvfp4ScaleLayout;

/* Where the scales of each group start. */
typedef enum Nvfp4GroupStart {
  Nvfp4GroupStartWhole = 0,
  Nvfp4GroupStartCompact = 1,
  Nvfp4GroupStartUpperBound = 2
} Nvfp4GroupStart;

/* Form of grouping. */
typedef enum Nvfp4Grouping {
  Nvfp4GroupingDense = 0,
  Nvfp4GroupingBatched = 1,
  Nvfp4GroupingRaggedRows = 2,
  Nvfp4GroupingMasked = 3,
  Nvfp4GroupingRaggedK = 4
} Nvfp4Grouping;

/* Meaning of group offsets. */
typedef enum Nvfp4OffsetsKind {
  Nvfp4OffsetsKindEnds = 0,
  Nvfp4OffsetsKindStarts = 1
} Nvfp4OffsetsKind;

/* Activation function. */
typedef enum Nvfp4Activation {
  Nvfp4ActivationIdentity = 0,
  Nvfp4ActivationReLU = 1,
  Nvfp4ActivationReLU2 = 2,
  Nvfp4ActivationSiLU = 3,
  Nvfp4ActivationSwiGLU = 4,
  Nvfp4ActivationGeGLUTanh = 5,
  Nvfp4ActivationCustom = 6,
  Nvfp4ActivationReGLU = 7,
  Nvfp4ActivationGELUTanh = 8
} Nvfp4Activation;

/* Which half of a GLU pair is first. */
typedef enum Nvfp4GateOrder {
  Nvfp4GateOrderGateFirst = 0,
  Nvfp4GateOrderUpFirst = 1
} Nvfp4GateOrder;

/* Named quantiser. */
typedef enum Nvfp4Quantizer {
  Nvfp4QuantizerCutlass = 0,
  Nvfp4QuantizerTrtllm = 1,
  Nvfp4QuantizerTE = 2,
  Nvfp4QuantizerModelOpt = 3,
  Nvfp4QuantizerMega16 = 4,
  Nvfp4QuantizerUE8M0Up = 5,
  Nvfp4QuantizerOCP = 6,
  Nvfp4QuantizerTritonNearest = 7,
  Nvfp4QuantizerFourOverSix = 8
} Nvfp4Quantizer;

/* Fate of negative zero codes. */
typedef enum Nvfp4NegativeZero {
  Nvfp4NegativeZeroKeep = 0,
  Nvfp4NegativeZeroFlush = 1
} Nvfp4NegativeZero;

/* Rounding of values. */
typedef enum Nvfp4Rounding {
  Nvfp4RoundingNearest = 0,
  Nvfp4RoundingStochastic = 1
} Nvfp4Rounding;

/* Where the row probability is applied. */
typedef enum Nvfp4ProbPosition {
  Nvfp4ProbPositionGemm = 0,
  Nvfp4ProbPositionBias = 1,
  Nvfp4ProbPositionPreActivation = 2,
  Nvfp4ProbPositionPostActivation = 3
} Nvfp4ProbPosition;

/* Accuracy of transcendentals. */
typedef enum Nvfp4Math { Nvfp4MathStrict = 0, Nvfp4MathFast = 1 } Nvfp4Math;

/* Fate of rows outside every group. */
typedef enum Nvfp4Tail { Nvfp4TailPreserve = 0, Nvfp4TailZero = 1 } Nvfp4Tail;

/* Reproducibility contract. */
typedef enum Nvfp4Determinism {
  Nvfp4DeterminismDeterministic = 0,
  Nvfp4DeterminismBatchInvariant = 1,
  Nvfp4DeterminismRelaxed = 2
} Nvfp4Determinism;

/* Tile scheduler. */
typedef enum Nvfp4Scheduler {
  Nvfp4SchedulerStaticPersistent = 0,
  Nvfp4SchedulerDynamicCounter = 1,
  Nvfp4SchedulerLaunchControl = 2
} Nvfp4Scheduler;

/* Router. */
typedef enum Nvfp4Routing {
  Nvfp4RoutingSoftmaxTopK = 0,
  Nvfp4RoutingTopKSoftmax = 1,
  Nvfp4RoutingTopK = 2,
  Nvfp4RoutingSigmoidTopK = 3,
  Nvfp4RoutingTopKSigmoid = 4,
  Nvfp4RoutingSigmoidRenorm = 5,
  Nvfp4RoutingLlama4 = 6,
  Nvfp4RoutingDeepSeekV3 = 7,
  Nvfp4RoutingMiniMax2 = 8
} Nvfp4Routing;

#endif /* NVFP4_C_ENUMS_H */
