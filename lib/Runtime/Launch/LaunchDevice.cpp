//===- LaunchDevice.cpp - The device that tasks run on ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules are known by their text: code of a JIT compiler may come to lie where
// other code lay before.
//
//===----------------------------------------------------------------------===//

#include "LaunchDevice.h"

#include "../Environment.h"
#include "../Error.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

using namespace nvfp4::runtime;

namespace {
struct State {
  std::mutex mutex;
  /// What was asked for; nullopt stands for NVFP4_DEVICE.
  std::optional<std::string> name;
  /// Every device that was opened, by name.
  std::map<std::string, LaunchDevice> devices;
  std::map<std::pair<nvfp4_device *, std::string>, nvfp4_device_module *>
      modules;
};
} // namespace

static State &getState() {
  static auto &state = *new State;
  return state;
}

extern "C" nvfp4_status nvfp4_launch_set_device(const char *name) try {
  State &state = getState();
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    state.name = name ? std::optional<std::string>(name) : std::nullopt;
  }
  // Wrong names are better told now than by the first launch.
  return getLaunchDevice() ? NVFP4_OK : NVFP4_UNSUPPORTED;
} catch (...) {
  return failWithException();
}

LaunchDevice *nvfp4::runtime::getLaunchDevice() {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  LaunchDevice &slot = state.devices[state.name.value_or("")];
  if (slot.device)
    return &slot;
  const char *name = state.name ? state.name->c_str() : nullptr;
  LaunchDevice opened;
  if (nvfp4_device_open(name, &opened.device))
    return nullptr;
  if (nvfp4_device_query(opened.device, &opened.info)) {
    nvfp4_device_release(opened.device);
    return nullptr;
  }
  slot = opened;
  return &slot;
}

static std::atomic<int64_t> maxBlocks{0};

extern "C" nvfp4_status nvfp4_launch_set_max_blocks(int64_t blocks) try {
  if (blocks < 0)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected 0 blocks or more, but got " + std::to_string(blocks));
  maxBlocks = blocks;
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4::runtime::getMaxBlocks(const LaunchDevice &device,
                                          int64_t &blocks) {
  blocks = maxBlocks;
  if (!blocks)
    if (nvfp4_status status = readEnvironment(
            "NVFP4_MAX_BLOCKS", "a number of blocks", 1, INT32_MAX, blocks))
      return status;
  if (!blocks)
    blocks = std::max(device.info.multiprocessors, 1);
  return NVFP4_OK;
}

nvfp4_kernel *nvfp4::runtime::getLaunchKernel(const char *image,
                                              const char *kernel) {
  LaunchDevice *device = getLaunchDevice();
  if (!device)
    return nullptr;
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  nvfp4_device_module *&module = state.modules[{device->device, image}];
  nvfp4_kernel *found = nullptr;
  if ((!module && nvfp4_device_module_load(device->device, image, &module)) ||
      nvfp4_device_module_kernel(module, kernel, &found))
    return nullptr;
  return found;
}
