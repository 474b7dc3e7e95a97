//===- Mgpu.cpp - functions that gpu-to-llvm calls --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's lowering of GPU host code calls functions named mgpu, which have no
// way to return an error. In a call of the runtime its frame answers them, and
// an error is the call's. Elsewhere, where upstream's library prints and goes
// on, these print and end the process: what follows would compute nonsense.
// NVFP4_DEVICE chooses the device there.
//
//===----------------------------------------------------------------------===//

#include "../Frame/CallFrame.h"
#include "Stray.h"

#include <cstdlib>
#include <map>

using namespace nvfp4::runtime;

#define MGPU_API extern "C" __attribute__((visibility("default")))

static thread_local int32_t defaultDevice = 0;

nvfp4_device *nvfp4::runtime::getStrayDevice() noexcept {
  static std::mutex mutex;
  static auto &open = *new std::map<int32_t, nvfp4_device *>;
  std::lock_guard<std::mutex> lock(mutex);
  nvfp4_device *&slot = open[defaultDevice];
  if (slot)
    return slot;
  const char *kind = std::getenv("NVFP4_DEVICE");
  std::string name = kind && *kind ? kind : "cuda";
  if (name.find(':') == std::string::npos && defaultDevice != 0)
    name += ":" + std::to_string(defaultDevice);
  checkStray(nvfp4_device_open(name.c_str(), &slot), "opening the device");
  return slot;
}

/// Asks the frame of the running call, or does `otherwise`, which returns a
/// status as well. False after an error.
template <typename Asked, typename Otherwise>
static bool perform(const char *what, Asked ask, Otherwise otherwise) noexcept {
  if (CallFrame *frame = CallFrame::current())
    return frame->attempt(what, [&] { return ask(*frame); });
  checkStray(otherwise(), what);
  return true;
}

/// Code that loads modules itself, as upstream's lowering makes it, runs in
/// frames of tools only: there is no time to load one when a graph captures.
static nvfp4_status refuseModules(CallFrame &frame) {
  return frame.refuseModules();
}

MGPU_API void mgpuSetDefaultDevice(int32_t ordinal) { defaultDevice = ordinal; }

//===- Modules and launches
//------------------------------------------------===//

MGPU_API nvfp4_device_module *mgpuModuleLoad(const void *data, size_t) {
  nvfp4_device_module *module = nullptr;
  checkStray(nvfp4_device_module_load(getStrayDevice(), data, &module),
             "loading a module");
  return module;
}

/// `data` is PTX text that ends with a zero.
MGPU_API nvfp4_device_module *mgpuModuleLoadJIT(const void *data, int32_t) {
  return mgpuModuleLoad(data, 0);
}

MGPU_API void mgpuModuleUnload(nvfp4_device_module *module) {
  nvfp4_device_module_release(module);
}

MGPU_API nvfp4_kernel *mgpuModuleGetFunction(nvfp4_device_module *module,
                                             const char *name) {
  nvfp4_kernel *kernel = nullptr;
  checkStray(nvfp4_device_module_kernel(module, name, &kernel),
             "mgpuModuleGetFunction");
  return kernel;
}

/// An extent as launches take it.
static uint32_t extent(intptr_t value) noexcept {
  if (value < 0 || value > UINT32_MAX)
    refuseStray("launch", "expected an extent of 0 to 2^32 - 1, but got " +
                              std::to_string(value));
  return static_cast<uint32_t>(value);
}

MGPU_API void mgpuLaunchClusterKernel(nvfp4_kernel *kernel, intptr_t clusterX,
                                      intptr_t clusterY, intptr_t clusterZ,
                                      intptr_t gridX, intptr_t gridY,
                                      intptr_t gridZ, intptr_t blockX,
                                      intptr_t blockY, intptr_t blockZ,
                                      int32_t sharedBytes, nvfp4_stream *stream,
                                      void **params, void **, size_t) {
  nvfp4_launch launch = {};
  launch.cluster[0] = extent(clusterX);
  launch.cluster[1] = extent(clusterY);
  launch.cluster[2] = extent(clusterZ);
  launch.grid[0] = extent(gridX);
  launch.grid[1] = extent(gridY);
  launch.grid[2] = extent(gridZ);
  launch.block[0] = extent(blockX);
  launch.block[1] = extent(blockY);
  launch.block[2] = extent(blockZ);
  launch.shared_memory = extent(sharedBytes);
  launch.stream = stream;
  auto start = [&] { return nvfp4_kernel_launch(kernel, &launch, params); };
  perform(
      "launch",
      [&](CallFrame &frame) {
        nvfp4_status status = refuseModules(frame);
        return status ? status : start();
      },
      start);
}

