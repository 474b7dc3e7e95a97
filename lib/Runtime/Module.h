//===- Module.h - A loaded artefact -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The structures behind the opaque handles of nvfp4_runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_MODULE_H
#define NVFP4_LIB_RUNTIME_MODULE_H

#include "Device.h"
#include "Devices/KernelTable.h"
#include "Metadata.h"

#include <memory>
#include <vector>

/// A function: its description and the code that nvfp4-emit-entry-points made.
struct nvfp4_function {
  nvfp4::runtime::FunctionMetadata metadata;
  void (*entry)(void **values) = nullptr;
  nvfp4::runtime::Device *device = nullptr;
  nvfp4_module *module = nullptr;
  /// The exported handler of XLA's calls, or null.
  void *xlaHandler = nullptr;
};

struct nvfp4_module {
  ~nvfp4_module();

  nvfp4::runtime::ModuleMetadata metadata;
  std::vector<nvfp4_function> functions;
  nvfp4::runtime::KernelTables kernels;
  /// The handle of dlopen; null if the code belongs to the caller.
  void *library = nullptr;
};

#endif // NVFP4_LIB_RUNTIME_MODULE_H
