/*===- exit.c - Calls from what runs at exit ------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Frees at exit what it never had, as destructors of a program's variables do
 * after an error. By then the thread's own variables are gone: no call may
 * write to the memory they had, which this program has got in the meantime.
 *
 *===------------------------------------------------------------------------===
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cudaFree(void *pointer);

enum { count = 4096, bytes = 4096 };
static char *blocks[count];

static void atEnd(void) {
  for (int i = 0; i < count; ++i) {
    size_t size = 16 + 16 * (i % (bytes / 16));
    blocks[i] = malloc(size);
    memset(blocks[i], 'x', size);
  }
  int error = cudaFree((void *)0x1234);
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    size_t size = 16 + 16 * (i % (bytes / 16));
    for (size_t j = 0; j < size; ++j)
      wrong += blocks[i][j] != 'x';
  }
  printf("at exit: error %d, %d bytes changed\n", error, wrong);
}

int main(void) {
  atexit(atEnd);
  printf("before: error %d\n", cudaFree((void *)0x1234));
  return 0;
}