MGPU_API void mgpuLaunchKernel(nvfp4_kernel *kernel, intptr_t gridX,
                               intptr_t gridY, intptr_t gridZ, intptr_t blockX,
                               intptr_t blockY, intptr_t blockZ,
                               int32_t sharedBytes, nvfp4_stream *stream,
                               void **params, void **extra, size_t numParams) {
  mgpuLaunchClusterKernel(kernel, 0, 0, 0, gridX, gridY, gridZ, blockX, blockY,
                          blockZ, sharedBytes, stream, params, extra,
                          numParams);
}

//===- Streams and events
//--------------------------------------------------===//

MGPU_API nvfp4_stream *mgpuStreamCreate() {
  nvfp4_stream *stream = nullptr;
  perform(
      "mgpuStreamCreate",
      [&](CallFrame &frame) { return frame.getStream(stream); },
      [&] { return nvfp4_stream_create(getStrayDevice(), &stream); });
  return stream;
}
MGPU_API void mgpuStreamDestroy(nvfp4_stream *stream) {
  if (!CallFrame::current())
    checkStray(nvfp4_stream_destroy(getStrayDevice(), stream),
               "mgpuStreamDestroy");
}
MGPU_API void mgpuStreamSynchronize(nvfp4_stream *stream) {
  perform(
      "mgpuStreamSynchronize",
      [&](CallFrame &frame) { return frame.synchronize(); },
      [&] { return nvfp4_stream_synchronize(getStrayDevice(), stream); });
}

// The work of a frame is in one stream, which needs no events.

MGPU_API void mgpuStreamWaitEvent(nvfp4_stream *stream, nvfp4_event *event) {
  if (!CallFrame::current())
    checkStray(nvfp4_stream_wait_event(getStrayDevice(), stream, event),
               "mgpuStreamWaitEvent");
}
MGPU_API nvfp4_event *mgpuEventCreate() {
  nvfp4_event *event = nullptr;
  if (!CallFrame::current())
    checkStray(nvfp4_event_create(getStrayDevice(), 0, &event),
               "mgpuEventCreate");
  return event;
}
MGPU_API void mgpuEventDestroy(nvfp4_event *event) {
  if (!CallFrame::current())
    checkStray(nvfp4_event_destroy(getStrayDevice(), event),
               "mgpuEventDestroy");
}
MGPU_API void mgpuEventSynchronize(nvfp4_event *event) {
  perform(
      "mgpuEventSynchronize",
      [&](CallFrame &frame) { return frame.synchronize(); },
      [&] { return nvfp4_event_synchronize(getStrayDevice(), event); });
}
MGPU_API void mgpuEventRecord(nvfp4_event *event, nvfp4_stream *stream) {
  if (!CallFrame::current())
    checkStray(nvfp4_event_record(getStrayDevice(), event, stream),
               "mgpuEventRecord");
}

//===- Memory
//--------------------------------------------------------------===//

namespace {
/// Memory that both sides use (`gpu.alloc host_shared`), by address.
struct SharedMemory {
  std::mutex mutex;
  std::map<void *, bool> pointers;
};
} // namespace

static SharedMemory &sharedMemory() {
  static auto &memory = *new SharedMemory;
  return memory;
}

static nvfp4_status registerHost(void *pointer, uint64_t bytes,
                                 const char *what) noexcept {
  bool isDone = perform(
      what,
      [&](CallFrame &frame) { return frame.registerHost(pointer, bytes); },
      [&] {
        return nvfp4_device_register_host(getStrayDevice(), pointer, bytes);
      });
  return isDone ? NVFP4_OK : NVFP4_DEVICE_ERROR;
}

