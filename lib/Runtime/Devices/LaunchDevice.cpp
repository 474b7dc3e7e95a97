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
#include "../Violation.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

using namespace nvfp4::runtime;

namespace {
struct State {
  std::mutex mutex;
  /// Of calls that name no device; nullopt stands for NVFP4_DEVICE.
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

/// The device called `name`, or for null the one that NVFP4_DEVICE says now.
static nvfp4_status open(State &state, const char *name,
                         LaunchDevice *&device) {
  const char *set = std::getenv("NVFP4_DEVICE");
  LaunchDevice &slot = state.devices[name ? name : set && *set ? set : "cuda"];
  if (!slot.device) {
    LaunchDevice opened;
    if (nvfp4_status status = nvfp4_device_open(name, &opened.device))
      return status;
    if (nvfp4_status status = nvfp4_device_query(opened.device, &opened.info)) {
      nvfp4_device_release(opened.device);
      return status;
    }
    slot = opened;
  }
  device = &slot;
  return NVFP4_OK;
}

extern "C" nvfp4_status nvfp4_launch_set_device(const char *name) try {
  State &state = getState();
  std::optional<std::string> chosen;
  if (name)
    chosen = name;
  std::lock_guard<std::mutex> lock(state.mutex);
  LaunchDevice *device = nullptr;
  // Wrong names are better told now than by the first launch, and leave the
  // device as it is.
  if (open(state, name, device))
    return NVFP4_UNSUPPORTED;
  state.name = std::move(chosen);
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4::runtime::findLaunchDevice(const char *name,
                                              LaunchDevice *&device) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (!name && state.name)
    name = state.name->c_str();
  return open(state, name, device);
}

LaunchDevice *nvfp4::runtime::getLaunchDevice() {
  nvfp4_call *call = nvfp4_call_current();
  if (call && call->device)
    return call->device;
  LaunchDevice *device = nullptr;
  return findLaunchDevice(nullptr, device) ? nullptr : device;
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

nvfp4_kernel *nvfp4::runtime::getLaunchKernel(const LaunchDevice &device,
                                              const char *image,
                                              const char *kernel) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  nvfp4_device_module *&module = state.modules[{device.device, image}];
  nvfp4_kernel *found = nullptr;
  if ((!module && nvfp4_device_module_load(device.device, image, &module)) ||
      nvfp4_device_module_kernel(module, kernel, &found))
    return nullptr;
  return found;
}
