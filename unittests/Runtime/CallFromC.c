/*===- CallFromC.c - The header in a C program
 * ---------------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Compiled as C: the runtime's header must be C, and its use must read well.
 *
 *===------------------------------------------------------------------------===
 */

#include "nvfp4/Runtime/nvfp4_device.h"

/* Multiplies two rows by 3 through the function `scale` of the module at
 * `path`. Returns the status of the first step that fails. */
nvfp4_status nvfp4_test_call_from_c(const char *path, float out[4]) {
  nvfp4_module *module = NULL;
  const nvfp4_function *scale = NULL;
  float data[4] = {1.0f, 2.0f, 3.0f, 4.0f}, factor = 3.0f;
  int64_t shape[2] = {2, 2};
  DLTensor x = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor s = {&factor, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, NULL, NULL, 0};
  const DLTensor *arguments[2];
  DLManagedTensor *results[2] = {NULL, NULL};
  arguments[0] = &x;
  arguments[1] = &s;

  nvfp4_status status = nvfp4_module_load(path, &module);
  if (status == NVFP4_OK)
    status = nvfp4_module_function(module, "scale", &scale);
  if (status == NVFP4_OK)
    status = nvfp4_function_call(scale, arguments, 2, results, 2, NULL);
  if (status == NVFP4_OK)
    for (int i = 0; i < 4; ++i)
      out[i] = ((const float *)results[1]->dl_tensor.data)[i];
  for (int i = 0; i < 2; ++i)
    if (results[i])
      results[i]->deleter(results[i]);
  nvfp4_module_release(module);
  return status;
}