static void unregisterHost(void *pointer, const char *what) noexcept {
  perform(
      what, [&](CallFrame &frame) { return frame.unregisterHost(pointer); },
      [&] { return nvfp4_device_unregister_host(getStrayDevice(), pointer); });
}

MGPU_API void *mgpuMemAlloc(uint64_t bytes, nvfp4_stream *,
                            bool hostShared) noexcept {
  constexpr const char *what = "mgpuMemAlloc";
  void *pointer = nullptr;
  if (!hostShared) {
    perform(
        what, [&](CallFrame &frame) { return frame.allocate(bytes, pointer); },
        [&] {
          return bytes ? nvfp4_device_alloc(getStrayDevice(), bytes, &pointer)
                       : NVFP4_OK;
        });
    return pointer;
  }
  if (bytes == 0)
    return pointer;
  constexpr uint64_t page = 4096;
  uint64_t rounded = (bytes + page - 1) / page * page;
  pointer = rounded < bytes ? nullptr : std::aligned_alloc(page, rounded);
  if (!pointer)
    refuseStray(what, "no memory for " + std::to_string(bytes) + " bytes");
  if (registerHost(pointer, bytes, what)) {
    std::free(pointer);
    return nullptr;
  }
  SharedMemory &memory = sharedMemory();
  std::lock_guard<std::mutex> lock(memory.mutex);
  memory.pointers[pointer] = true;
  return pointer;
}

MGPU_API void mgpuMemFree(void *pointer, nvfp4_stream *) noexcept {
  constexpr const char *what = "mgpuMemFree";
  SharedMemory &memory = sharedMemory();
  bool shared;
  {
    std::lock_guard<std::mutex> lock(memory.mutex);
    shared = memory.pointers.erase(pointer) != 0;
  }
  if (!shared) {
    perform(
        what, [&](CallFrame &frame) { return frame.free(pointer); },
        [&] { return nvfp4_device_free(getStrayDevice(), pointer); });
    return;
  }
  unregisterHost(pointer, what);
  std::free(pointer);
}

MGPU_API void mgpuMemcpy(void *target, void *source, size_t bytes,
                         nvfp4_stream *stream) {
  perform(
      "mgpuMemcpy",
      [&](CallFrame &frame) { return frame.copy({target, source, bytes}); },
      [&] {
        return nvfp4_device_copy(getStrayDevice(), target, source, bytes,
                                 stream);
      });
}

static void fill(const char *what, void *target, uint32_t value, unsigned width,
                 size_t count, nvfp4_stream *stream) {
  perform(
      what,
      [&](CallFrame &frame) { return frame.fill(target, value, width, count); },
      [&] {
        return nvfp4_device_fill(getStrayDevice(), target, value, width, count,
                                 stream);
      });
}
MGPU_API void mgpuMemset32(void *target, uint32_t value, size_t count,
                           nvfp4_stream *stream) {
  fill("mgpuMemset32", target, value, 4, count, stream);
}
MGPU_API void mgpuMemset16(void *target, uint16_t value, size_t count,
                           nvfp4_stream *stream) {
  fill("mgpuMemset16", target, value, 2, count, stream);
}

MGPU_API void mgpuMemHostRegister(void *pointer, uint64_t bytes) {
  registerHost(pointer, bytes, "mgpuMemHostRegister");
}
MGPU_API void mgpuMemHostUnregister(void *pointer) {
  unregisterHost(pointer, "mgpuMemHostUnregister");
}

namespace {
/// A ranked memref descriptor: the sizes, then the strides follow.
struct MemRef {
  char *allocated;
  char *aligned;
  int64_t offset;
  int64_t extents[];
};
} // namespace

