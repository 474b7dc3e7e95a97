//===- Artefact.cpp - Artefacts that other systems load ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The artefact keeps the module that was made for it, and releases it when it
// is unloaded.
//
//===----------------------------------------------------------------------===//

#include "Artefact.h"

#include "../Error.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace nvfp4::runtime;

/// Drivers may be gone when artefacts are unloaded at the end of the process.
static std::atomic<bool> isEnding{false};

/// Handlers run in the reverse of the order in which they were added. That of
/// the system that has loaded an artefact may unload it and was added before
/// the artefact's first call, which adds this one.
static void watchForTheEnd() {
  std::atexit([] { isEnding = true; });
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
      watchForTheEnd();
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

extern "C" void nvfp4_artefact_release(nvfp4_artefact *artefact) {
  if (!isEnding)
    nvfp4_module_release(static_cast<nvfp4_module *>(
        std::atomic_ref<void *>(artefact->module).exchange(nullptr)));
}
