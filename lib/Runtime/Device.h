//===- Device.h - Where functions run ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The properties of an artefact's device that calls need: the memory it reads,
// preparation of the calling thread, and the release of results.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICE_H
#define NVFP4_LIB_RUNTIME_DEVICE_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <string_view>

namespace nvfp4::runtime {

class Device {
public:
  virtual ~Device() = default;

  /// The name in artefacts and on command lines.
  virtual const char *name() const = 0;
  /// Where results are.
  virtual DLDevice resultPlace() const = 0;
  /// True if functions can read and write memory of `place`.
  virtual bool reaches(DLDevice place) const = 0;
  /// Called on the calling thread before each call.
  virtual nvfp4_status prepareCall(void *stream) = 0;
  /// Frees the allocation of a result.
  virtual void release(void *allocation) = 0;

  /// The device called `name`, or null with a message.
  static Device *find(std::string_view name);
};

/// The device `cpu`.
Device &getCpuDevice();

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICE_H
