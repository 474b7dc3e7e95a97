/*===- call.c - A C program that calls an artefact ----------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * call ARTEFACT: multiplies two 1 x 64 matrices of ones in NVFP4 (code 2, scale
 * 1) through the function `dot` and prints the result.
 *
 *===------------------------------------------------------------------------===
 */

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <stdio.h>
#include <string.h>

static int report(const char *step) {
  fprintf(stderr, "%s: %s\n", step, nvfp4_last_error());
  return 1;
}

int main(int argc, char **argv) {
  uint8_t values[32], scales[4];
  int64_t valuesShape[2] = {1, 32}, scalesShape[2] = {1, 4};
  DLTensor v = {values, {kDLCPU, 0}, 2, {kDLUInt, 8, 1}, valuesShape, NULL, 0};
  DLTensor s = {scales,      {kDLCPU, 0}, 2, {NVFP4_DL_FLOAT8_E4M3FN, 8, 1},
                scalesShape, NULL,        0};
  const DLTensor *arguments[4];
  nvfp4_module *module = NULL;
  const nvfp4_function *dot = NULL;
  DLManagedTensor *result = NULL;
  if (argc != 2)
    return 2;
  memset(values, 0x22, sizeof(values));
  memset(scales, 0x38, sizeof(scales));
  arguments[0] = arguments[2] = &v;
  arguments[1] = arguments[3] = &s;

  if (nvfp4_module_load(argv[1], &module))
    return report("load");
  if (nvfp4_module_function(module, "dot", &dot))
    return report("look up");
  if (nvfp4_function_call(dot, arguments, 4, &result, 1, NULL))
    return report("call");
  printf("[%d, %d] %g\n", (int)result->dl_tensor.shape[0],
         (int)result->dl_tensor.shape[1],
         (double)*(const float *)result->dl_tensor.data);
  result->deleter(result);
  nvfp4_module_release(module);
  return 0;
}
