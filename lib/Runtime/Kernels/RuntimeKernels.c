/*===- RuntimeKernels.c - Kernels of the runtime's own --------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Compiled to PTX by clang when the runtime is built, for sm_90 and what comes
 * after. Small work for which calls have no kernel of the artefact.
 *
 *===------------------------------------------------------------------------===
 */

#include "TableEntries.h"

typedef unsigned long long word;
typedef word pair __attribute__((ext_vector_type(2)));

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((nvptx_kernel)) void

/* 16 bytes for each thread. */
struct entries {
  pair words[NVFP4_TABLE_ENTRIES * 8];
};

/* Stores the first `count` pairs of words of `entries`: parameters are part of
 * the launch, and of a graph. */
KERNEL nvfp4_write_table(GLOBAL pair *target, unsigned count,
                         struct entries entries) {
  unsigned thread = __nvvm_read_ptx_sreg_tid_x();
  if (thread < count)
    target[thread] = entries.words[thread];
}
