//===- LaunchDevice.cpp - Devices that calls share --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device has one name, whatever it is called by: `cuda` is `cuda:0`.
//
//===----------------------------------------------------------------------===//

#include "LaunchDevice.h"

#include "../Environment.h"
#include "../Error.h"
#include "../Kernels/RuntimeKernels.h"
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
  std::string key = name ? name : set && *set ? set : "cuda";
  if (key == "cuda:0" || key == "sim:0")
    key.resize(key.size() - 2);
  LaunchDevice &slot = state.devices[key];
  if (!slot.device) {
    nvfp4_device *opened = nullptr;
    nvfp4_device_info info{};
    if (nvfp4_status status = nvfp4_device_open(name, &opened))
      return status;
    if (nvfp4_status status = nvfp4_device_query(opened, &info)) {
      nvfp4_device_release(opened);
      return status;
    }
    slot.info = info;
    slot.device = opened;
  }
  device = &slot;
  return NVFP4_OK;
}

nvfp4_status LaunchDevice::findOwnKernel(const char *name,
                                         nvfp4_kernel *&kernel) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!ownKernels)
    if (nvfp4_status status =
            nvfp4_device_module_load(device, kRuntimeKernels, &ownKernels))
      return status;
  return nvfp4_device_module_kernel(ownKernels, name, &kernel);
}

nvfp4_status nvfp4::runtime::findLaunchDevice(DLDevice place,
                                              LaunchDevice *&device) {
  const char *kind = place.device_type == kDLCUDA     ? "cuda"
                     : place.device_type == kDLExtDev ? "sim"
                                                      : nullptr;
  if (!kind)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a GPU (DLPack device type 2) or a device of the "
                "simulator (12), but got DLPack device type " +
                    std::to_string(place.device_type));
  std::string name = kind + (":" + std::to_string(place.device_id));
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return open(state, name.c_str(), device);
}

DLDevice nvfp4::runtime::getPlace(const LaunchDevice &device) {
  std::string_view kind = device.info.kind;
  return {kind == "cuda"  ? kDLCUDA
          : kind == "sim" ? kDLExtDev
                          : kDLCPU,
          device.info.ordinal};
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
