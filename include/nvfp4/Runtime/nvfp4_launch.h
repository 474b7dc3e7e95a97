/*===- nvfp4_launch.h - Kernels that compiled code starts ------*- C -*-===*
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * What code compiled for a GPU calls around each kernel. A task is one launch:
 * its buffers are copied to the device, its parameters are given in order, and
 * nvfp4_task_run starts it, waits, copies back what it wrote and frees the
 * task. Nothing here fails on the spot: the first error is kept, later calls on
 * the task do nothing, and the call of the compiled function fails with it.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_LAUNCH_H
#define NVFP4_RUNTIME_NVFP4_LAUNCH_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device of tasks from now on, as for nvfp4_device_open, which is opened,
 * unless they belong to a call by nvfp4_function_call_on that names another.
 * One that cannot be opened leaves all as it was. Null or never called: the
 * environment variable NVFP4_DEVICE, or else `cuda`. */
NVFP4_API nvfp4_status nvfp4_launch_set_device(const char *name);

/* At most this many blocks a launch from now on, to leave multiprocessors to
 * others; 0 goes back to the default: NVFP4_MAX_BLOCKS (from 1; what is no such
 * number makes launches fail), or else as many as the device has
 * multiprocessors. */
NVFP4_API nvfp4_status nvfp4_launch_set_max_blocks(int64_t blocks);

/* If `enable` is not 0, kernels of tasks are timed from now on, by events of
 * the device; on `sim` these are times of the host. */
NVFP4_API void nvfp4_launch_set_timing(int enable);

/* Microseconds of the kernels that were timed since the last such question, in
 * sum. */
NVFP4_API double nvfp4_launch_take_time(void);

typedef struct nvfp4_task nvfp4_task;

enum {
  NVFP4_TASK_READ = 1,
  NVFP4_TASK_WRITE = 2,
  /* Zeros on the device, whatever the host's memory holds. */
  NVFP4_TASK_ZERO = 4,
  /* Rows are an odd number of values of 4 bits: the half of a byte behind the
   * last one is zero on the device, whatever the host's holds. For buffers that
   * the kernel only reads. */
  NVFP4_TASK_ODD = 8
};

/* A launch of `kernel` of the module `image` (see nvfp4_device_module_load),
 * which is loaded once. `where` names the operation in errors. Null if there is
 * no memory; every function takes that and does nothing. */
NVFP4_API nvfp4_task *nvfp4_task_begin(const char *where, const char *image,
                                       const char *kernel);

/* Memory of the host for the kernel: `rows` rows of `row_bytes` without gaps.
 * On the device a row starts every `pitch` bytes, the smallest multiple of
 * `alignment` that holds it. With `access` NVFP4_TASK_ZERO alone `host` may be
 * null: the memory is the kernel's own. Returns the buffer's number: 0, 1, ...
 */
NVFP4_API int32_t nvfp4_task_buffer(nvfp4_task *task, void *host, int64_t rows,
                                    int64_t row_bytes, int64_t alignment,
                                    int32_t access);

/* A buffer that the kernel reads, of `count` parts of `rows` rows each. */
NVFP4_API int32_t nvfp4_task_parts(nvfp4_task *task, int64_t count,
                                   int64_t rows, int64_t row_bytes,
                                   int64_t alignment);
/* The same of scales in tiles of 128 x 4 (the layout `blocked`): `rows` rows of
 * tiles with `columns` scales in a row, of which the last tile may have fewer
 * than 4. The rest of it becomes zero, whatever the host has there. */
NVFP4_API int32_t nvfp4_task_scales(nvfp4_task *task, int64_t count,
                                    int64_t rows, int64_t row_bytes,
                                    int64_t columns);
/* The memory of part `number` of such a buffer. */
NVFP4_API void nvfp4_task_part(nvfp4_task *task, int32_t buffer, int64_t number,
                               const void *host);

/* How a product is cut into groups, for the calls below: `count` offsets of
 * `bits` (32 or 64), rounded up to `align` where ends are the next group's
 * starts. Where groups lie along K, each of them begins at a stage of its own,
 * of `stage` columns: group g at stage start / stage + g. */
enum {
  NVFP4_TASK_ALL = 0,
  NVFP4_TASK_COUNTS = 1,
  NVFP4_TASK_ROW_ENDS = 2,
  NVFP4_TASK_ROW_STARTS = 3,
  NVFP4_TASK_K_ENDS = 4,
  NVFP4_TASK_K_STARTS = 5
};
NVFP4_API void nvfp4_task_groups(nvfp4_task *task, int32_t kind,
                                 const void *offsets, int32_t bits,
                                 int64_t count, int64_t align, int64_t stage);

/* Rows of A as elements of 16 bits: `matrices` times `rows` rows of `columns`
 * values, rounded up to whole stages with zeros. `format` is that of
 * nvfp4/Format/BlockFormat.h, whose values times their scales become bf16, or
 * -1 for 16 bits as they are. A row has `scale_columns` scales in a row; those
 * of groups along K follow each other without gaps if `is_compact`. A number
 * that bf16 does not hold is an error in rows of groups. */
