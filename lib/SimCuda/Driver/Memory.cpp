//===- Memory.cpp - memory of the stand-in driver ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device addresses are the simulator's. Memory of the host that the driver
// allocates or registers is mapped at its own address. Copies find out by the
// address where each side is.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::DevicePointer;
using cuda::Result;
using cuda::Stream;

static std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

//===- Allocation
//----------------------------------------------------------===//

NVFP4_SIM_API Result cuMemAlloc_v2(DevicePointer *address, size_t bytes) try {
  Entry s;
  if (s.error)
    return s.error;
  if (!address || bytes == 0)
    return s->fail(cuda::InvalidValue,
                   "expected a size of at least 1 byte, but got 0");
  if (bytes > memoryLimit - s->memoryUsed)
    return s->fail(cuda::OutOfMemory,
                   "expected at most " +
                       std::to_string(memoryLimit - s->memoryUsed) +
                       " bytes, but got " + std::to_string(bytes));
  // First what may fail: nothing is left of an allocation that did.
  std::map<uint64_t, uint64_t> entry{{0, bytes}};
  auto node = entry.extract(entry.begin());
  *address = node.key() = s->memory.allocate(bytes);
  s->deviceAllocations.insert(std::move(node));
  s->memoryUsed += bytes;
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
  s.memory.free(reinterpret_cast<uint64_t>(pointer));
  s.hostAllocations.erase(found);
  std::free(pointer);
  return true;
}

