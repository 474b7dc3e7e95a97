/*===- nvfp4-c/GroupedScaledGemm.h - Types and attributes in C ------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * The type of `grouped_scaled_gemm` and the attributes that go with it; more
 * are in Attributes.h. The dialect is loaded into the context by the functions
 * that make them. Where parameters are not legal, they send a diagnostic to the
 * location and return null. Functions that read expect their kind of type or
 * attribute (`...IsA...`).
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_GROUPEDSCALEDGEMM_H
#define NVFP4_C_GROUPEDSCALEDGEMM_H

#include "nvfp4-c/Enums.h"

#include <mlir-c/IR.h>

#ifdef __cplusplus
extern "C" {
#endif

/*===- !grouped_scaled_gemm.scaled ---------------------------------------===*/

/* A block-scaled tensor of logical shape `shape` (`rank` extents,
 * mlirShapedTypeGetDynamicSize() where unknown) whose blocks run along
 * dimension `axis`; -1 is the last. */
MLIR_CAPI_EXPORTED MlirType nvfp4ScaledTypeGetChecked(
    MlirLocation location, intptr_t rank, const int64_t *shape,
    Nvfp4BlockFormat format, Nvfp4ScaleLayout layout, Nvfp4GroupStart starts,
    int64_t axis);

MLIR_CAPI_EXPORTED bool nvfp4TypeIsAScaled(MlirType type);
MLIR_CAPI_EXPORTED intptr_t nvfp4ScaledTypeGetRank(MlirType type);
/* Extent of dimension `dim`, in [0, rank). */
MLIR_CAPI_EXPORTED int64_t nvfp4ScaledTypeGetDimSize(MlirType type,
                                                     intptr_t dim);
MLIR_CAPI_EXPORTED Nvfp4BlockFormat nvfp4ScaledTypeGetFormat(MlirType type);
MLIR_CAPI_EXPORTED Nvfp4ScaleLayout nvfp4ScaledTypeGetLayout(MlirType type);
MLIR_CAPI_EXPORTED Nvfp4GroupStart nvfp4ScaledTypeGetStarts(MlirType type);
MLIR_CAPI_EXPORTED int64_t nvfp4ScaledTypeGetAxis(MlirType type);
/* Values that share a scale: 16 or 32. */
MLIR_CAPI_EXPORTED int64_t nvfp4ScaledTypeGetBlockSize(MlirType type);
/* The tensors that hold the values and the scales in memory. */
MLIR_CAPI_EXPORTED MlirType nvfp4ScaledTypeGetDataTensor(MlirType type);
MLIR_CAPI_EXPORTED MlirType nvfp4ScaledTypeGetScaleTensor(MlirType type);

/*===- Attributes --------------------------------------------------------===*/

/* `#grouped_scaled_gemm.grouping`. Offsets are `ends`, or with `starts` the
 * starts; groups begin at multiples of `align`. */
MLIR_CAPI_EXPORTED MlirAttribute nvfp4GroupingAttrGetChecked(
    MlirLocation location, Nvfp4Grouping kind, bool starts, int64_t align);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAGrouping(MlirAttribute attribute);
MLIR_CAPI_EXPORTED Nvfp4Grouping
nvfp4GroupingAttrGetKind(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool nvfp4GroupingAttrHasStarts(MlirAttribute attribute);
MLIR_CAPI_EXPORTED int64_t nvfp4GroupingAttrGetAlign(MlirAttribute attribute);

/* `#grouped_scaled_gemm.gate`: blocks of `granularity` rows, 0 for halves. */
MLIR_CAPI_EXPORTED MlirAttribute nvfp4GateAttrGetChecked(MlirLocation location,
                                                         int64_t granularity,
                                                         bool upFirst);
MLIR_CAPI_EXPORTED bool nvfp4AttributeIsAGate(MlirAttribute attribute);
MLIR_CAPI_EXPORTED int64_t nvfp4GateAttrGetGranularity(MlirAttribute attribute);
MLIR_CAPI_EXPORTED bool nvfp4GateAttrIsUpFirst(MlirAttribute attribute);

/* Any attribute of the dialect from its text between `<` and `>`, for instance
 * ("activation", "swiglu, gate = <32, gate_first>, limit = 7.0"),
 * ("quantizer", "trtllm"), ("math", "fast") or ("strategy", "m = 128, ..."). */
MLIR_CAPI_EXPORTED MlirAttribute nvfp4AttributeParse(MlirContext context,
                                                     MlirStringRef mnemonic,
                                                     MlirStringRef parameters);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_GROUPEDSCALEDGEMM_H */
