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
    "{\"version\":6,\"device\":\"cpu\",\"memory\":\"device\",\"functions\":["
    "{\"name\":\"chain\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1,4]},"
    "{\"kind\":\"scalar\",\"type\":\"i32\"}],"
    "\"results\":[{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1,4]}]},"
    "{\"name\":\"table\",\"arguments\":["
    "{\"kind\":\"memref\",\"type\":\"i8\",\"shape\":[40,128]},"
    "{\"kind\":\"tensor\",\"type\":\"i8\",\"shape\":[-1,8],"
    "\"role\":\"values\",\"scaled\":{\"text\":\"!s<?x16, nvfp4>\","
    "\"shape\":[-1,16],\"format\":\"nvfp4\",\"layout\":\"linear\","
    "\"starts\":\"whole\",\"axis\":1}}],\"results\":[]},"
    "{\"name\":\"checked\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1]},"
    "{\"kind\":\"scalar\",\"type\":\"i32\"}],\"results\":[]},"
    "{\"name\":\"record\",\"arguments\":["
    "{\"kind\":\"tensor\",\"type\":\"i32\",\"shape\":[-1]},"
    "{\"kind\":\"scalar\",\"type\":\"i32\"}],\"results\":[]},"
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

/* Reports an entry of up to 32 that is not in [-1, limit). */
static const char checkImage[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry check(.param .u64 x, .param .u64 record,\n"
    "                      .param .u64 check, .param .u32 count,\n"
    "                      .param .u32 limit) {\n"
    "  .reg .b64 %a<8>;\n  .reg .b32 %r<5>;\n  .reg .pred %p<3>;\n"
    "  ld.param.u64 %a1, [x];\n  ld.param.u64 %a2, [record];\n"
    "  ld.param.u64 %a3, [check];\n  ld.param.u32 %r2, [count];\n"
    "  ld.param.u32 %r3, [limit];\n  mov.u32 %r1, %tid.x;\n"
    "  setp.ge.u32 %p1, %r1, %r2;\n  @%p1 ret;\n"
    "  mul.wide.u32 %a4, %r1, 4;\n  add.u64 %a4, %a1, %a4;\n"
    "  ld.global.u32 %r4, [%a4];\n"
    "  setp.ge.s32 %p1, %r4, -1;\n  setp.lt.s32 %p2, %r4, %r3;\n"
    "  and.pred %p1, %p1, %p2;\n  @%p1 ret;\n"
    "  atom.relaxed.sys.global.cas.b64 %a5, [%a2], 0, %a3;\n"
    "  setp.ne.u64 %p1, %a5, 0;\n  @%p1 ret;\n"
    "  cvt.u64.u32 %a6, %r1;\n  st.global.u64 [%a2+16], %a6;\n"
    "  mov.u64 %a6, -1;\n  st.global.u64 [%a2+24], %a6;\n"
    "  cvt.s64.s32 %a6, %r4;\n  st.global.u64 [%a2+32], %a6;\n"
    "  cvt.s64.s32 %a6, %r3;\n  st.global.u64 [%a2+48], %a6;\n"
    "  mov.u64 %a6, 1;\n  st.release.sys.global.u64 [%a2+8], %a6;\n"
    "  ret;\n}\n";

static const nvfp4_kernel_entry scale = {image, "scale", 32, 0, 1, 0};
static const nvfp4_kernel_entry check = {checkImage, "check", 32, 0, 1, 0};
const nvfp4_kernel_entry *const nvfp4_kernels[] = {&scale, &check, 0};

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

/* Checks that `count` entries are in [-1, limit). */
static void startCheck(void *data, int64_t count, int32_t limit,
                       nvfp4_stream *stream) {
  static const nvfp4_data_check description = {
      "here", "label_c2", "ids", NVFP4_DATA_INDEX, {0, 0}};
  nvfp4_data_record *record = nvfp4_kernel_data_record("checked");
  const nvfp4_data_check *address = &description;
  int32_t extent = nvfp4_kernel_extent("checked", count);
  void *parameters[] = {&data, &record, &address, &extent, &limit};
  nvfp4_kernel_start(&check, "checked", 1, stream, parameters);
}

/* Checks that the entries of the argument are below the scalar. */
void nvfp4_entry_checked(void **values) {
  const struct memref1 *x = values[0];
  nvfp4_stream *stream = mgpuStreamCreate();
  startCheck(x->aligned + x->offset, x->sizes[0], *(const int32_t *)values[1],
             stream);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
}

/* Records a violation, by number, as kernels do. */
void nvfp4_entry_record(void **values) {
  enum { mxfp4 = 1 };
  const uint32_t minusHalf = 0xBF000000, three = 0x40400000;
  static const nvfp4_data_check checks[] = {
      {"here", "", "", NVFP4_DATA_GROUPS, {NVFP4_GROUP_ENDS, 8}},
      {"here", "", "", NVFP4_DATA_GROUPS, {NVFP4_GROUP_STARTS, 8}},
      {"here", "", "", NVFP4_DATA_GROUPS, {NVFP4_GROUP_STARTS, 8}},
      {"here", "", "", NVFP4_DATA_GROUPS, {NVFP4_GROUP_COUNTS, 1}},
      {"here", "a_c4", "rows", NVFP4_DATA_INDEX, {0, 0}},
      {"here", "b_c8", "scale", NVFP4_DATA_POSITIVE, {0, 0}},
      {"here", "", "", NVFP4_DATA_FACTOR, {mxfp4, 0}},
      {"here", "c_c9", "rows of lhs", NVFP4_DATA_ROOM, {0, 0}},
      {"here", "d_c4", "", NVFP4_DATA_WEIGHTS, {0, 0}},
      {"here", "d_c4", "", NVFP4_DATA_WEIGHTS, {13, 0}},
      {"here", "d_c4", "", NVFP4_DATA_WEIGHTS, {13, 0}}};
  /* row, column, seen, before, limit */
  const int64_t found[][5] = {
      {3, 0, 6, 5, 64},     {3, 0, 6, 5, 64},     {3, 1, 6, 5, 64},
      {3, -1, -1, 0, 64},   {5, 1, 64, 0, 64},    {0, -1, minusHalf, 0, 0},
      {2, -1, three, 0, 0}, {0, -1, 128, 0, 200}, {5, -1, 0, 0, -1},
      {5, 7, 0, 0, 2},      {-1, -1, -9, 6, 0}};
  int32_t number = *(const int32_t *)values[1];
  nvfp4_data_record *record = nvfp4_kernel_data_record("record");
  if (!record) /* a call that only measures */
    return;
  const int64_t *numbers = found[number];
  record->check = &checks[number];
  record->row = numbers[0];
  record->column = numbers[1];
  record->seen = numbers[2];
  record->before = numbers[3];
  record->limit = numbers[4];
  __atomic_store_n(&record->is_complete, 1, __ATOMIC_RELEASE);
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
  case 5: /* a check of shapes after a kernel that records a violation */
    startCheck(x->aligned, 4, 0, stream);
    /* fall through */
  case 4: /* a check of shapes */
    nvfp4_check_equal("misuse", "label_c1", "an extent", 3, 4);
    break;
  }
  /* Nothing of this happens after an error. */
  start(x->aligned, x->aligned, 100, 4, stream);
  mgpuMemFree(memory, stream);
  mgpuStreamDestroy(stream);
}
