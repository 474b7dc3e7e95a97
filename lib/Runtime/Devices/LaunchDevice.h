//===- LaunchDevice.h - The device that tasks run on ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that launches of a process share.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHDEVICE_H
#define NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHDEVICE_H

#include "nvfp4/Runtime/nvfp4_device.h"

namespace nvfp4::runtime {

/// A device that tasks of several calls share, with the modules loaded on it.
/// Lives until the process ends, as compiled code may be unloaded later.
struct LaunchDevice {
  nvfp4_device *device = nullptr;
  nvfp4_device_info info{};
};

/// The device called `name`, opened when it is first asked for. Null stands for
/// the one of nvfp4_launch_set_device, or else for NVFP4_DEVICE.
nvfp4_status findLaunchDevice(const char *name, LaunchDevice *&device);

/// The device of the call that this thread works for, or else the one that
/// null stands for; null after an error.
LaunchDevice *getLaunchDevice();

/// Sets `blocks` to how many a launch on `device` may have.
nvfp4_status getMaxBlocks(const LaunchDevice &device, int64_t &blocks);

/// `kernel` of the module with this text on `device`; null after an error.
nvfp4_kernel *getLaunchKernel(const LaunchDevice &device, const char *image,
                              const char *kernel);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHDEVICE_H
