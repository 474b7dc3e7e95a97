/*===- runtime.c - A program of the runtime API ---------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * What nvcc makes of a program of the runtime API, by hand: a fat binary with
 * one entry of plain PTX, its registration, and a launch. Linked with the
 * stand-in of either version of the library.
 *
 *===------------------------------------------------------------------------===
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".visible .const .align 4 .b8 factors[8] = {2, 0, 0, 0, 3, 0, 0, 0};\n"
    ".visible .entry combine(.param .u64 data, .param .u32 offset)\n"
    "{\n"
    "  .reg .b32 %r<8>;\n"
    "  .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  ld.param.u32 %r1, [offset];\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mul.wide.u32 %rd2, %r2, 4;\n"
    "  add.u64 %rd1, %rd1, %rd2;\n"
    "  ld.global.u32 %r3, [%rd1];\n"
    "  ld.const.u32 %r4, [factors];\n"
    "  ld.const.u32 %r5, [factors+4];\n"
    "  mul.lo.u32 %r3, %r3, %r4;\n"
    "  mad.lo.u32 %r3, %r5, %r1, %r3;\n"
    "  st.global.u32 [%rd1], %r3;\n"
    "  ret;\n"
    "}\n";

typedef struct {
  unsigned x, y, z;
} Dim3;

extern void **__cudaRegisterFatBinary(void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaUnregisterFatBinary(void **);
extern void __cudaRegisterFunction(void **, const char *, char *, const char *,
                                   int, void *, void *, void *, void *, int *);
extern void __cudaRegisterVar(void **, char *, char *, const char *, int,
                              size_t, int, int);
extern int cudaMalloc(void **, size_t);
extern int cudaFree(void *);
extern int cudaMemcpy(void *, const void *, size_t, int);
extern int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
extern int cudaLaunchKernel(const void *, Dim3, Dim3, void **, size_t, void *);
extern int cudaLaunchCooperativeKernel(const void *, Dim3, Dim3, void **,
                                       size_t, void *);
extern int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *,
                                                         int, size_t);
extern int cudaDeviceSynchronize(void);
extern int cudaGetLastError(void);
extern const char *cudaGetErrorName(int);
extern int cudaRuntimeGetVersion(int *);
extern int cudaGetDeviceProperties(void *, int);
extern int cudaGetDeviceProperties_v2(void *, int);

static _Alignas(16) struct {
  uint32_t magic;
  uint16_t version, headerSize;
  uint64_t size;
  uint16_t kind, entryVersion;
  uint32_t entryHeaderSize;
  uint64_t entrySize;
  uint32_t compressed, options;
  uint16_t minor, major;
  uint32_t architecture, unknown[2];
  uint64_t flags, zero, decoded;
  char text[(sizeof ptx + 7) / 8 * 8];
} image;
static struct {
  uint32_t magic, version;
  const void *data;
  void *unused;
} wrapper = {0x466243b1, 1, &image, 0};

static void combine(void) {}
static uint32_t factors[2];

#define CHECK(call)                                                            \
  do {                                                                         \
    int error = (call);                                                        \
    if (error) {                                                               \
      printf("line %d: %s\n", __LINE__, cudaGetErrorName(error));              \
      return 1;                                                                \
    }                                                                          \
  } while (0)

int main(void) {
  image.magic = 0xba55ed50;
  image.version = 1;
  image.headerSize = 16;
  image.kind = 1;
  image.entryVersion = 0x101;
  image.entryHeaderSize = 64;
  image.entrySize = sizeof image.text;
  image.size = 64 + image.entrySize;
  image.major = 8;
  image.architecture = 90;
  memcpy(image.text, ptx, sizeof ptx);
  void **handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, (const char *)&combine, "combine", "combine",
                         -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(handle, (char *)factors, "factors", "factors", 0, 8, 1, 0);
  __cudaRegisterFatBinaryEnd(handle);

  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version));
  _Alignas(8) char properties[2048] = {0};
  CHECK(version < 13000 ? cudaGetDeviceProperties_v2(properties, 0)
                        : cudaGetDeviceProperties(properties, 0));
  int major, multiprocessors;
  memcpy(&major, properties + 360, 4);
  memcpy(&multiprocessors, properties + (version < 13000 ? 388 : 384), 4);
  printf("version %d: %s, %d.x, %d multiprocessors\n", version, properties,
         major, multiprocessors);

  uint32_t host[32], back[32];
  for (uint32_t i = 0; i < 32; ++i)
    host[i] = i;
  void *data = 0;
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemcpy(data, host, sizeof host, 1));
  uint32_t five = 5, offset = 100;
  CHECK(cudaMemcpyToSymbol(factors, &five, 4, 4, 1));
  void *arguments[] = {&data, &offset};
  Dim3 grid = {1, 1, 1}, block = {32, 1, 1};
  CHECK(cudaLaunchKernel((const void *)&combine, grid, block, arguments, 0, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(back, data, sizeof back, 2));
  int wrong = 0;
  for (uint32_t i = 0; i < 32; ++i)
    wrong += back[i] != 2 * i + 5 * 100;
  printf("%d wrong\n", wrong);

  /* Errors of calls come back once from cudaGetLastError. */
  int error =
      cudaLaunchKernel((const void *)&main, grid, block, arguments, 0, 0);
  printf("%s\n", cudaGetErrorName(error));
  error = cudaGetLastError();
  printf("%s, then %s\n", cudaGetErrorName(error),
         cudaGetErrorName(cudaGetLastError()));

  /* All blocks of a cooperative launch run at the same time. */
  int each = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &each, (const void *)&combine, 32, 0));
  for (int more = 0; more < 2; ++more) {
    grid.x = (unsigned)(more * each * multiprocessors) + 1;
    error = cudaLaunchCooperativeKernel((const void *)&combine, grid, block,
                                        arguments, 0, 0);
    printf("%d on each: %s\n", each, cudaGetErrorName(error));
  }
  cudaGetLastError();
  grid.x = 1;

  block.x = 2048;
  error =
      cudaLaunchKernel((const void *)&combine, grid, block, arguments, 0, 0);
  printf("%s\n", cudaGetErrorName(error));
  CHECK(cudaFree(data));
  __cudaUnregisterFatBinary(handle);
  return wrong != 0;
}
