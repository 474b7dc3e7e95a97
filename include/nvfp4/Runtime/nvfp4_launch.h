/*===- nvfp4_launch.h - Settings of kernel launches ------------*- C -*-===*
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Tools and benchmarks set these for the whole process: the device of calls
 * that name none, the blocks of a launch, and whether kernels are timed.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_LAUNCH_H
#define NVFP4_RUNTIME_NVFP4_LAUNCH_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device, from now on, of calls by nvfp4_function_call and of those by
 * nvfp4_function_call_on that name none; the name is that of nvfp4_device_open,
 * and the device is opened. One that cannot be opened leaves all as it was.
 * Null or never called: the environment variable NVFP4_DEVICE, or else `cuda`.
 */
NVFP4_API nvfp4_status nvfp4_launch_set_device(const char *name);

/* At most this many blocks a launch from now on, to leave multiprocessors to
 * others; 0 goes back to the default: NVFP4_MAX_BLOCKS (from 1; what is no such
 * number makes launches fail), or else as many as the device has
 * multiprocessors. */
NVFP4_API nvfp4_status nvfp4_launch_set_max_blocks(int64_t blocks);

/* If `enable` is not 0, kernels of calls by nvfp4_function_call and
 * nvfp4_function_call_on are timed from now on, by events of the device; on
 * `sim` these are times of the host. */
NVFP4_API void nvfp4_launch_set_timing(int enable);

/* Microseconds of the kernels that were timed since the last such question, in
 * sum. */
NVFP4_API double nvfp4_launch_take_time(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_LAUNCH_H */
