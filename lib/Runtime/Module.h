//===- Module.h - A loaded artefact -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The objects behind the opaque types of the C interface. These are the
// structures behind the opaque handles of nvfp4_runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_MODULE_H
#define NVFP4_LIB_RUNTIME_MODULE_H

#include "Device.h"
#include "Metadata.h"

#include <memory>
#include <vector>

/// A function: its description and the code that nvfp4-emit-entry-points made.
struct nvfp4_function {
  nvfp4::runtime::FunctionMetadata metadata;
  void (*entry)(void **values) = nullptr;
  nvfp4::runtime::Device *device = nullptr;
};

struct nvfp4_module {
  ~nvfp4_module();

  nvfp4::runtime::ModuleMetadata metadata;
  std::vector<nvfp4_function> functions;
  /// Of dlopen; null if the code belongs to somebody else.
  void *library = nullptr;
};

#endif // NVFP4_LIB_RUNTIME_MODULE_H
