/*===- nvfp4_staging.h - Operands as kernels read them --------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * The staging operations of grouped_scaled_gemm on memory of the host: what
 * kernels cannot read is brought to a form that they can. Rows of the source
 * follow each other; those of the target begin every so many bytes. A call that
 * fails records why, as those of nvfp4_checks.h do, and returns 0; the target
 * is then unspecified.
 *
 * `format` is that of nvfp4/Format/BlockFormat.h. `groups` says which rows or
 * columns are whose: `count` offsets of `bits` (32 or 64), of one of the forms
 * below, rounded up to `align` where ends are the next group's starts. Groups
 * along K begin at stages of their own, of `stage` columns each: group g at
 * stage start / stage + g.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_STAGING_H
#define NVFP4_RUNTIME_NVFP4_STAGING_H

#include <stdint.h>

#ifndef NVFP4_API
#define NVFP4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  NVFP4_STAGE_ALL = 0,
  NVFP4_STAGE_COUNTS = 1,
  NVFP4_STAGE_ROW_ENDS = 2,
  NVFP4_STAGE_ROW_STARTS = 3,
  NVFP4_STAGE_K_ENDS = 4,
  NVFP4_STAGE_K_STARTS = 5
};

/* Rows of A in 16 bits: `matrices` times `rows` rows of `columns` values, and
 * zeros up to whole stages. The values of a format times their scales become
 * bf16; `format` -1 stands for 16 bits as they are. A row has `scale_columns`
 * scales in a row; those of groups along K follow each other without gaps if
 * `is_compact`. A number that bf16 does not hold is an error in rows of
 * groups. */
NVFP4_API int32_t nvfp4_stage_rows(
    const char *where, int32_t format, const void *values, const void *scales,
    int64_t scale_columns, int32_t is_compact, int64_t matrices, int64_t rows,
    int64_t columns, int32_t form, const void *offsets, int32_t bits,
    int64_t count, int64_t align, int64_t stage, void *target, int64_t pitch);

/* Values of `element_bits`, 4 or 8, of an operand whose groups lie along K. */
NVFP4_API int32_t nvfp4_stage_values(
    const char *where, int32_t element_bits, const void *values, int64_t rows,
    int64_t columns, int32_t form, const void *offsets, int32_t bits,
    int64_t count, int64_t align, int64_t stage, void *target, int64_t pitch);

/* Its scales, of `block` values each, to tiles of 128 rows by 4 columns; a row
 * of the target has those of 128 rows. */
NVFP4_API int32_t nvfp4_stage_scales(
    const char *where, const void *scales, int64_t rows, int64_t columns,
    int64_t scale_columns, int64_t block, int32_t is_compact, int32_t form,
    const void *offsets, int32_t bits, int64_t count, int64_t align,
    int64_t stage, void *target, int64_t pitch);

/* Weights for kernels that decode them to bf16 (`type` 0) or f16 (1):
 * `matrices` matrices of `rows` by `columns`, packed as
 * nvfp4/Format/WgmmaWeights.h says in whole stages along K, `pitch` bytes from
 * one to the next. `factors` has one f32 for each, by which products are to be
 * multiplied. The sign of a scale must be clear, an element finite, and the
 * scales of a matrix within the decoder's range of each other. */
NVFP4_API int32_t nvfp4_stage_weights(
    const char *where, int32_t format, int32_t type, const void *values,
    const void *scales, int64_t scale_columns, int32_t is_compact,
    int64_t matrices, int64_t rows, int64_t columns, int32_t form,
    const void *offsets, int32_t bits, int64_t count, int64_t align,
    int64_t stage, void *target, int64_t pitch, float *factors);

/* Scales in tiles of 128 x 4: `rows` rows of tiles of `row_bytes`, with
 * `columns` scales in a row. The rest of the last tile becomes zero, whatever
 * there was: NaN would meet the zeros after the end of K. */
NVFP4_API int32_t nvfp4_stage_padded_scales(const char *where,
                                            const void *scales, int64_t rows,
                                            int64_t row_bytes, int64_t columns,
                                            void *target, int64_t pitch);

/* Rows of an odd number of values of 4 bits: the half of the byte after the
 * last one becomes zero. */
NVFP4_API int32_t nvfp4_stage_odd_values(const char *where, const void *values,
                                         int64_t rows, int64_t row_bytes,
                                         void *target, int64_t pitch);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_STAGING_H */
