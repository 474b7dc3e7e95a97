/*===- TestArtefact.c - What the compiler would have made
 * ---------------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Functions in the form of compiled code, written against the documented
 * interface only.
 *
 *===------------------------------------------------------------------------===
 */

#include "nvfp4/Runtime/nvfp4_memory.h"

#include <stdint.h>
#include <stdlib.h>

const char nvfp4_metadata[] =
    "{\"version\":6,\"device\":\"cpu\",\"functions\":["
    "{\"name\":\"scale\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"f32\",\"shape\":[-1,2]},"
    "{\"kind\":\"scalar\",\"type\":\"f32\"}],"
    "\"results\":[{\"kind\":\"scalar\",\"type\":\"i8\"},"
    "{\"kind\":\"tensor\",\"type\":\"f32\",\"shape\":[-1,2]}]},"
    "{\"name\":\"fill\",\"arguments\":["
    "{\"kind\":\"memref\",\"type\":\"i64\",\"shape\":[3]},"
    "{\"kind\":\"tensor\",\"type\":\"f8E4M3FN\",\"shape\":[-1],"
    "\"role\":\"scales\",\"scaled\":{\"text\":\"!s<4x4>\",\"shape\":[4,4],"
    "\"format\":\"f\",\"layout\":\"linear\",\"starts\":\"whole\",\"axis\":0}}],"
    "\"results\":[]},"
    "{\"name\":\"pair\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i8\",\"shape\":[-1,8],"
    "\"role\":\"values\",\"scaled\":{\"text\":\"!s<?x16, f, blocked>\","
    "\"shape\":[-1,16],\"format\":\"f\",\"layout\":\"blocked\","
    "\"starts\":\"whole\",\"axis\":1}},"
    "{\"kind\":\"tensor\",\"type\":\"i8\",\"shape\":[-1,1,32,4,4],"
    "\"role\":\"scales\",\"scaled\":{\"text\":\"!s<?x16, f, blocked>\","
    "\"shape\":[-1,16],\"format\":\"f\",\"layout\":\"blocked\","
    "\"starts\":\"whole\",\"axis\":1}}],"
    "\"results\":[]},"
    "{\"name\":\"grow\",\"arguments\":["
    "{\"kind\":\"scalar\",\"type\":\"i64\"},"
    "{\"kind\":\"scalar\",\"type\":\"i64\"}],"
    "\"results\":[{\"kind\":\"tensor\",\"type\":\"i64\",\"shape\":[-1]}]}]}";

struct memref2 {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
};
struct memref1 {
  int64_t *allocated, *aligned;
  int64_t offset, sizes[1], strides[1];
};
struct scale_results {
  int8_t rows;
  struct memref2 out;
};

/* Returns the number of rows and x times s, stored 8 elements after the start
 * of the allocation. */
void nvfp4_entry_scale(void **values) {
  const struct memref2 *x = values[0];
  float s = *(const float *)values[1];
  struct scale_results *results = values[2];
  int64_t rows = x->sizes[0];
  float *out = malloc((size_t)(8 + rows * 2) * sizeof(float));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < 2; ++j)
      out[8 + i * 2 + j] =
          x->aligned[x->offset + i * x->strides[0] + j * x->strides[1]] * s;
  results->rows = (int8_t)rows;
  results->out = (struct memref2){out, out, 8, {rows, 2}, {2, 1}};
}

void nvfp4_entry_pair(void **values) { (void)values; }

/* Writes the index to each element. */
void nvfp4_entry_fill(void **values) {
  const struct memref1 *x = values[0];
  for (int64_t i = 0; i < x->sizes[0]; ++i)
    x->aligned[i] = i;
}

/* Two allocations: a workspace of so many bytes, and zeros. */
void nvfp4_entry_grow(void **values) {
  int64_t bytes = *(const int64_t *)values[0];
  int64_t count = *(const int64_t *)values[1];
  struct memref1 *result = values[2];
  void *workspace = _mlir_memref_to_llvm_alloc(bytes);
  int64_t *out = _mlir_memref_to_llvm_alloc(nvfp4_memory_bytes(8, count));
  for (int64_t i = 0; i < count; ++i)
    out[i] = 0;
  _mlir_memref_to_llvm_free(workspace);
  *result = (struct memref1){out, out, 0, {count}, {1}};
}
