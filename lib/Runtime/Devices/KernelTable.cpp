//===- KernelTable.cpp - Kernels of an artefact on devices ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels with the same image share a module.
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "../Error.h"

using namespace nvfp4::runtime;

KernelTable::~KernelTable() {
  for (nvfp4_device_module *module : modules)
    nvfp4_device_module_release(module);
}

nvfp4_status KernelTable::load(nvfp4_device *device,
                               const nvfp4_kernel_entry *const *entries,
                               size_t functions) {
  std::unordered_map<const char *, nvfp4_device_module *> loaded;
  for (; entries && *entries; ++entries) {
    const nvfp4_kernel_entry &entry = **entries;
    nvfp4_device_module *&module = loaded[entry.image];
    if (!module) {
      // There is room for what has been loaded.
      modules.reserve(modules.size() + 1);
      if (nvfp4_status status =
              nvfp4_device_module_load(device, entry.image, &module))
        return status;
      modules.push_back(module);
    }
    nvfp4_kernel *kernel = nullptr;
    if (nvfp4_status status =
            nvfp4_device_module_kernel(module, entry.name, &kernel))
      return status;
    nvfp4_launch launch{};
    launch.shared_memory = static_cast<uint32_t>(entry.shared_memory);
    if (nvfp4_status status = kernel->prepare(launch))
      return status;
    kernels[&entry] = kernel;
  }
  return functions ? records->make(device, functions) : NVFP4_OK;
}

nvfp4_kernel *KernelTable::find(const nvfp4_kernel_entry &entry) const {
  auto found = kernels.find(&entry);
  return found == kernels.end() ? nullptr : found->second;
}

const KernelTable *KernelTables::find(const LaunchDevice &device) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = tables.find(&device);
  return found == tables.end() ? nullptr : found->second.get();
}

nvfp4_status KernelTables::load(const LaunchDevice &device,
                                const KernelTable *&table) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = tables.find(&device);
  if (found == tables.end()) {
    auto made = std::make_unique<KernelTable>();
    if (nvfp4_status status =
            made->load(device.device, entries, deviceFunctions))
      return status;
    found = tables.emplace(&device, std::move(made)).first;
  }
  table = found->second.get();
  return NVFP4_OK;
}
