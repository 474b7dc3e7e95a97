/*===- MgpuCalls.h - Functions that gpu-to-llvm calls -------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Compiled code declares these functions of the runtime itself; so do tests
 * that stand for it.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_UNITTESTS_RUNTIME_MGPUCALLS_H
#define NVFP4_UNITTESTS_RUNTIME_MGPUCALLS_H

#include "nvfp4/Runtime/nvfp4_kernels.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

nvfp4_stream *mgpuStreamCreate(void);
void mgpuStreamSynchronize(nvfp4_stream *stream);
void mgpuStreamDestroy(nvfp4_stream *stream);
void *mgpuMemAlloc(uint64_t bytes, nvfp4_stream *stream, bool host_shared);
void mgpuMemFree(void *memory, nvfp4_stream *stream);
void mgpuMemcpy(void *target, const void *source, size_t bytes,
                nvfp4_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* NVFP4_UNITTESTS_RUNTIME_MGPUCALLS_H */
