/*===- nvfp4_relayout.h - Weights laid out for Hopper -------------*- C -*-===*\
|*                                                                            *|
|* Part of the NVFP4 project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * What compiled code of relayout_weights calls. A call that fails records why,
 * as those of nvfp4_checks.h do, and returns 0.
 */

#ifndef NVFP4_RUNTIME_NVFP4_RELAYOUT_H
#define NVFP4_RUNTIME_NVFP4_RELAYOUT_H

#include <stdint.h>

#ifndef NVFP4_API
#define NVFP4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Lays `matrices` matrices of `rows` by `columns` weights out for kernels that
 * decode them to bf16 (`type` 0) or f16 (1), as nvfp4/Format/WgmmaWeights.h
 * says, in whole stages of 128 columns. `format` is that of
 * nvfp4/Format/BlockFormat.h; rows of values and of scales lie behind each
 * other without gaps, and so do the blocks. `factors` has one f32 for each
 * matrix, by which products are to be multiplied. Where it fails the results
 * are unspecified. */
NVFP4_API int32_t nvfp4_relayout_weights(const char *where, int32_t format,
                                         int32_t type, int64_t matrices,
                                         int64_t rows, int64_t columns,
                                         const void *values, const void *scales,
                                         void *blocks, float *factors);

/* The way back. */
NVFP4_API int32_t nvfp4_relayout_weights_back(const char *where, int32_t format,
                                              int32_t type, int64_t matrices,
                                              int64_t rows, int64_t columns,
                                              const void *blocks,
                                              const float *factors,
                                              void *values, void *scales);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_RELAYOUT_H */
