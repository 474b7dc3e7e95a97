//===- DeviceFrame.cpp - Frames that work on a device -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches, copies and fills, which both frames put in their stream.
//
//===----------------------------------------------------------------------===//

#include "DeviceFrame.h"

#include "../Error.h"

#include <algorithm>

using namespace nvfp4::runtime;

/// An error of the device is no fault of an argument of the function.
static nvfp4_status ofDevice(nvfp4_status status) {
  return status == NVFP4_OK || status == NVFP4_OUT_OF_MEMORY
             ? status
             : NVFP4_DEVICE_ERROR;
}

nvfp4_status DeviceFrame::copy(const RowCopy &copy) {
  if (copy.bytes == 0 || copy.rows == 0)
    return NVFP4_OK;
  if (nvfp4_status status = prepare())
    return status;
  return ofDevice(device->device->copyRows(copy, stream));
}

nvfp4_status DeviceFrame::fill(void *target, uint32_t value, unsigned width,
                               size_t count) {
  if (nvfp4_status status = prepare())
    return status;
  return ofDevice(
      nvfp4_device_fill(device->device, target, value, width, count, stream));
}

nvfp4_status DeviceFrame::start(nvfp4_kernel *kernel, nvfp4_launch launch,
                                void *const *parameters) {
  launch.stream = stream;
  return ofDevice(nvfp4_kernel_launch(kernel, &launch, parameters));
}

nvfp4_status DeviceFrame::launch(const KernelLaunch &launch) {
  if (nvfp4_status status = prepare())
    return status;
  nvfp4_kernel *kernel = nullptr;
  if (nvfp4_status status = findKernel(launch.kernel, kernel))
    return status;
  nvfp4_launch bounded = launch.launch;
  if (launch.isPersistent) {
    int64_t slots = 0;
    if (nvfp4_status status = getMaxBlocks(*device, slots))
      return ofDevice(status);
    int64_t cluster = launch.kernel.cluster;
    slots = std::max(slots / cluster * cluster, cluster);
    bounded.grid[0] =
        static_cast<uint32_t>(std::min<int64_t>(bounded.grid[0], slots));
  }
  return start(kernel, bounded, launch.parameters);
}

nvfp4_status DeviceFrame::launchOwn(const char *name, nvfp4_launch launch,
                                    void *const *parameters) {
  if (nvfp4_status status = prepare())
    return status;
  nvfp4_kernel *kernel = nullptr;
  if (nvfp4_status status = device->findOwnKernel(name, kernel))
    return ofDevice(status);
  launch.stream = stream;
  return ofDevice(nvfp4_kernel_launch(kernel, &launch, parameters));
}

nvfp4_status DeviceFrame::encode(const nvfp4_tensor_map_spec &spec, void *map) {
  if (nvfp4_status status = prepare())
    return status;
  return ofDevice(nvfp4_tensor_map_encode(device->device, &spec, map));
}
