//===- Device.cpp - the pretended devices ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices with the limits of the hardware whose PTX is run.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstdio>
#include <cstring>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Device;
using cuda::Result;

/// The value of a CUdevice_attribute; what is not listed is 0.
static int attributeOf(const State &s, int attribute) {
  switch (attribute) {
  case 1: // threads of a block, along x, y and z
  case 2:
  case 3:
    return 1024;
  case 4:
    return 64;
  case 5: // blocks of a grid
    return 2147483647;
  case 6:
  case 7:
    return 65535;
  case 8: // shared memory without opting in
    return 48 * 1024;
  case 9: // constant memory
    return 64 * 1024;
  case 10: // warp
    return 32;
  case 11: // pitch
    return 2147483647;
  case 12: // registers of a block, of a multiprocessor
  case 82:
    return 65536;
  case 13: // clock, memory clock in kHz, bus width in bits
    return clockRate;
  case 36:
    return 1'000'000;
  case 37:
    return 1024;
  case 14: // texture alignment
    return 512;
  case 51:
    return 32;
  case 16:
    return static_cast<int>(s.options.residentCtas);
  case 38: // L2 cache
    return 64 << 20;
  case 39: // threads of a multiprocessor
    return 2048;
  case 40: // copy engines
    return 1;
  case 15: // overlap, mapping, concurrency, unified addressing, priorities,
  case 19: // caches, managed memory, registered pointers, cooperative launch,
  case 31: // registration, pools, clusters, tensor maps
  case 41:
  case 78:
  case 79:
  case 80:
  case 83:
  case 89:
  case 91:
  case 95:
  case 99:
  case 115:
  case 120:
  case 127:
    return 1;
  case 75:
    return static_cast<int>(s.architecture / 10);
  case 76:
    return static_cast<int>(s.architecture % 10);
  case 81: // shared memory of a multiprocessor, of a block, reserved
    return 228 * 1024;
  case 97:
    return 227 * 1024;
  case 111:
    return 1024;
  case 106: // blocks of a multiprocessor
    return 32;
  default:
    return 0;
  }
}

NVFP4_SIM_API Result cuInit(unsigned) try {
  Entry s(false);
  if (!s->optionsError.empty())
    return s->fail(cuda::InvalidValue, "NVFP4_SIM_OPTIONS: " + s->optionsError);
  s->initialized = true;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDriverGetVersion(int *version) {
  if (!version)
    return cuda::InvalidValue;
  *version = driverVersion;
  return cuda::Success;
}

NVFP4_SIM_API Result cuDeviceGetCount(int *count) {
  if (!count)
    return cuda::InvalidValue;
  *count = static_cast<int>(state().devices.size());
  return cuda::Success;
}

Result simcuda::checkDevice(State &s, Device device) {
  if (!s.initialized)
    return s.fail(cuda::NotInitialized, "expected cuInit to be called first");
  if (device >= 0 && static_cast<size_t>(device) < s.devices.size())
    return cuda::Success;
  return s.fail(cuda::InvalidDevice, "expected a device number below " +
                                         std::to_string(s.devices.size()) +
                                         ", but got " + std::to_string(device) +
                                         "; the option --devices makes more");
}

NVFP4_SIM_API Result cuDeviceGet(Device *device, int ordinal) try {
  Entry s(false);
  if (Result error = checkDevice(*s, ordinal))
    return error;
  *device = ordinal;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDeviceGetName(char *name, int length,
                                     Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  if (!name || length < 1)
    return s->fail(cuda::InvalidValue, "expected room for a name");
  std::snprintf(name, static_cast<size_t>(length), "NVFP4 simulator (sm_%ua)",
                s->architecture);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDeviceGetUuid_v2(char *uuid, Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  std::memcpy(uuid, "nvfp4-simulator", 16);
  uuid[15] = static_cast<char>(device);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDeviceTotalMem_v2(size_t *bytes, Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  *bytes = memoryLimit;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDeviceGetAttribute(int *value, int attribute,
                                          Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  if (!value)
    return s->fail(cuda::InvalidValue, "expected a place for the value");
  *value = attributeOf(*s, attribute);
  return cuda::Success;
} catch (...) {
  return caught();
}