NVFP4_SIM_API Result cuMemFree_v2(DevicePointer address) try {
  Entry s;
  if (s.error)
    return s.error;
  if (address == 0)
    return cuda::Success;
  auto found = s->deviceAllocations.find(address);
  if (found != s->deviceAllocations.end()) {
    s->memoryUsed -= found->second;
    s->deviceAllocations.erase(found);
    s->memory.free(address);
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
  Entry s;
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
  s->memory.map(*pointer, bytes, "host memory");
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
  Entry s;
  if (s.error)
    return s.error;
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
  Entry s;
  if (s.error)
    return s.error;
  if (!pointer || bytes == 0)
    return s->fail(cuda::InvalidValue, "expected memory of at least 1 byte");
  if (!s->memory.map(pointer, bytes, "registered host memory"))
    return s->fail(cuda::HostMemoryAlreadyRegistered,
                   std::to_string(bytes) + " bytes at " +
                       hex(reinterpret_cast<uint64_t>(pointer)) +
                       " overlap memory that is registered already");
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemHostUnregister(void *pointer) try {
  Entry s;
  if (s.error)
    return s.error;
  if (s->hostAllocations.count(pointer) ||
      s->deviceAllocations.count(reinterpret_cast<uint64_t>(pointer)) ||
      !s->memory.free(reinterpret_cast<uint64_t>(pointer)))
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
  if (!s->memory.find(value, 1))
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
  *free = memoryLimit - s->memoryUsed;
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
  const sim::Allocation *found = s->memory.find(address, 1);
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
  const sim::Allocation *found = s->memory.find(pointer, 1);
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
    *static_cast<int *>(value) = 0;
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

//===- Copies
//--------------------------------------------------------------===//

namespace {
/// One side of a copy.
struct Side {
  uint8_t *data = nullptr;
  sim::Allocation *allocation = nullptr;
};
} // namespace

/// Finds the bytes of [address, address + bytes): those of an allocation, or
/// of the host when `mayBeHost`.
static Result resolve(State &s, uint64_t address, size_t bytes, bool mayBeHost,
                      Side &side) {
  side.allocation = s.memory.find(address, bytes);
  if (side.allocation) {
    side.data = side.allocation->data + (address - side.allocation->address);
    return cuda::Success;
  }
  bool looksLikeDevice =
      address >= sim::globalBase && address < sim::globalBase * 2;
  if (address == 0 || looksLikeDevice || !mayBeHost)
    return s.fail(cuda::InvalidValue, std::to_string(bytes) + " bytes at " +
                                          hex(address) + ": " +
                                          s.memory.describe(address));
  side.data = reinterpret_cast<uint8_t *>(address);
  return cuda::Success;
}

static Result copy(uint64_t target, uint64_t source, size_t bytes,
                   bool targetMayBeHost, bool sourceMayBeHost) try {
  Entry s;
  if (s.error)
    return s.error;
  if (bytes == 0)
    return cuda::Success;
  Side to, from;
  if (Result error = resolve(*s, target, bytes, targetMayBeHost, to))
    return error;
  if (Result error = resolve(*s, source, bytes, sourceMayBeHost, from))
    return error;
  std::memmove(to.data, from.data, bytes);
  if (to.allocation)
    to.allocation->written.set(target - to.allocation->address, bytes);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemcpy(DevicePointer target, DevicePointer source,
                              size_t bytes) {
  return copy(target, source, bytes, true, true);
}
NVFP4_SIM_API Result cuMemcpyAsync(DevicePointer target, DevicePointer source,
                                   size_t bytes, Stream) {
  return copy(target, source, bytes, true, true);
}
NVFP4_SIM_API Result cuMemcpyHtoD_v2(DevicePointer target, const void *source,
                                     size_t bytes) {
  return copy(target, reinterpret_cast<uint64_t>(source), bytes, false, true);
}
NVFP4_SIM_API Result cuMemcpyHtoDAsync_v2(DevicePointer target,
                                          const void *source, size_t bytes,
                                          Stream) {
  return cuMemcpyHtoD_v2(target, source, bytes);
}
NVFP4_SIM_API Result cuMemcpyDtoH_v2(void *target, DevicePointer source,
                                     size_t bytes) {
  return copy(reinterpret_cast<uint64_t>(target), source, bytes, true, false);
}
NVFP4_SIM_API Result cuMemcpyDtoHAsync_v2(void *target, DevicePointer source,
                                          size_t bytes, Stream) {
  return cuMemcpyDtoH_v2(target, source, bytes);
}
NVFP4_SIM_API Result cuMemcpyDtoD_v2(DevicePointer target, DevicePointer source,
                                     size_t bytes) {
  return copy(target, source, bytes, false, false);
}
NVFP4_SIM_API Result cuMemcpyDtoDAsync_v2(DevicePointer target,
                                          DevicePointer source, size_t bytes,
                                          Stream) {
  return cuMemcpyDtoD_v2(target, source, bytes);
}

//===- Fills
//---------------------------------------------------------------===//

template <typename T>
static Result fill(DevicePointer target, T value, size_t count) try {
  Entry s;
  if (s.error)
    return s.error;
  if (count == 0)
    return cuda::Success;
  Side to;
  if (target % sizeof(T) || count > memoryLimit / sizeof(T))
    return s->fail(cuda::InvalidValue,
                   "expected an address that is a multiple of " +
                       std::to_string(sizeof(T)) +
                       " and at most 2^33 bytes, "
                       "but got " +
                       hex(target) + " and " + std::to_string(count) +
                       " elements");
  if (Result error = resolve(*s, target, count * sizeof(T), false, to))
    return error;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(to.data + i * sizeof(T), &value, sizeof(T));
  to.allocation->written.set(target - to.allocation->address,
                             count * sizeof(T));
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemsetD8_v2(DevicePointer target, uint8_t value,
                                   size_t count) {
  return fill(target, value, count);
}
NVFP4_SIM_API Result cuMemsetD16_v2(DevicePointer target, uint16_t value,
                                    size_t count) {
  return fill(target, value, count);
}
NVFP4_SIM_API Result cuMemsetD32_v2(DevicePointer target, uint32_t value,
                                    size_t count) {
  return fill(target, value, count);
}
NVFP4_SIM_API Result cuMemsetD8Async(DevicePointer target, uint8_t value,
                                     size_t count, Stream) {
  return fill(target, value, count);
}
NVFP4_SIM_API Result cuMemsetD16Async(DevicePointer target, uint16_t value,
                                      size_t count, Stream) {
  return fill(target, value, count);
}
NVFP4_SIM_API Result cuMemsetD32Async(DevicePointer target, uint32_t value,
                                      size_t count, Stream) {
  return fill(target, value, count);
}
