//===- Stray.h - Device work outside of calls -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that the runtime did not call, such as a program of upstream's under
// mlir-runner, has nobody who hears of an error.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_STRAY_H
#define NVFP4_LIB_RUNTIME_DEVICES_STRAY_H

#include "Backend.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace nvfp4::runtime {

/// The device of NVFP4_DEVICE and of the thread's mgpuSetDefaultDevice. Devices
/// stay open until the process ends, because compiled modules are unloaded by
/// destructors of the program.
nvfp4_device *getStrayDevice() noexcept;

/// Ends the process, with `message` on standard error.
[[noreturn]] inline void refuseStray(const char *what,
                                     const std::string &message) {
  std::fflush(stdout);
  std::fprintf(stderr, "nvfp4: error: %s: %s\n", what, message.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

/// The same if `status` is an error.
inline void checkStray(nvfp4_status status, const char *what) {
  if (status != NVFP4_OK)
    refuseStray(what, nvfp4_last_error());
}

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_STRAY_H
