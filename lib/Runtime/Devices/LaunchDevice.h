//===- LaunchDevice.h - Devices that calls share ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of a process share its devices, each of which is opened when it is
// first asked for and stays open.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_LAUNCHDEVICE_H
#define NVFP4_LIB_RUNTIME_DEVICES_LAUNCHDEVICE_H

#include "Backend.h"

#include <mutex>

namespace nvfp4::runtime {

/// A device that several calls use. Lives until the process ends, as compiled
/// code may be unloaded later.
struct LaunchDevice {
  nvfp4_device *device = nullptr;
  nvfp4_device_info info{};

  /// A kernel of the runtime's own (RuntimeKernels.c), loaded when one of them
  /// is first asked for.
  nvfp4_status findOwnKernel(const char *name, nvfp4_kernel *&kernel);

private:
  std::mutex mutex;
  nvfp4_device_module *ownKernels = nullptr;
};

/// The device called `name`, as nvfp4_device_open takes it. Null stands for the
/// one of nvfp4_launch_set_device, or else for NVFP4_DEVICE.
nvfp4_status findLaunchDevice(const char *name, LaunchDevice *&device);

/// The device whose memory has a tensor of DLPack's device `place`: kDLCUDA is
/// a GPU, kDLExtDev one of the simulator.
nvfp4_status findLaunchDevice(DLDevice place, LaunchDevice *&device);

/// Where tensors of the device are.
DLDevice getPlace(const LaunchDevice &device);

/// Sets `blocks` to how many a launch on `device` may have.
nvfp4_status getMaxBlocks(const LaunchDevice &device, int64_t &blocks);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_LAUNCHDEVICE_H
