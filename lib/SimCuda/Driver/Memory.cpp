//===- Memory.cpp - memory of the stand-in driver ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device addresses are the simulator's. Memory of the host that the driver
// allocates or registers is mapped at its own address, on every device.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstdlib>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::DevicePointer;
using cuda::Result;
using cuda::Stream;

//===- Allocation
//----------------------------------------------------------===//

NVFP4_SIM_API Result cuMemAlloc_v2(DevicePointer *address, size_t bytes) try {
  Entry s("cuMemAlloc");
  if (s.error)
    return s.error;
  if (!address || bytes == 0)
    return s->fail(cuda::InvalidValue,
                   "expected a size of at least 1 byte, but got 0");
  SimDevice &device = s->current();
  if (bytes > memoryLimit - device.memoryUsed)
    return s->fail(cuda::OutOfMemory,
                   "expected at most " +
                       std::to_string(memoryLimit - device.memoryUsed) +
                       " bytes, but got " + std::to_string(bytes));
  // First what may fail: nothing is left of an allocation that did.
  std::map<uint64_t, uint64_t> entry{{0, bytes}};
  auto node = entry.extract(entry.begin());
  *address = node.key() = device.memory.allocate(bytes);
  device.allocations.insert(std::move(node));
  device.memoryUsed += bytes;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemAllocPitch_v2(DevicePointer *address, size_t *pitch,
                                        size_t width, size_t height, unsigned) {
  if (!pitch)
    return cuda::InvalidValue;
  *pitch = (width + 511) / 512 * 512;
  if (height && *pitch > memoryLimit / height)
    return cuda::OutOfMemory;
  return cuMemAlloc_v2(address, *pitch * height);
}

/// Releases an allocation of `hostAllocations`.
static bool freeHost(State &s, void *pointer) {
  auto found = s.hostAllocations.find(pointer);
  if (found == s.hostAllocations.end())
    return false;
  for (const auto &device : s.devices)
    device->memory.free(reinterpret_cast<uint64_t>(pointer));
  s.hostAllocations.erase(found);
  std::free(pointer);
  return true;
}

NVFP4_SIM_API Result cuMemFree_v2(DevicePointer address) try {
  Entry s("cuMemFree");
  if (s.error)
    return s.error;
  if (Result error = s->finishPending())
    return error;
  if (address == 0)
    return cuda::Success;
  SimDevice &device = s->deviceOf(address);
  auto found = device.allocations.find(address);
  if (found != device.allocations.end()) {
    device.memoryUsed -= found->second;
    device.allocations.erase(found);
    device.memory.free(address);
    return cuda::Success;
  }
  if (freeHost(*s, reinterpret_cast<void *>(address)))
    return cuda::Success;
  return s->fail(cuda::InvalidValue, "expected the start of an allocation, but "
                                     "got " +
                                         hex(address));
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemAllocAsync(DevicePointer *address, size_t bytes,
                                     Stream) {
  return cuMemAlloc_v2(address, bytes);
}
NVFP4_SIM_API Result cuMemFreeAsync(DevicePointer address, Stream) {
  return cuMemFree_v2(address);
}

NVFP4_SIM_API Result cuMemHostAlloc(void **pointer, size_t bytes,
                                    unsigned) try {
  Entry s("cuMemHostAlloc");
  if (s.error)
    return s.error;
  if (!pointer || bytes == 0)
    return s->fail(cuda::InvalidValue,
                   "expected a size of at least 1 byte, but got 0");
  size_t rounded = (bytes + 4095) / 4096 * 4096;
  *pointer = rounded < bytes ? nullptr : std::aligned_alloc(4096, rounded);
  if (!*pointer)
    return s->fail(cuda::OutOfMemory,
                   "no memory for " + std::to_string(bytes) + " bytes");
  for (const auto &device : s->devices)
    device->memory.map(*pointer, bytes, "host memory");
  s->hostAllocations[*pointer] = bytes;
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuMemAllocHost_v2(void **pointer, size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}
NVFP4_SIM_API Result cuMemAllocManaged(DevicePointer *address, size_t bytes,
                                       unsigned) {
  void *pointer = nullptr;
  Result result = cuMemHostAlloc(&pointer, bytes, 0);
  *address = reinterpret_cast<DevicePointer>(pointer);
  return result;
}

NVFP4_SIM_API Result cuMemFreeHost(void *pointer) try {
  Entry s("cuMemFreeHost");
  if (s.error)
    return s.error;
  if (Result error = s->finishPending())
    return error;
  if (!pointer || freeHost(*s, pointer))
    return cuda::Success;
  return s->fail(cuda::InvalidValue,
                 "expected memory of cuMemHostAlloc, but got " +
                     hex(reinterpret_cast<uint64_t>(pointer)));
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemHostRegister_v2(void *pointer, size_t bytes,
                                          unsigned) try {
  Entry s("cuMemHostRegister");
  if (s.error)
    return s.error;
  if (!pointer || bytes == 0)
    return s->fail(cuda::InvalidValue, "expected memory of at least 1 byte");
  // All devices have the same mappings, so that the first one tells.
  bool isFree = true;
  for (const auto &device : s->devices)
    isFree =
        isFree && device->memory.map(pointer, bytes, "registered host memory");
  if (!isFree)
    return s->fail(cuda::HostMemoryAlreadyRegistered,
                   std::to_string(bytes) + " bytes at " +
                       hex(reinterpret_cast<uint64_t>(pointer)) +
                       " overlap memory that is registered already");
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemHostUnregister(void *pointer) try {
  Entry s("cuMemHostUnregister");
  if (s.error)
    return s.error;
  if (Result error = s->finishPending())
    return error;
  auto address = reinterpret_cast<uint64_t>(pointer);
  bool isRegistered = !s->hostAllocations.count(pointer) &&
                      !s->deviceOf(address).allocations.count(address);
  for (const auto &device : s->devices)
    isRegistered = isRegistered && device->memory.free(address);
  if (!isRegistered)
    return s->fail(cuda::HostMemoryNotRegistered,
                   "expected registered memory, but got " +
                       hex(reinterpret_cast<uint64_t>(pointer)));
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemHostGetDevicePointer_v2(DevicePointer *address,
                                                  void *pointer, unsigned) try {
  Entry s;
  if (s.error)
    return s.error;
  auto value = reinterpret_cast<DevicePointer>(pointer);
  if (!s->current().memory.find(value, 1))
    return s->fail(cuda::InvalidValue,
                   "expected registered memory, but got " + hex(value));
  *address = value;
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuMemHostGetFlags(unsigned *flags, void *) {
  *flags = 0;
  return cuda::Success;
}

NVFP4_SIM_API Result cuMemGetInfo_v2(size_t *free, size_t *total) try {
  Entry s;
  if (s.error)
    return s.error;
  *free = memoryLimit - s->current().memoryUsed;
  *total = memoryLimit;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemGetAddressRange_v2(DevicePointer *base, size_t *bytes,
                                             DevicePointer address) try {
  Entry s;
  if (s.error)
    return s.error;
  const sim::Allocation *found = s->deviceOf(address).memory.find(address, 1);
  if (!found)
    return s->fail(cuda::NotFound, "no allocation holds " + hex(address));
  if (base)
    *base = found->address;
  if (bytes)
    *bytes = found->size;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuPointerGetAttribute(void *value, int attribute,
                                           DevicePointer pointer) try {
  Entry s;
  if (s.error)
    return s.error;
  SimDevice &device = s->deviceOf(pointer);
  const sim::Allocation *found = device.memory.find(pointer, 1);
  if (!found)
    return s->fail(cuda::InvalidValue, "no allocation holds " + hex(pointer));
  bool host = found->storage.empty();
  switch (attribute) {
  case 2: // type: host is 1, device is 2
    *static_cast<unsigned *>(value) = host ? 1 : 2;
    return cuda::Success;
  case 3:
    *static_cast<DevicePointer *>(value) = pointer;
    return cuda::Success;
  case 4:
    if (!host)
      return s->fail(cuda::InvalidValue, hex(pointer) + " is on the device");
    *static_cast<DevicePointer *>(value) = pointer;
    return cuda::Success;
  case 7: // a number of the allocation
    *static_cast<uint64_t *>(value) = found->address;
    return cuda::Success;
  case 8: // managed
    *static_cast<unsigned *>(value) = 0;
    return cuda::Success;
  case 9: // device
    *static_cast<int *>(value) = static_cast<int>(device.ordinal);
    return cuda::Success;
  case 11:
    *static_cast<DevicePointer *>(value) = found->address;
    return cuda::Success;
  case 12:
    *static_cast<size_t *>(value) = found->size;
    return cuda::Success;
  default:
    return s->fail(cuda::NotSupported, "pointer attribute " +
                                           std::to_string(attribute) +
                                           " is not supported");
  }
} catch (...) {
  return caught();
}
