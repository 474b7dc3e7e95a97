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
#include <array>
#include <cstring>

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

namespace {
/// The inputs of a tensor map, in words that can be compared.
using MapKey = std::array<uint64_t, 16>;

MapKey getKey(const nvfp4_device *device, const nvfp4_tensor_map_spec &spec) {
  MapKey key = {};
  key[0] = reinterpret_cast<uintptr_t>(device);
  key[1] = reinterpret_cast<uintptr_t>(spec.address);
  key[2] = static_cast<uint64_t>(spec.type) | uint64_t{spec.rank} << 8 |
           static_cast<uint64_t>(spec.swizzle) << 16 |
           static_cast<uint64_t>(spec.l2_promotion) << 24 |
           static_cast<uint64_t>(spec.fill_nan != 0) << 32;
  std::copy_n(spec.size, 5, key.data() + 3);
  std::copy_n(spec.stride, 4, key.data() + 8);
  // Boxes and element strides are at most 256.
  for (int d = 0; d < 5; ++d) {
    key[12 + d / 3] |= uint64_t{spec.box[d]} << d % 3 * 16;
    key[14 + d / 3] |= uint64_t{spec.element_stride[d]} << d % 3 * 16;
  }
  return key;
}

/// The last maps that a thread has encoded: calls in a loop have the same ones,
/// and the driver takes about as long for a dozen of them as for a launch.
class MapCache {
public:
  struct Entry {
    MapKey key;
    alignas(64) char map[128];
  };

  Entry &getEntry(const MapKey &key) {
    if (entries.empty())
      entries.resize(kEntries);
    uint64_t hash = 0;
    for (uint64_t word : key)
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return entries[hash >> (64 - kBits)];
  }

private:
  static constexpr unsigned kBits = 8, kEntries = 1u << kBits;
  std::vector<Entry> entries;
};
} // namespace

nvfp4_status DeviceFrame::encode(const nvfp4_tensor_map_spec &spec, void *map) {
  if (nvfp4_status status = prepare())
    return status;
  thread_local MapCache cache;
  MapKey key = getKey(device->device, spec);
  MapCache::Entry &entry = cache.getEntry(key);
  // No key of a map is zero: a device has an address.
  if (entry.key != key) {
    entry.key = {};
    if (nvfp4_status status =
            ofDevice(nvfp4_tensor_map_encode(device->device, &spec, entry.map)))
      return status;
    entry.key = key;
  }
  std::memcpy(map, entry.map, sizeof entry.map);
  return NVFP4_OK;
}
