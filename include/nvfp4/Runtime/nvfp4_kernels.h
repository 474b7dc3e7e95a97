/*===- nvfp4_kernels.h - Kernels of compiled code -------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Code compiled for a GPU calls these functions beside the mgpu functions of
 * MLIR's gpu-to-llvm, for what those lack. They belong to the running call,
 * whose device, stream and memory they use; `stream` is what mgpuStreamCreate
 * gave. None of them fails on the spot: the first error is the call's, and what
 * comes after it does nothing. Code with kernels is called by
 * nvfp4_function_call or nvfp4_function_run; in another way it ends the
 * process.
 *
 * `where` names the place in the program: a source location and an operation.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_KERNELS_H
#define NVFP4_RUNTIME_NVFP4_KERNELS_H

#include "nvfp4/Runtime/nvfp4_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel of an artefact, and what its launches have in common. An artefact
 * lists its kernels in the symbol `nvfp4_kernels`: pointers, the last one
 * null. */
typedef struct nvfp4_kernel_entry {
  /* As nvfp4_device_module_load takes it. Kernels may share one. */
  const char *image;
  const char *name;
  /* Of a block; 0 where each launch says. */
  int32_t threads;
  /* Dynamic shared memory of a block. */
  int32_t shared_memory;
  /* Blocks of a cluster, at least 1. */
  int32_t cluster;
  /* Those of nvfp4_launch. */
  uint32_t flags;
} nvfp4_kernel_entry;

/* Starts the kernel, whose blocks share `blocks` tiles of work: on that many
 * blocks, but no more than the device runs at a time in whole clusters, or than
 * nvfp4_launch_set_max_blocks allows. 0 tiles start nothing. `parameters` has a
 * pointer to the value of each parameter. */
NVFP4_API void nvfp4_kernel_start(const nvfp4_kernel_entry *kernel,
                                  const char *where, int64_t blocks,
                                  nvfp4_stream *stream, void **parameters);

/* Starts the kernel on a grid; one without blocks starts nothing. `shared` is
 * added to the entry's shared memory. */
NVFP4_API void nvfp4_kernel_start_grid(const nvfp4_kernel_entry *kernel,
                                       const char *where, int64_t grid_x,
                                       int64_t grid_y, int64_t grid_z,
                                       int64_t block_x, int64_t block_y,
                                       int64_t block_z, int32_t shared,
                                       nvfp4_stream *stream, void **parameters);

/* An extent as kernels hold it; fails from 2^31 on. */
NVFP4_API int32_t nvfp4_kernel_extent(const char *where, int64_t extent);

/* Encodes a tensor map to 128 bytes at a multiple of 64: of a tensor at
 * `address` with `sizes` elements, innermost first, and `strides` bytes from
 * one index of dimension d + 1 to the next; an instruction copies boxes of
 * `box` elements. Dimensions without elements have one, as TMA wants. Fails
 * where a size cannot be a coordinate. */
NVFP4_API void nvfp4_kernel_tensor_map(const char *where, int32_t type,
                                       int32_t rank, void *address,
                                       const int64_t *sizes,
                                       const int64_t *strides,
                                       const int32_t *box, int32_t swizzle,
                                       void *map);

/* Stores `count` entries of 128 bytes of the host to `table` in device memory,
 * by launches that have them as parameters: a graph that captures them keeps
 * their values. */
NVFP4_API void nvfp4_kernel_write_table(const char *where, void *table,
                                        const void *entries, int64_t count,
                                        nvfp4_stream *stream);

/* Copies `rows` rows of `bytes`, which begin every so many bytes on either
 * side. In a call by nvfp4_function_run both sides are the device's. */
NVFP4_API void nvfp4_kernel_copy_rows(const char *where, void *target,
                                      int64_t target_pitch, const void *source,
                                      int64_t source_pitch, int64_t bytes,
                                      int64_t rows, nvfp4_stream *stream);

/* Stores zeros. */
NVFP4_API void nvfp4_kernel_clear(const char *where, void *target,
                                  int64_t bytes, nvfp4_stream *stream);

/* Device memory of result `index` of the function, of `rank` `extents` of
 * elements of `element_bytes`: the caller's, or new memory that becomes its. */
NVFP4_API void *nvfp4_kernel_result(const char *where, int32_t index,
                                    int32_t element_bytes, int32_t rank,
                                    const int64_t *extents);

/*===- Checks of data that only the device sees --------------------------===*/

/* The kind of a check. */
typedef enum nvfp4_data_kind {
  /* grouping_c6 to grouping_c8 of entry `row`, after the entry `before` it, of
   * groups that cut `limit`; `column` is 1 for the last entry. Numbers:
   * NVFP4_GROUP_ENDS and so on (nvfp4_checks.h), alignment. */
  NVFP4_DATA_GROUPS = 0,
  /* Entry [row, column] of `what`, or [row] where `column` is -1, is in [-1,
   * limit). */
  NVFP4_DATA_INDEX = 1,
  /* The f32 `what` is finite and above zero; `seen` has its bits. */
  NVFP4_DATA_POSITIVE = 2,
  /* The f32 factor of packed weights is a number that kernels know; `seen` has
   * its bits. Numbers: the format, of nvfp4/Format/BlockFormat.h. */
  NVFP4_DATA_FACTOR = 3,
  /* There are `seen` of `what`, of which the groups need `limit`. */
  NVFP4_DATA_ROOM = 4,
  /* Weights that are packed have no sign at a UE4M3 scale in `row`, no infinite
   * element in [row, column] where that is not -1, and, where `row` is -1,
   * UE8M0 scales from 2^seen to 2^before that kernels can hold. `limit` is the
   * number of the matrix, or -1 for the only one. Numbers: by how much
   * exponents may differ. */
  NVFP4_DATA_WEIGHTS = 5
} nvfp4_data_kind;

/* A check, constant in the artefact. */
typedef struct nvfp4_data_check {
  /* The place in the program, the label of docs/Spec.md and the operand. */
  const char *where, *label, *what;
  int64_t kind;
  int64_t numbers[2];
} nvfp4_data_check;

/* The first violation that kernels have found, 64 bytes that host and device
 * share. A kernel exchanges `check`, if that is null, for the address of its
 * own; it then stores the rest, and releases it by storing 1 to `is_complete`.
 * The host reads it whenever it likes, and clears it in the opposite order. */
typedef struct nvfp4_data_record {
  const nvfp4_data_check *check;
  int64_t is_complete;
  int64_t row, column, seen, before, limit;
  int64_t unused;
} nvfp4_data_record;

/* The record for kernels of the running call. */
NVFP4_API nvfp4_data_record *nvfp4_kernel_data_record(const char *where);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_KERNELS_H */
