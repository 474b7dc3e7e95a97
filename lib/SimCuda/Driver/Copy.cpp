//===- Copy.cpp - copies and fills of the stand-in driver -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies find out by the address where each side is. Copies in a stream may
// become work of a graph; the others are complete on return.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::DevicePointer;
using cuda::Result;
using cuda::Stream;

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
  sim::DeviceMemory &memory = s.deviceOf(address).memory;
  side.allocation = memory.find(address, bytes);
  if (side.allocation) {
    side.data = side.allocation->data + (address - side.allocation->address);
    return cuda::Success;
  }
  bool looksLikeDevice =
      address >= sim::globalBase && address < sim::globalBase * 2;
  if (address == 0 || looksLikeDevice || !mayBeHost)
    return s.fail(cuda::InvalidValue, std::to_string(bytes) + " bytes at " +
                                          hex(address) + ": " +
                                          memory.describe(address));
  side.data = reinterpret_cast<uint8_t *>(address);
  return cuda::Success;
}

namespace {
/// `rows` rows of `bytes`, of which one is all there is if pitches are 0.
struct Copy {
  uint64_t target, source;
  size_t bytes;
  bool targetMayBeHost = true, sourceMayBeHost = true;
  size_t rows = 1, targetPitch = 0, sourcePitch = 0;
};
} // namespace

static Result copyRow(State &s, const Copy &copy, size_t row) {
  uint64_t target = copy.target + row * copy.targetPitch;
  Side to, from;
  if (Result error = resolve(s, target, copy.bytes, copy.targetMayBeHost, to))
    return error;
  if (Result error = resolve(s, copy.source + row * copy.sourcePitch,
                             copy.bytes, copy.sourceMayBeHost, from))
    return error;
  std::memmove(to.data, from.data, copy.bytes);
  if (to.allocation)
    to.allocation->written.set(target - to.allocation->address, copy.bytes);
  return cuda::Success;
}

static Result copyNow(State &s, const Copy &copy) {
  for (size_t row = 0; copy.bytes && row < copy.rows; ++row)
    if (Result error = copyRow(s, copy, row))
      return error;
  return cuda::Success;
}

/// Memory of the host that the driver does not know.
static bool isPageable(State &s, uint64_t address) {
  bool looksLikeDevice =
      address >= sim::globalBase && address < sim::globalBase * 2;
  return !looksLikeDevice && !s.deviceOf(address).memory.find(address, 1);
}

/// A copy of what the source holds now.
static Result enqueueSnapshot(State &s, Stream stream, Copy copy) {
  if (!copy.sourceMayBeHost || copy.source == 0)
    return copyNow(s, copy); // which says why not
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  for (size_t row = 0; row < copy.rows; ++row) {
    const auto *from =
        reinterpret_cast<const uint8_t *>(copy.source + row * copy.sourcePitch);
    bytes->insert(bytes->end(), from, from + copy.bytes);
  }
  copy.source = reinterpret_cast<uint64_t>(bytes->data());
  copy.sourcePitch = copy.bytes;
  return s.enqueue(
      stream, [copy, bytes](State &s, Stream) { return copyNow(s, copy); });
}

