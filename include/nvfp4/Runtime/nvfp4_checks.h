/*===- nvfp4_checks.h - What compiled code asks of its data ---------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Called by code that gsg-emit-runtime-checks made, before each operation. A
 * check returns 1, or 0 if the data break the constraint `label` of docs/
 * Spec.md; the first violation of a call is recorded, with `where` (the source
 * location and the operation) and the value that was seen.
 *
 * nvfp4_function_call reports it. Who calls the code in another way asks
 * nvfp4_take_violation (nvfp4_runtime.h) after each call. Threads of a parallel
 * loop learn from nvfp4-share-call which call they work for.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_CHECKS_H
#define NVFP4_RUNTIME_NVFP4_CHECKS_H

#include <stdint.h>

#ifndef NVFP4_API
#define NVFP4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A call by nvfp4_function_call that has not ended. */
typedef struct nvfp4_call nvfp4_call;

/* The call that this thread works for, or null. */
NVFP4_API nvfp4_call *nvfp4_call_current(void);

/* Makes this thread work for `call`, which may be null; returns the one before.
 * A thread leaves a call before it ends. */
NVFP4_API nvfp4_call *nvfp4_call_enter(nvfp4_call *call);

/* `what` is `expected`. */
NVFP4_API int32_t nvfp4_check_equal(const char *where, const char *label,
                                    const char *what, int64_t seen,
                                    int64_t expected);

/* `what` is in [low, high]; INT64_MAX is no bound. */
NVFP4_API int32_t nvfp4_check_range(const char *where, const char *label,
                                    const char *what, int64_t seen, int64_t low,
                                    int64_t high);

/* `what` is a multiple of `factor`, which is positive. */
NVFP4_API int32_t nvfp4_check_multiple(const char *where, const char *label,
                                       const char *what, int64_t seen,
                                       int64_t factor);

/* `what` is finite and above zero, unless `users`, how many numbers are
 * computed with it, is 0. */
NVFP4_API int32_t nvfp4_check_positive(const char *where, const char *label,
                                       const char *what, float seen,
                                       int64_t users);

/* The `count` factors of packed weights in a format of
 * nvfp4/Format/BlockFormat.h are numbers that kernels know. */
NVFP4_API int32_t nvfp4_check_factors(const char *where, const float *factors,
                                      int64_t count, int64_t format);

/* Every entry of `what` is in [-1, limit). The entries are integers of 32 or 64
 * bits in rows and columns, or in a vector if `columns` is -1; strides count
 * entries. */
NVFP4_API int32_t nvfp4_check_indices(const char *where, const char *label,
                                      const char *what, const void *data,
                                      int64_t bits, int64_t rows,
                                      int64_t columns, int64_t row_stride,
                                      int64_t column_stride, int64_t limit);

/* How `groups` cuts an extent. */
enum { NVFP4_GROUP_ENDS = 0, NVFP4_GROUP_STARTS = 1, NVFP4_GROUP_COUNTS = 2 };

/* grouping_c6 to grouping_c8 for `count` offsets, or counts, that cut
 * `extent`. */
NVFP4_API int32_t nvfp4_check_groups(const char *where, const void *data,
                                     int64_t bits, int64_t count,
                                     int64_t stride, int64_t form,
                                     int64_t align, int64_t extent);

/* The scales of all groups of the operand `name` lie below `have`, counted in
 * rows, or in blocks of `block` positions along a row if that is not 0; in the
 * other direction there are `have_across` of `need_across`. Each group starts
 * on a multiple of `tile`: after the groups before it, or if `is_upper_bound`
 * where no groups of that extent can reach. 0 too if the offsets break
 * nvfp4_check_groups. */
NVFP4_API int32_t nvfp4_check_scale_room(
    const char *where, const char *label, const char *name, const void *data,
    int64_t bits, int64_t count, int64_t stride, int64_t form, int64_t align,
    int64_t extent, int64_t is_upper_bound, int64_t tile, int64_t block,
    int64_t have, int64_t have_across, int64_t need_across);

/* `output` shares no byte with `other`. Each is `rows` rows of `row_bytes`
 * bytes, `pitch` bytes apart. Interleaved rows are compared one by one where
 * both have the same pitch or one has a single row, and count as shared
 * otherwise. */
NVFP4_API int32_t nvfp4_check_disjoint(
    const char *where, const char *label, const char *output, const char *other,
    const void *output_data, int64_t output_rows, int64_t output_row_bytes,
    int64_t output_pitch, const void *other_data, int64_t other_rows,
    int64_t other_row_bytes, int64_t other_pitch);

/* The same of many operands: the last `outputs` rows of `table` share no byte
 * with another of its `operands` rows. A row is the number of an operand, its
 * address, rows, bytes a row and pitch. */
NVFP4_API int32_t nvfp4_check_all_disjoint(const char *where, const char *label,
                                           const int64_t *table,
                                           int64_t operands, int64_t outputs);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_CHECKS_H */