MGPU_API void mgpuMemHostRegisterMemRef(int64_t rank, MemRef *memref,
                                        int64_t elementBytes) noexcept {
  uint64_t elements = 1;
  const int64_t *sizes = memref->extents;
  const int64_t *strides = sizes + rank;
  for (int64_t d = rank - 1; d >= 0; --d) {
    if (strides[d] != static_cast<int64_t>(elements))
      refuseStray("mgpuMemHostRegisterMemRef",
                  "expected a memref without gaps, but dimension " +
                      std::to_string(d) + " has stride " +
                      std::to_string(strides[d]) + " instead of " +
                      std::to_string(elements));
    elements *= static_cast<uint64_t>(sizes[d]);
  }
  if (elements)
    mgpuMemHostRegister(memref->aligned + memref->offset * elementBytes,
                        elements * static_cast<uint64_t>(elementBytes));
}

MGPU_API void mgpuMemHostUnregisterMemRef(int64_t, MemRef *memref,
                                          int64_t elementBytes) {
  mgpuMemHostUnregister(memref->aligned + memref->offset * elementBytes);
}

//===- Tensor maps
//---------------------------------------------------------===//

MGPU_API void
mgpuTensorMapEncodeTiled(void *map, int32_t type, uint32_t rank, void *address,
                         const uint64_t *dimensions, const uint64_t *strides,
                         const uint32_t *box, const uint32_t *elementStrides,
                         int32_t interleave, int32_t swizzle,
                         int32_t l2Promotion, int32_t fill) noexcept {
  if (interleave)
    refuseStray("mgpuTensorMapEncodeTiled",
                "interleaved tensor maps are not supported");
  nvfp4_tensor_map_spec spec = {};
  spec.type = static_cast<nvfp4_tensor_map_type>(type);
  spec.rank = rank;
  spec.address = address;
  spec.swizzle = static_cast<nvfp4_tensor_map_swizzle>(swizzle);
  spec.l2_promotion = l2Promotion;
  spec.fill_nan = fill;
  for (uint32_t d = 0; d < rank && d < 5; ++d) {
    spec.size[d] = dimensions[d];
    spec.box[d] = box[d];
    spec.element_stride[d] = elementStrides[d];
    if (d + 1 < rank && d < 4)
      spec.stride[d] = strides[d];
  }
  perform(
      "mgpuTensorMapEncodeTiled",
      [&](CallFrame &frame) { return frame.encode(spec, map); },
      [&] { return nvfp4_tensor_map_encode(getStrayDevice(), &spec, map); });
}

/// Encodes the map of a memref, whose last dimension is the innermost, to new
/// device memory, which lives as long as the call or else the process.
MGPU_API void *
mgpuTensorMapEncodeTiledMemref(int64_t rank, MemRef *memref, int32_t type,
                               int32_t interleave, int32_t swizzle,
                               int32_t l2Promotion, int32_t fill,
                               const int64_t *boxDimensions) noexcept {
  static constexpr unsigned elementBytes[] = {1, 2, 4, 4, 8, 8, 2,
                                              4, 8, 2, 4, 4, 4};
  if (rank < 1 || rank > 5 || type < 0 || type > 12)
    refuseStray("mgpuTensorMapEncodeTiledMemref",
                "expected a rank of 1 to 5 and a type of 0 to 12, but got " +
                    std::to_string(rank) + " and " + std::to_string(type));
  const int64_t *sizes = memref->extents;
  const int64_t *memrefStrides = sizes + rank;
  uint64_t dimensions[5] = {};
  uint64_t strides[5] = {};
  uint32_t box[5] = {};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  for (int64_t d = 0; d < rank; ++d) {
    int64_t from = rank - 1 - d;
    dimensions[d] = static_cast<uint64_t>(sizes[from]);
    box[d] = extent(boxDimensions[from]);
    if (d > 0)
      strides[d - 1] =
          static_cast<uint64_t>(memrefStrides[from]) * elementBytes[type];
  }
  alignas(64) char map[128];
  mgpuTensorMapEncodeTiled(
      map, type, static_cast<uint32_t>(rank),
      memref->aligned + memref->offset * elementBytes[type], dimensions,
      strides, box, elementStrides, interleave, swizzle, l2Promotion, fill);
  void *onDevice = mgpuMemAlloc(sizeof map, nullptr, /*hostShared=*/false);
  mgpuMemcpy(onDevice, map, sizeof map, nullptr);
  return onDevice;
}
