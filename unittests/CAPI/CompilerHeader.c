/*===- CompilerHeader.c - The headers are C -------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Compiles the headers as C and uses them, as a program without C++ would.
 *
 *===------------------------------------------------------------------------===
 */

#include "nvfp4-c/Compiler.h"
#include "nvfp4-c/Reference.h"
#include "nvfp4-c/TensorIO.h"

int parsesFromC(const char *text, size_t length);

int parsesFromC(const char *text, size_t length) {
  Nvfp4DiagnosticSink nowhere = {NULL, NULL};
  MlirContext context = nvfp4ContextCreate();
  MlirStringRef source = {text, length}, name = {"c", 1};
  MlirModule module = nvfp4ModuleParse(context, source, name, nowhere);
  int parsed = module.ptr != NULL;
  nvfp4ModuleDestroy(module);
  nvfp4ContextDestroy(context);
  return parsed;
}
