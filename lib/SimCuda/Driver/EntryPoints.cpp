//===- EntryPoints.cpp - entry points by name -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names without a version mean the newest one that there is.
//
//===----------------------------------------------------------------------===//

#include "../ErrorTexts.h"
#include "State.h"

#include <dlfcn.h>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Result;

/// This library, whatever name it was opened under.
static void *self() {
  static void *const handle = [] {
    Dl_info info = {};
    dladdr(reinterpret_cast<void *>(&cuGetProcAddress_v2), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return handle;
}

NVFP4_SIM_API Result cuGetProcAddress_v2(const char *symbol, void **function,
                                         int, uint64_t, int *status) try {
  constexpr int found = 0, notFound = 1;
  if (!symbol || !function)
    return cuda::InvalidValue;
  std::string name = symbol;
  *function = nullptr;
  for (const char *suffix : {"_v4", "_v3", "_v2", ""})
    if (!*function)
      *function = dlsym(self(), (name + suffix).c_str());
  if (status)
    *status = *function ? found : notFound;
  if (*function)
    return cuda::Success;
  Entry s(false);
  return s->fail(cuda::NotFound, "the simulator does not offer " + name);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuGetProcAddress(const char *symbol, void **function,
                                      int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

/// Private tables, by which NVIDIA's own runtime library drives the driver.
NVFP4_SIM_API Result cuGetExportTable(const void **table, const void *) try {
  *table = nullptr;
  Entry s(false);
  if (s->printErrors && !s->warnedOfTables)
    std::fputs("nvfp4-sim: the program holds NVIDIA's runtime library, which "
               "the simulator cannot stand in for: build it with nvcc -cudart "
               "shared\n",
               stderr);
  s->warnedOfTables = true;
  return s->fail(cuda::NotFound, "the simulator has no private tables");
} catch (...) {
  return caught();
}

//===- Errors
//--------------------------------------------------------------===//

NVFP4_SIM_API cuda::Result cuGetErrorName(cuda::Result result,
                                          const char **name) {
  const ResultText *text = textOf(result);
  if (!name)
    return cuda::InvalidValue;
  *name = text ? text->driverName : nullptr;
  return text ? cuda::Success : cuda::InvalidValue;
}

NVFP4_SIM_API cuda::Result cuGetErrorString(cuda::Result result,
                                            const char **string) {
  const ResultText *text = textOf(result);
  if (!string)
    return cuda::InvalidValue;
  *string = text ? text->text : nullptr;
  return text ? cuda::Success : cuda::InvalidValue;
}