/// A copy that is ordered in a stream.
static Result copyIn(Stream stream, const Copy &copy) try {
  Entry s;
  if (s.error)
    return s.error;
  if (!s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected a stream");
  SimStream *found = s->find(stream);
  if (s->runsTogether() && !(found && found->capture)) {
    // The host may use memory that is not pinned when the call returns.
    if (isPageable(*s, copy.target)) {
      Result error = s->finishPending();
      return error ? error : copyNow(*s, copy);
    }
    if (isPageable(*s, copy.source))
      return enqueueSnapshot(*s, stream, copy);
  }
  return s->enqueue(stream,
                    [copy](State &s, Stream) { return copyNow(s, copy); });
} catch (...) {
  return caught();
}

/// A copy that is complete on return.
static Result copyAtOnce(const char *what, const Copy &copy) try {
  Entry s(what);
  if (s.error)
    return s.error;
  Result error = s->finishPending();
  return error ? error : copyNow(*s, copy);
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemcpy(DevicePointer target, DevicePointer source,
                              size_t bytes) {
  return copyAtOnce("cuMemcpy", {target, source, bytes});
}
NVFP4_SIM_API Result cuMemcpyAsync(DevicePointer target, DevicePointer source,
                                   size_t bytes, Stream stream) {
  return copyIn(stream, {target, source, bytes});
}
NVFP4_SIM_API Result cuMemcpyHtoD_v2(DevicePointer target, const void *source,
                                     size_t bytes) {
  return copyAtOnce("cuMemcpyHtoD", {target, reinterpret_cast<uint64_t>(source),
                                     bytes, false, true});
}
NVFP4_SIM_API Result cuMemcpyHtoDAsync_v2(DevicePointer target,
                                          const void *source, size_t bytes,
                                          Stream stream) {
  return copyIn(
      stream, {target, reinterpret_cast<uint64_t>(source), bytes, false, true});
}
NVFP4_SIM_API Result cuMemcpyDtoH_v2(void *target, DevicePointer source,
                                     size_t bytes) {
  return copyAtOnce("cuMemcpyDtoH", {reinterpret_cast<uint64_t>(target), source,
                                     bytes, true, false});
}
NVFP4_SIM_API Result cuMemcpyDtoHAsync_v2(void *target, DevicePointer source,
                                          size_t bytes, Stream stream) {
  return copyIn(
      stream, {reinterpret_cast<uint64_t>(target), source, bytes, true, false});
}
NVFP4_SIM_API Result cuMemcpyDtoD_v2(DevicePointer target, DevicePointer source,
                                     size_t bytes) {
  return copyAtOnce("cuMemcpyDtoD", {target, source, bytes, false, false});
}
NVFP4_SIM_API Result cuMemcpyDtoDAsync_v2(DevicePointer target,
                                          DevicePointer source, size_t bytes,
                                          Stream stream) {
  return copyIn(stream, {target, source, bytes, false, false});
}

/// One side of a copy of rows: its first byte and whether it may be the host's.
static bool takeSide(int32_t type, const void *host, DevicePointer device,
                     size_t x, size_t y, size_t pitch, uint64_t &address,
                     bool &mayBeHost) {
  if (type != cuda::MemoryHost && type != cuda::MemoryDevice &&
      type != cuda::MemoryUnified)
    return false;
  mayBeHost = type != cuda::MemoryDevice;
  address =
      type == cuda::MemoryHost ? reinterpret_cast<uint64_t>(host) : device;
  address += y * pitch + x;
  return true;
}

NVFP4_SIM_API Result cuMemcpy2DAsync_v2(const cuda::Copy2D *given,
                                        Stream stream) {
  if (!given)
    return cuda::InvalidValue;
  Copy copy{0, 0, given->widthInBytes};
  copy.rows = given->height;
  copy.targetPitch = given->targetPitch;
  copy.sourcePitch = given->sourcePitch;
  bool isKnown =
      takeSide(given->targetType, given->targetHost, given->targetDevice,
               given->targetX, given->targetY, given->targetPitch, copy.target,
               copy.targetMayBeHost) &&
      takeSide(given->sourceType, given->sourceHost, given->sourceDevice,
               given->sourceX, given->sourceY, given->sourcePitch, copy.source,
               copy.sourceMayBeHost);
  bool fits = copy.rows < 2 || (copy.bytes <= copy.targetPitch &&
                                copy.bytes <= copy.sourcePitch);
  return isKnown && fits ? copyIn(stream, copy) : cuda::InvalidValue;
}

//===- Fills
//---------------------------------------------------------------===//

template <typename T>
static Result fillNow(State &s, DevicePointer target, T value, size_t count) {
  if (count == 0)
    return cuda::Success;
  Side to;
  if (target % sizeof(T) || count > memoryLimit / sizeof(T))
    return s.fail(cuda::InvalidValue,
                  "expected an address that is a multiple of " +
                      std::to_string(sizeof(T)) +
                      " and at most 2^33 bytes, "
                      "but got " +
                      hex(target) + " and " + std::to_string(count) +
                      " elements");
  if (Result error = resolve(s, target, count * sizeof(T), false, to))
    return error;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(to.data + i * sizeof(T), &value, sizeof(T));
  to.allocation->written.set(target - to.allocation->address,
                             count * sizeof(T));
  return cuda::Success;
}

template <typename T>
static Result fill(const char *what, DevicePointer target, T value,
                   size_t count) try {
  Entry s(what);
  if (s.error)
    return s.error;
  Result error = s->finishPending();
  return error ? error : fillNow(*s, target, value, count);
} catch (...) {
  return caught();
}

template <typename T>
static Result fillIn(Stream stream, DevicePointer target, T value,
                     size_t count) try {
  Entry s;
  if (s.error)
    return s.error;
  if (!s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected a stream");
  return s->enqueue(stream, [=](State &s, Stream) {
    return fillNow(s, target, value, count);
  });
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuMemsetD8_v2(DevicePointer target, uint8_t value,
                                   size_t count) {
  return fill("cuMemsetD8", target, value, count);
}
NVFP4_SIM_API Result cuMemsetD16_v2(DevicePointer target, uint16_t value,
                                    size_t count) {
  return fill("cuMemsetD16", target, value, count);
}
NVFP4_SIM_API Result cuMemsetD32_v2(DevicePointer target, uint32_t value,
                                    size_t count) {
  return fill("cuMemsetD32", target, value, count);
}
NVFP4_SIM_API Result cuMemsetD8Async(DevicePointer target, uint8_t value,
                                     size_t count, Stream stream) {
  return fillIn(stream, target, value, count);
}
NVFP4_SIM_API Result cuMemsetD16Async(DevicePointer target, uint16_t value,
                                      size_t count, Stream stream) {
  return fillIn(stream, target, value, count);
}
NVFP4_SIM_API Result cuMemsetD32Async(DevicePointer target, uint32_t value,
                                      size_t count, Stream stream) {
  return fillIn(stream, target, value, count);
}
