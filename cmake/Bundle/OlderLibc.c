/*===- OlderLibc.c - What older C libraries lack ------------------*- C -*-===*\
|*
|* Part of the NVFP4 project, under the Apache License v2.0 with LLVM
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* LLVM's archives ask for one function of glibc 2.36. All others are in 2.34.
|*
\*===----------------------------------------------------------------------===*/

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* Random bits, for the names of temporary files. */
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t bits;
  if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
    abort();
  return bits;
}
