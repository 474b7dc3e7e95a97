/*===- DeviceArtefact.c - What the compiler makes for a GPU ---------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Functions on device memory in the form of compiled code: host code that asks
 * for a stream, memory and launches, written against the documented interface.
 *
 *===------------------------------------------------------------------------===
 */

#include "MgpuCalls.h"

#include "nvfp4/Runtime/nvfp4_checks.h"

const char nvfp4_metadata[] =
    "{\"version\":5,\"device\":\"cpu\",\"memory\":\"device\",\"functions\":["
    "{\"name\":\"chain\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1,4]},"
    "{\"kind\":\"scalar\",\"type\":\"i32\"}],"
    "\"results\":[{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1,4]}]},"
    "{\"name\":\"table\",\"arguments\":["
    "{\"kind\":\"memref\",\"type\":\"i8\",\"shape\":[40,128]},"
    "{\"kind\":\"tensor\",\"type\":\"i8\",\"shape\":[-1,8],"
    "\"role\":\"values\",\"scaled\":\"!s<?x16, nvfp4>\"}],\"results\":[]},"
    "{\"name\":\"misuse\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[4]},"
    "{\"kind\":\"scalar\",\"type\":\"i32\"}],\"results\":[]}]}";

/* out[i] = in[i] * factor for `count` elements, one block of 32 threads for
 * each 32 of them. */
static const char image[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry scale(.param .u64 in, .param .u64 out,\n"
    "                      .param .u32 factor, .param .u32 count) {\n"
    "  .reg .b64 %a<4>;\n  .reg .b32 %r<8>;\n  .reg .pred %p;\n"
    "  ld.param.u64 %a1, [in];\n  ld.param.u64 %a2, [out];\n"
    "  ld.param.u32 %r1, [factor];\n  ld.param.u32 %r2, [count];\n"
    "  mov.u32 %r3, %ctaid.x;\n  mov.u32 %r4, %tid.x;\n"
    "  mov.u32 %r6, %nctaid.x;\n  shl.b32 %r6, %r6, 5;\n"
    "  mad.lo.u32 %r3, %r3, 32, %r4;\n"
    "loop:\n  setp.ge.u32 %p, %r3, %r2;\n  @%p ret;\n"
    "  mul.wide.u32 %a3, %r3, 4;\n"
    "  add.u64 %a3, %a1, %a3;\n  ld.global.u32 %r5, [%a3];\n"
    "  mul.lo.u32 %r5, %r5, %r1;\n"
    "  mul.wide.u32 %a3, %r3, 4;\n"
    "  add.u64 %a3, %a2, %a3;\n  st.global.u32 [%a3], %r5;\n"
    "  add.u32 %r3, %r3, %r6;\n  bra loop;\n}\n";

static const nvfp4_kernel_entry scale = {image, "scale", 32, 0, 1, 0};
const nvfp4_kernel_entry *const nvfp4_kernels[] = {&scale, 0};

struct memref2 {
  int32_t *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
};
struct memref1 {
  int32_t *allocated, *aligned;
  int64_t offset, sizes[1], strides[1];
};

static void start(void *in, void *out, int32_t factor, int64_t count,
                  nvfp4_stream *stream) {
  int32_t extent = nvfp4_kernel_extent("chain", count);
  void *parameters[] = {&in, &out, &factor, &extent};
  nvfp4_kernel_start(&scale, "chain", (count + 31) / 32, stream, parameters);
}

/* x * factor * factor, through two buffers of which the second takes the place
 * of a third that is freed. */
void nvfp4_entry_chain(void **values) {
  const struct memref2 *x = values[0];
  int32_t factor = *(const int32_t *)values[1];
  struct memref2 *result = values[2];
  int64_t rows = x->sizes[0], count = rows * 4;
  uint64_t bytes = (uint64_t)count * 4;
  nvfp4_stream *stream = mgpuStreamCreate();
  void *unused = mgpuMemAlloc(bytes, stream, false);
  void *first = mgpuMemAlloc(bytes, stream, false);
  mgpuMemFree(unused, stream);
  void *second = mgpuMemAlloc(bytes, stream, false);
  int32_t *out = nvfp4_kernel_result("chain", 0, 4, 2, x->sizes);
  start(x->aligned + x->offset, first, factor, count, stream);
  start(first, second, factor, count, stream);
  mgpuMemcpy(out, second, bytes, stream);
  mgpuMemFree(first, stream);
  mgpuMemFree(second, stream);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
  *result = (struct memref2){out, out, 0, {rows, 4}, {4, 1}};
}

/* Entry i is 128 bytes of the value i. */
void nvfp4_entry_table(void **values) {
  struct memref2 *table = values[0];
  char entries[40][128];
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 128; ++j)
      entries[i][j] = (char)i;
  nvfp4_stream *stream = mgpuStreamCreate();
  nvfp4_kernel_write_table("table", table->aligned, entries, 40, stream);
  mgpuStreamDestroy(stream);
}

/* What code of device functions must not do, by number. */
void nvfp4_entry_misuse(void **values) {
  static int32_t host[4];
  const struct memref1 *x = values[0];
  nvfp4_stream *stream = mgpuStreamCreate();
  void *memory = 0;
  switch (*(const int32_t *)values[1]) {
  case 0: /* reads from the host */
    mgpuMemcpy(x->aligned, host, sizeof host, stream);
    break;
  case 1: /* reads back */
    mgpuMemcpy(host, x->aligned, sizeof host, stream);
    break;
  case 2: /* memory of both sides */
    memory = mgpuMemAlloc(16, stream, true);
    break;
  case 3: /* an extent that no kernel holds */
    nvfp4_kernel_extent("misuse", INT64_C(1) << 31);
    break;
  case 4: /* a check of shapes */
    nvfp4_check_equal("misuse", "label_c1", "an extent", 3, 4);
    break;
  }
  /* Nothing of this happens after an error. */
  start(x->aligned, x->aligned, 100, 4, stream);
  mgpuMemFree(memory, stream);
  mgpuStreamDestroy(stream);
}