NVFP4_API int32_t nvfp4_task_tokens(nvfp4_task *task, int32_t format,
                                    const void *values, const void *scales,
                                    int64_t scale_columns, int32_t is_compact,
                                    int64_t matrices, int64_t rows,
                                    int64_t columns);

/* Weights for kernels that decode them to bf16 (`type` 0) or f16 (1): `parts`
 * times `matrices` matrices of `rows` by `columns` in a format as above,
 * re-laid out as nvfp4/Format/WgmmaWeights.h says, in whole stages along K. The
 * sign of a scale must be clear, an element finite, and the scales of a matrix
 * within the decoder's range of each other. */
NVFP4_API int32_t nvfp4_task_coded_weights(nvfp4_task *task, int32_t format,
                                           int32_t type, int64_t parts,
                                           int64_t matrices, int64_t rows,
                                           int64_t columns);
/* Part `number` of such weights: the memory of its values and of its scales. */
NVFP4_API void nvfp4_task_coded_part(nvfp4_task *task, int32_t buffer,
                                     int64_t number, const void *values,
                                     const void *scales, int64_t scale_columns,
                                     int32_t is_compact);
/* Part `number` of such weights that relayout_weights has laid out already: its
 * blocks, and one f32 for each matrix. */
NVFP4_API void nvfp4_task_precoded_part(nvfp4_task *task, int32_t buffer,
                                        int64_t number, const void *blocks,
                                        const float *factors);
/* The next parameter is a pointer to one f32 for each matrix, by which products
 * are to be multiplied; after its parts. */
NVFP4_API void nvfp4_task_coded_factors(nvfp4_task *task, int32_t buffer);

/* An operand of packed elements of `bits` bits, 4 or 8, whose groups lie along
 * K: rows of `columns` values, each group at a stage of its own with zeros
 * behind it. */
NVFP4_API int32_t nvfp4_task_k_values(nvfp4_task *task, const void *values,
                                      int64_t rows, int64_t columns,
                                      int32_t bits);
/* Its scales, of `block` values each, in rows as above; the buffer holds atoms
 * of 512 bytes, those along K behind each other. */
NVFP4_API int32_t nvfp4_task_k_scales(nvfp4_task *task, const void *scales,
                                      int64_t rows, int64_t columns,
                                      int64_t scale_columns, int64_t block,
                                      int32_t is_compact);

/* The next parameter is a pointer to a buffer. */
NVFP4_API void nvfp4_task_pointer(nvfp4_task *task, int32_t buffer);
/* The next parameter is an integer. */
NVFP4_API void nvfp4_task_i32(nvfp4_task *task, int32_t value);
/* The next parameter is an extent, which kernels hold as an i32: fails from
 * 2^31 on. */
NVFP4_API void nvfp4_task_extent(nvfp4_task *task, int64_t extent);
/* The next parameter is a float. */
NVFP4_API void nvfp4_task_f32(nvfp4_task *task, float value);

/* The next parameter is a tensor map of a matrix of bytes: boxes of `box_rows`
 * rows of `box_bytes` (the swizzle's span) each; `type` is NVFP4_TENSOR_U8 for
 * bytes or NVFP4_TENSOR_U4_PADDED for FP4 that TMA pads, of which `box_bytes`
 * counts padding and whose buffer has an alignment of 64. */
NVFP4_API void nvfp4_task_matrix_map(nvfp4_task *task, int32_t buffer,
                                     int32_t type, int32_t box_rows,
                                     int32_t box_bytes);

/* The next parameter is a tensor map of scales in atoms of 512 bytes, a row of
 * the buffer being the atoms along K of 128 rows: boxes of `box_k` atoms along
 * K, outermost, by `box_rows`. */
NVFP4_API void nvfp4_task_scale_map(nvfp4_task *task, int32_t buffer,
                                    int32_t box_k, int32_t box_rows);

/* The next parameter is a tensor map of a matrix of bf16 or f16 whose rows are
 * whole blocks of 64: boxes of `box_rows` rows by `box_blocks` of these blocks,
 * outermost, with a swizzle of 128 bytes. */
NVFP4_API void nvfp4_task_token_map(nvfp4_task *task, int32_t buffer,
                                    int32_t box_rows, int32_t box_blocks);

/* Parameters of several problems, in memory of the device. A row begins;
 * numbers, pointers and maps go there until the next row begins, or the table
 * ends. A row has an entry of 128 bytes with the numbers and pointers in order,
 * each aligned to its size, and then one for each map. The end makes a buffer
 * of all rows. */
NVFP4_API void nvfp4_task_table_row(nvfp4_task *task);
NVFP4_API int32_t nvfp4_task_table_end(nvfp4_task *task);

/* Runs the task with at most `blocks` blocks, of which no more are started
 * than nvfp4_launch_set_max_blocks allows, and ends its life. Without blocks
 * the kernel is not started. `flags` are those of nvfp4_launch. */
NVFP4_API void nvfp4_task_run(nvfp4_task *task, int64_t blocks, int32_t threads,
                              int32_t shared_bytes, int32_t cluster,
                              int32_t flags);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_LAUNCH_H */
