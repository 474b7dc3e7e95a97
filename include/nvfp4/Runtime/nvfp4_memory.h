/*===- nvfp4_memory.h - The memory of compiled code -----------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Compiled code allocates results and workspaces through these functions, since
 * it cannot go on without them. If there is no memory, the running call
 * (nvfp4_function_call) ends where it is, frees what it has allocated, and
 * fails with NVFP4_OUT_OF_MEMORY. A parallel loop cannot be left that way, and
 * code that is called in another way has no call to end: there the process ends
 * with a message.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_MEMORY_H
#define NVFP4_RUNTIME_NVFP4_MEMORY_H

#include <stdint.h>

#ifndef NVFP4_API
#define NVFP4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` times `extent`: the size of a tensor, extent by extent. Ends the call
 * if `extent` is negative or the product above 2^47, the address space of a
 * process. */
NVFP4_API int64_t nvfp4_memory_bytes(int64_t bytes, int64_t extent);

/* For a thread of a parallel loop, which has to go on without: null if there is
 * no memory, and the call fails when it has ended. C's free() takes it. */
NVFP4_API void *nvfp4_memory_of_thread(int64_t bytes);

/* Never null. MLIR's finalize-memref-to-llvm knows these names. Memory that is
 * a result is freed by C's free(). */
NVFP4_API void *_mlir_memref_to_llvm_alloc(int64_t bytes);
NVFP4_API void _mlir_memref_to_llvm_free(void *memory);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_MEMORY_H */
