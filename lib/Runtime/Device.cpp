//===- Device.cpp - Where functions run -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the device that an artefact was made for, by the name in the
// description of the artefact.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Error.h"

using namespace nvfp4::runtime;

Device *Device::find(std::string_view name) {
  if (name == getCpuDevice().name())
    return &getCpuDevice();
  fail(NVFP4_UNSUPPORTED,
       "expected a module for device cpu, but got one for '" +
           std::string(name) + "'");
  return nullptr;
}
