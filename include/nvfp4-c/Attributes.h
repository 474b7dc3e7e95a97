/*===- nvfp4-c/Attributes.h - Attributes of products in C -----------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * The attributes of `grouped_scaled_gemm` that say how a product ends, is
 * executed and may round, by the rules of GroupedScaledGemm.h, which has those
 * that say what it is: where parameters are not legal, the functions that make
 * attributes send a diagnostic to the location and return null; those that read
 * expect their kind of attribute.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_ATTRIBUTES_H
#define NVFP4_C_ATTRIBUTES_H

#include "nvfp4-c/Enums.h"

#include <mlir-c/IR.h>

#ifdef __cplusplus
extern "C" {
#endif

/*===- #grouped_scaled_gemm.activation -----------------------------------===*/

/* `gate` is null, or for activations of pairs what nvfp4GateAttrGetChecked
 * makes. Of SwiGLU alone: `alpha` (else 1), `beta` (else 0) and `limit`
 * (INFINITY for none, as for others). */
MLIR_CAPI_EXPORTED MlirAttribute nvfp4ActivationAttrGetChecked(
    MlirLocation location, Nvfp4Activation kind, MlirAttribute gate,
    float alpha, float beta, float limit, bool roundBf16);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAActivation(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Activation
nvfp4ActivationAttrGetKind(MlirAttribute attribute);
/* Null without one. */
MLIR_CAPI_EXPORTED MlirAttribute
nvfp4ActivationAttrGetGate(MlirAttribute attribute);
MLIR_CAPI_EXPORTED float nvfp4ActivationAttrGetAlpha(MlirAttribute attribute);
MLIR_CAPI_EXPORTED float nvfp4ActivationAttrGetBeta(MlirAttribute attribute);
/* INFINITY without one. */
MLIR_CAPI_EXPORTED float nvfp4ActivationAttrGetLimit(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool
nvfp4ActivationAttrRoundsToBf16(MlirAttribute attribute);

/*===- #grouped_scaled_gemm.quantizer ------------------------------------===*/

MLIR_CAPI_EXPORTED MlirAttribute nvfp4QuantizerAttrGetChecked(
    MlirLocation location, Nvfp4Quantizer kind, bool flushNegativeZero,
    bool isStochastic, bool isTwoD);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAQuantizer(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Quantizer
nvfp4QuantizerAttrGetKind(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool
nvfp4QuantizerAttrFlushesNegativeZero(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool nvfp4QuantizerAttrIsStochastic(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool nvfp4QuantizerAttrIsTwoD(MlirAttribute attribute);

/*===- #grouped_scaled_gemm.strategy -------------------------------------===*/

/* Sizes as in the text of the attribute. 0 leaves `stages`,
 * `accumulatorStages`, `scaleStages` and `epilogueN` open; `ctas`, the clusters
 * and `splitK` are at least 1. */
typedef struct Nvfp4Strategy {
  int64_t tileM, tileN, tileK;
  int64_t stages;
  int64_t ctas;
  int64_t clusterM, clusterN;
  int64_t splitK;
  int64_t accumulatorStages, scaleStages;
  int64_t epilogueN;
  bool swapAB, dynamicN;
  Nvfp4Scheduler scheduler;
} Nvfp4Strategy;

MLIR_CAPI_EXPORTED MlirAttribute nvfp4StrategyAttrGetChecked(
    MlirLocation location, const Nvfp4Strategy *strategy);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAStrategy(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Strategy nvfp4StrategyAttrGet(MlirAttribute attribute);

/*===- #grouped_scaled_gemm<name value> ----------------------------------===*/

MLIR_CAPI_EXPORTED MlirAttribute nvfp4MathAttrGetChecked(MlirLocation location,
                                                         Nvfp4Math value);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAMath(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Math nvfp4MathAttrGetValue(MlirAttribute attribute);

MLIR_CAPI_EXPORTED MlirAttribute nvfp4TailAttrGetChecked(MlirLocation location,
                                                         Nvfp4Tail value);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsATail(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Tail nvfp4TailAttrGetValue(MlirAttribute attribute);

MLIR_CAPI_EXPORTED MlirAttribute
nvfp4DeterminismAttrGetChecked(MlirLocation location, Nvfp4Determinism value);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsADeterminism(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Determinism
nvfp4DeterminismAttrGetValue(MlirAttribute attribute);

MLIR_CAPI_EXPORTED MlirAttribute
nvfp4ProbPositionAttrGetChecked(MlirLocation location, Nvfp4ProbPosition value);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAProbPosition(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4ProbPosition
nvfp4ProbPositionAttrGetValue(MlirAttribute attribute);

MLIR_CAPI_EXPORTED MlirAttribute
nvfp4RoutingAttrGetChecked(MlirLocation location, Nvfp4Routing value);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsARouting(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Routing
nvfp4RoutingAttrGetValue(MlirAttribute attribute);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_ATTRIBUTES_H */
