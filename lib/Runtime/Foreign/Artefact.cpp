//===- Artefact.cpp - Artefacts that other systems load ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module that is made for an artefact lives until the process ends, and so
// does the artefact: its callers keep addresses in it, and no code of its own
// runs when they unload it.
//
//===----------------------------------------------------------------------===//

#include "Artefact.h"

#include "../Error.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

using namespace nvfp4::runtime;

/// Keeps the shared object of `address` loaded. Code that no shared object
/// holds, in the memory of a compiler, belongs to the caller.
static nvfp4_status keepLoaded(const void *address) {
  Dl_info info;
  link_map *object = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void **>(&object),
               RTLD_DL_LINKMAP))
    return NVFP4_OK;
  if (dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
    return NVFP4_OK;
  const char *problem = dlerror();
  return fail(NVFP4_BAD_ARTEFACT, "could not keep '" +
                                      std::string(object->l_name) +
                                      "' loaded: " + (problem ? problem : ""));
}

static void *lookup(const char *symbol, void *context) {
  for (const auto *each = static_cast<nvfp4_artefact *>(context)->symbols;
       each->name; ++each)
    if (!std::strcmp(each->name, symbol))
      return each->address;
  return nullptr;
}

nvfp4_status nvfp4::runtime::findFunction(nvfp4_artefact *artefact,
                                          const char *name,
                                          const nvfp4_function *&function) {
  static auto &mutex = *new std::mutex;
  static auto &modules = *new std::vector<std::unique_ptr<nvfp4_module>>;
  std::atomic_ref<void *> slot(artefact->module);
  void *module = slot.load(std::memory_order_acquire);
  if (!module) {
    std::lock_guard<std::mutex> lock(mutex);
    module = slot.load(std::memory_order_acquire);
    if (!module) {
      nvfp4_module *made = nullptr;
      if (nvfp4_status status =
              nvfp4_module_from_symbols(lookup, artefact, &made))
        return status;
      modules.emplace_back(made);
      if (nvfp4_status status = keepLoaded(artefact)) {
        modules.pop_back();
        return status;
      }
      module = made;
      slot.store(module, std::memory_order_release);
    }
  }
  return nvfp4_module_function(static_cast<nvfp4_module *>(module), name,
                               &function);
}

nvfp4_status nvfp4::runtime::isStreamCapturing(DLDevice place, void *stream,
                                               bool &isCapturing) {
  isCapturing = false;
  if (!stream)
    return NVFP4_OK;
  LaunchDevice *device = nullptr;
  if (nvfp4_status status = findLaunchDevice(place, device))
    return status;
  return device->device->isCapturing(static_cast<nvfp4_stream *>(stream),
                                     isCapturing);
}

nvfp4_status nvfp4::runtime::loadKernels(const nvfp4_function &function,
                                         DLDevice place, void *stream) {
  LaunchDevice *device = nullptr;
  if (nvfp4_status status = findLaunchDevice(place, device))
    return status;
  if (function.module->kernels.find(*device))
    return NVFP4_OK;
  bool isCapturing = false;
  if (nvfp4_status status = isStreamCapturing(place, stream, isCapturing))
    return status;
  if (isCapturing)
    return fail(NVFP4_INVALID_ARGUMENT,
                "'" + function.metadata.name +
                    "': expected a call before the stream captures, since the "
                    "first one on a device loads the kernels");
  return nvfp4_function_prepare(&function, place);
}
