/*===- driver.c - A program of the driver API -----------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * A program of the CUDA driver API with its kernel as PTX text: scales a
 * matrix that it fetches by TMA with the 64-byte swizzle, in clusters of two.
 * It asks for the driver by the library's name, as programs do.
 *
 *===------------------------------------------------------------------------===
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".extern .shared .align 128 .b8 tile[];\n"
    ".visible .global .align 4 .f32 gain = 0f40000000;\n"
    ".visible .entry scale(.param .align 64 .b8 map[128],\n"
    "                      .param .u64 out, .param .f32 bias)\n"
    "{\n"
    "  .reg .pred %p<4>;\n"
    "  .reg .b32 %r<16>;\n"
    "  .reg .f32 %f<4>;\n"
    "  .reg .b64 %rd<8>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, tile;\n"
    "  add.u32 %r3, %r2, 1024;\n"
    "  mov.u32 %r4, %cluster_ctarank;\n"
    "  shl.b32 %r5, %r4, 4;\n"
    "  setp.ne.u32 %p1, %r1, 0;\n"
    "  mov.b64 %rd1, map;\n"
    "  cvta.param.u64 %rd1, %rd1;\n"
    "  @%p1 bra started;\n"
    "  mbarrier.init.shared.b64 [%r3], 1;\n"
    "  fence.proxy.async.shared::cta;\n"
    "  mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;\n"
    "  mov.u32 %r6, 0;\n"
    "  cp.async.bulk.tensor.2d.shared::cluster.global.tile"
    ".mbarrier::complete_tx::bytes [%r2], [%rd1, {%r6, %r5}], [%r3];\n"
    "started:\n"
    "  bar.sync 0;\n"
    "wait:\n"
    "  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n"
    "  @!%p2 bra wait;\n"
    /* Thread t takes element t of the tile: row t / 16, column t % 16. The
     * swizzle moves chunk c of row r to chunk c ^ (r / 2 % 4). */
    "  shl.b32 %r7, %r1, 2;\n"
    "  shr.u32 %r8, %r7, 3;\n"
    "  and.b32 %r8, %r8, 0x30;\n"
    "  xor.b32 %r8, %r7, %r8;\n"
    "  add.u32 %r8, %r2, %r8;\n"
    "  ld.shared.f32 %f1, [%r8];\n"
    "  ld.global.f32 %f2, [gain];\n"
    "  ld.param.f32 %f3, [bias];\n"
    "  fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    "  ld.param.u64 %rd2, [out];\n"
    "  shl.b32 %r9, %r4, 10;\n"
    "  add.u32 %r9, %r9, %r7;\n"
    "  cvt.u64.u32 %rd3, %r9;\n"
    "  add.u64 %rd2, %rd2, %rd3;\n"
    "  st.global.f32 [%rd2], %f1;\n"
    "  ret;\n"
    "}\n";

typedef struct {
  uint32_t id, padding;
  uint32_t value[16];
} Attribute;
typedef struct {
  uint32_t grid[3], block[3], shared;
  void *stream;
  Attribute *attributes;
  uint32_t numAttributes;
} Config;

static void *library;

static void *entry(const char *name) {
  int (*get)(const char *, void **, int, uint64_t, int *) =
      (int (*)(const char *, void **, int, uint64_t, int *))dlsym(
          library, "cuGetProcAddress_v2");
  void *function = 0;
  int status = -1;
  if (!get || get(name, &function, 12000, 0, &status) || status != 0)
    printf("no entry point %s\n", name);
  return function;
}

#define CHECK(call)                                                            \
  do {                                                                         \
    int error = (call);                                                        \
    if (error) {                                                               \
      const char *text = "?";                                                  \
      ((int (*)(int, const char **))entry("cuGetErrorString"))(error, &text);  \
      printf("line %d: error %d: %s\n", __LINE__, error, text);                \
      return 1;                                                                \
    }                                                                          \
  } while (0)

int main(void) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    printf("no driver\n");
    return 1;
  }
  CHECK(((int (*)(unsigned))entry("cuInit"))(0));
  int device = -1;
  void *context = 0;
  CHECK(((int (*)(int *, int))entry("cuDeviceGet"))(&device, 0));
  CHECK(((int (*)(void **, int))entry("cuDevicePrimaryCtxRetain"))(&context,
                                                                   device));
  CHECK(((int (*)(void *))entry("cuCtxSetCurrent"))(context));
  int major = 0;
  CHECK(((int (*)(int *, int, int))entry("cuDeviceGetAttribute"))(&major, 75,
                                                                  device));
  printf("compute capability %d\n", major);

  void *module = 0, *function = 0;
  CHECK(((int (*)(void **, const void *))entry("cuModuleLoadData"))(&module,
                                                                    ptx));
  CHECK(((int (*)(void **, void *, const char *))entry("cuModuleGetFunction"))(
      &function, module, "scale"));
  float host[32][16];
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 16; ++j)
      host[i][j] = (float)(100 * i + j);
  uint64_t in = 0, out = 0;
  int (*alloc)(uint64_t *, size_t) =
      (int (*)(uint64_t *, size_t))entry("cuMemAlloc");
  CHECK(alloc(&in, sizeof host));
  CHECK(alloc(&out, sizeof host));
  CHECK(((int (*)(uint64_t, const void *, size_t))entry("cuMemcpyHtoD"))(
      in, host, sizeof host));

  _Alignas(64) char map[128];
  uint64_t size[2] = {16, 32}, stride[1] = {64};
  uint32_t box[2] = {16, 16}, step[2] = {1, 1};
  CHECK(((int (*)(void *, int, uint32_t, uint64_t, const uint64_t *,
                  const uint64_t *, const uint32_t *, const uint32_t *, int,
                  int, int, int))entry("cuTensorMapEncodeTiled"))(
      map, /*f32*/ 7, 2, in, size, stride, box, step, 0, /*64 bytes*/ 2, 0, 0));

  float bias = 0.5f;
  void *parameters[] = {map, &out, &bias};
  Attribute cluster = {4, 0, {2, 1, 1}};
  Config config = {{2, 1, 1}, {256, 1, 1}, 1032, 0, &cluster, 1};
  CHECK(((int (*)(const Config *, void *, void **, void **))entry(
      "cuLaunchKernelEx"))(&config, function, parameters, 0));
  CHECK(((int (*)(void))entry("cuCtxSynchronize"))());
  float back[32][16];
  CHECK(((int (*)(void *, uint64_t, size_t))entry("cuMemcpyDtoH"))(
      back, out, sizeof back));
  int wrong = 0;
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 16; ++j)
      wrong += back[i][j] != 2 * host[i][j] + 0.5f;
  printf("%d wrong\n", wrong);

  /* A fault comes back from the next call that waits. */
  uint64_t little = 0;
  CHECK(alloc(&little, 64));
  parameters[1] = &little;
  CHECK(((int (*)(const Config *, void *, void **, void **))entry(
      "cuLaunchKernelEx"))(&config, function, parameters, 0));
  int error = ((int (*)(void))entry("cuCtxSynchronize"))();
  printf("fault: %d\n", error);
  return wrong != 0;
}
