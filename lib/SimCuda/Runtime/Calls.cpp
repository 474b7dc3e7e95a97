//===- Calls.cpp - the runtime API over the driver API ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices, memory, streams and events: what the stand-in driver does not
// already do the same way under another name.
//
//===----------------------------------------------------------------------===//

#include "Registry.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Event;
using cuda::Stream;

static cuda::DevicePointer addressOf(const void *pointer) {
  return reinterpret_cast<cuda::DevicePointer>(pointer);
}

//===- Devices
//-------------------------------------------------------------===//

NVFP4_SIM_API Error cudaGetDeviceCount(int *count) {
  return viaDriver([&] { return cuDeviceGetCount(count); });
}
NVFP4_SIM_API Error cudaGetDevice(int *device) {
  return viaDriver([&] { return cuCtxGetDevice(device); });
}
NVFP4_SIM_API Error cudaSetDevice(int device) {
  return viaDriver([&]() -> Error {
    cuda::Context context = nullptr;
    if (Error error = cuDevicePrimaryCtxRetain(&context, device))
      return error;
    return cuCtxSetCurrent(context);
  });
}
NVFP4_SIM_API Error cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}
NVFP4_SIM_API Error cudaSetDeviceFlags(unsigned) { return cuda::Success; }
NVFP4_SIM_API Error cudaGetDeviceFlags(unsigned *flags) {
  *flags = 0;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaDeviceGetAttribute(int *value, int attribute,
                                           int device) {
  return viaDriver(
      [&] { return cuDeviceGetAttribute(value, attribute, device); });
}
NVFP4_SIM_API Error cudaDeviceSynchronize() {
  return viaDriver([] { return cuCtxSynchronize(); });
}
NVFP4_SIM_API Error cudaDeviceReset() { return cuda::Success; }
NVFP4_SIM_API Error cudaDeviceSetLimit(int, size_t) { return cuda::Success; }
NVFP4_SIM_API Error cudaDeviceGetLimit(size_t *value, int) {
  *value = 0;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaDeviceSetCacheConfig(int) { return cuda::Success; }
NVFP4_SIM_API Error cudaDeviceGetStreamPriorityRange(int *least,
                                                     int *greatest) {
  *least = *greatest = 0;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  return viaDriver([&] { return cuDeviceCanAccessPeer(can, device, peer); });
}
/// Calls `function` with the context of `device`.
template <typename Function>
static Error withContextOf(int device, Function function) {
  return viaDriver([&]() -> Error {
    cuda::Context context = nullptr;
    if (Error error = cuDevicePrimaryCtxRetain(&context, device))
      return error;
    return function(context);
  });
}
NVFP4_SIM_API Error cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return withContextOf(peer, [&](cuda::Context context) {
    return cuCtxEnablePeerAccess(context, flags);
  });
}
NVFP4_SIM_API Error cudaDeviceDisablePeerAccess(int peer) {
  return withContextOf(peer, [](cuda::Context context) {
    return cuCtxDisablePeerAccess(context);
  });
}
NVFP4_SIM_API Error cudaDriverGetVersion(int *version) {
  return cuDriverGetVersion(version);
}
NVFP4_SIM_API Error cudaRuntimeGetVersion(int *version) {
  *version = NVFP4_CUDART_VERSION * 1000;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaProfilerStart() { return cuda::Success; }
NVFP4_SIM_API Error cudaProfilerStop() { return cuda::Success; }

/// Fills a cudaDeviceProp, whose fields moved with version 13.
static Error properties(char *properties, int device, bool version13) {
  return viaDriver([&]() -> Error {
    std::memset(properties, 0, version13 ? 1008 : 1032);
    if (Error error = cuDeviceGetName(properties, 256, device))
      return error;
    auto put = [&](auto value, size_t before13, size_t since13) {
      std::memcpy(properties + (version13 ? since13 : before13), &value,
                  sizeof value);
    };
    auto attribute = [&](int number) {
      int value = 0;
      cuDeviceGetAttribute(&value, number, device);
      return value;
    };
    size_t total = 0;
    cuDeviceTotalMem_v2(&total, device);
    put(total, 288, 288);
    put(size_t(attribute(8)), 296, 296);  // sharedMemPerBlock
    put(attribute(12), 304, 304);         // regsPerBlock
    put(attribute(10), 308, 308);         // warpSize
    put(size_t(attribute(11)), 312, 312); // memPitch
    for (int i = 0; i < 4; ++i)           // maxThreadsPerBlock, -Dim
      put(attribute(1 + i), 320u + 4u * unsigned(i), 320u + 4u * unsigned(i));
    for (int i = 0; i < 3; ++i) // maxGridSize
      put(attribute(5 + i), 336u + 4u * unsigned(i), 336u + 4u * unsigned(i));
    put(size_t(attribute(9)), 352, 352); // totalConstMem
    put(attribute(75), 360, 360);        // major, minor
    put(attribute(76), 364, 364);
    put(size_t(attribute(14)), 368, 368);  // textureAlignment
    put(size_t(attribute(51)), 376, 376);  // texturePitchAlignment
    put(attribute(16), 388, 384);          // multiProcessorCount
    put(attribute(19), 400, 392);          // canMapHostMemory
    put(attribute(31), 576, 560);          // concurrentKernels
    put(attribute(40), 600, 584);          // asyncEngineCount
    put(attribute(41), 604, 588);          // unifiedAddressing
    put(attribute(38), 616, 596);          // l2CacheSize
    put(attribute(39), 624, 604);          // maxThreadsPerMultiProcessor
    put(attribute(78), 628, 608);          // streamPrioritiesSupported
    put(size_t(attribute(81)), 640, 624);  // sharedMemPerMultiprocessor
    put(attribute(82), 648, 632);          // regsPerMultiprocessor
    put(attribute(83), 652, 636);          // managedMemory
    put(attribute(95), 688, 668);          // cooperativeLaunch
    put(size_t(attribute(97)), 696, 672);  // sharedMemPerBlockOptin
    put(attribute(106), 712, 688);         // maxBlocksPerMultiProcessor
    put(size_t(attribute(111)), 720, 696); // reservedSharedMemPerBlock
    put(attribute(99), 728, 704);          // hostRegisterSupported
    put(attribute(115), 744, 720);         // memoryPoolsSupported
    put(attribute(120), 772, 748);         // clusterLaunch
    return cuda::Success;
  });
}
NVFP4_SIM_API Error cudaGetDeviceProperties(char *result, int device) {
  return properties(result, device, NVFP4_CUDART_VERSION >= 13);
}
NVFP4_SIM_API Error cudaGetDeviceProperties_v2(char *result, int device) {
  return properties(result, device, NVFP4_CUDART_VERSION >= 13);
}

//===- Memory
//--------------------------------------------------------------===//

NVFP4_SIM_API Error cudaMalloc(void **pointer, size_t bytes) {
  return viaDriver([&]() -> Error {
    *pointer = nullptr;
    if (bytes == 0)
      return cuda::Success;
    cuda::DevicePointer address = 0;
    Error error = cuMemAlloc_v2(&address, bytes);
    *pointer = reinterpret_cast<void *>(address);
    return error;
  });
}
NVFP4_SIM_API Error cudaMallocAsync(void **pointer, size_t bytes, Stream) {
  return cudaMalloc(pointer, bytes);
}
NVFP4_SIM_API Error cudaMallocPitch(void **pointer, size_t *pitch, size_t width,
                                    size_t height) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    Error error = cuMemAllocPitch_v2(&address, pitch, width, height, 4);
    *pointer = reinterpret_cast<void *>(address);
    return error;
  });
}
NVFP4_SIM_API Error cudaMallocManaged(void **pointer, size_t bytes,
                                      unsigned flags) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    Error error = cuMemAllocManaged(&address, bytes, flags);
    *pointer = reinterpret_cast<void *>(address);
    return error;
  });
}
NVFP4_SIM_API Error cudaFree(void *pointer) {
  return viaDriver([&] { return cuMemFree_v2(addressOf(pointer)); });
}
NVFP4_SIM_API Error cudaFreeAsync(void *pointer, Stream) {
  return cudaFree(pointer);
}
NVFP4_SIM_API Error cudaHostAlloc(void **pointer, size_t bytes,
                                  unsigned flags) {
  return viaDriver([&] { return cuMemHostAlloc(pointer, bytes, flags); });
}
NVFP4_SIM_API Error cudaMallocHost(void **pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, 0);
}
NVFP4_SIM_API Error cudaFreeHost(void *pointer) {
  return viaDriver([&] { return cuMemFreeHost(pointer); });
}
NVFP4_SIM_API Error cudaHostRegister(void *pointer, size_t bytes,
                                     unsigned flags) {
  return viaDriver([&] { return cuMemHostRegister_v2(pointer, bytes, flags); });
}
NVFP4_SIM_API Error cudaHostUnregister(void *pointer) {
  return viaDriver([&] { return cuMemHostUnregister(pointer); });
}
NVFP4_SIM_API Error cudaHostGetDevicePointer(void **device, void *host,
                                             unsigned flags) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    Error error = cuMemHostGetDevicePointer_v2(&address, host, flags);
    *device = reinterpret_cast<void *>(address);
    return error;
  });
}
NVFP4_SIM_API Error cudaMemGetInfo(size_t *free, size_t *total) {
  return viaDriver([&] { return cuMemGetInfo_v2(free, total); });
}
NVFP4_SIM_API Error cudaMemPrefetchAsync(const void *, size_t, int, Stream) {
  return cuda::Success;
}
NVFP4_SIM_API Error cudaMemAdvise(const void *, size_t, int, int) {
  return cuda::Success;
}

namespace {
/// cudaPointerAttributes.
struct PointerAttributes {
  int type;
  int device;
  void *devicePointer;
  void *hostPointer;
  long reserved[8];
};
} // namespace

NVFP4_SIM_API Error cudaPointerGetAttributes(PointerAttributes *attributes,
                                             const void *pointer) {
  return viaDriver([&]() -> Error {
    // Version 12 has no reserved words.
    size_t size = NVFP4_CUDART_VERSION >= 13 ? sizeof *attributes : 24;
    std::memset(static_cast<void *>(attributes), 0, size);
    unsigned type = 0;
    auto *copy = const_cast<void *>(pointer);
    if (cuPointerGetAttribute(&type, 2, addressOf(pointer))) {
      attributes->type = 0; // not registered: the program's own memory
      attributes->device = -2;
      attributes->hostPointer = copy;
      return cuda::Success;
    }
    attributes->type = static_cast<int>(type);
    attributes->devicePointer = copy;
    attributes->hostPointer = type == 1 ? copy : nullptr;
    return cuda::Success;
  });
}

NVFP4_SIM_API Error cudaMemcpy(void *to, const void *from, size_t count, int) {
  return viaDriver(
      [&] { return cuMemcpy(addressOf(to), addressOf(from), count); });
}
NVFP4_SIM_API Error cudaMemcpyAsync(void *to, const void *from, size_t count,
                                    int, Stream stream) {
  return viaDriver([&] {
    return cuMemcpyAsync(addressOf(to), addressOf(from), count, stream);
  });
}
NVFP4_SIM_API Error cudaMemcpyPeer(void *to, int toDevice, const void *from,
                                   int fromDevice, size_t count) {
  return withContextOf(toDevice, [&](cuda::Context target) {
    return withContextOf(fromDevice, [&](cuda::Context source) {
      return cuMemcpyPeer(addressOf(to), target, addressOf(from), source,
                          count);
    });
  });
}
NVFP4_SIM_API Error cudaMemcpyPeerAsync(void *to, int toDevice,
                                        const void *from, int fromDevice,
                                        size_t count, Stream stream) {
  return withContextOf(toDevice, [&](cuda::Context target) {
    return withContextOf(fromDevice, [&](cuda::Context source) {
      return cuMemcpyPeerAsync(addressOf(to), target, addressOf(from), source,
                               count, stream);
    });
  });
}
NVFP4_SIM_API Error cudaMemcpy2D(void *to, size_t toPitch, const void *from,
                                 size_t fromPitch, size_t width, size_t height,
                                 int kind) {
  if (width > toPitch || width > fromPitch)
    return remember(cuda::InvalidPitch);
  for (size_t row = 0; row < height; ++row)
    if (Error error = cudaMemcpy(
            static_cast<char *>(to) + row * toPitch,
            static_cast<const char *>(from) + row * fromPitch, width, kind))
      return error;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaMemcpy2DAsync(void *to, size_t toPitch,
                                      const void *from, size_t fromPitch,
                                      size_t width, size_t height, int,
                                      Stream stream) {
  if (width > toPitch || width > fromPitch)
    return remember(cuda::InvalidPitch);
  cuda::Copy2D copy{};
  copy.sourceType = copy.targetType = cuda::MemoryUnified;
  copy.sourceDevice = addressOf(from);
  copy.targetDevice = addressOf(to);
  copy.sourcePitch = fromPitch;
  copy.targetPitch = toPitch;
  copy.widthInBytes = width;
  copy.height = height;
  return viaDriver([&] { return cuMemcpy2DAsync_v2(&copy, stream); });
}
NVFP4_SIM_API Error cudaMemset(void *to, int value, size_t count) {
  return viaDriver([&] {
    return cuMemsetD8_v2(addressOf(to), static_cast<uint8_t>(value), count);
  });
}
NVFP4_SIM_API Error cudaMemsetAsync(void *to, int value, size_t count,
                                    Stream stream) {
  return viaDriver([&] {
    return cuMemsetD8Async(addressOf(to), static_cast<uint8_t>(value), count,
                           stream);
  });
}
NVFP4_SIM_API Error cudaMemset2D(void *to, size_t pitch, int value,
                                 size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row)
    if (Error error =
            cudaMemset(static_cast<char *>(to) + row * pitch, value, width))
      return error;
  return cuda::Success;
}

//===- Streams and events
//--------------------------------------------------===//

NVFP4_SIM_API Error cudaStreamCreateWithFlags(Stream *stream, unsigned flags) {
  return viaDriver([&] { return cuStreamCreate(stream, flags); });
}
NVFP4_SIM_API Error cudaStreamCreate(Stream *stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}
NVFP4_SIM_API Error cudaStreamCreateWithPriority(Stream *stream, unsigned flags,
                                                 int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
NVFP4_SIM_API Error cudaStreamDestroy(Stream stream) {
  return viaDriver([&] { return cuStreamDestroy_v2(stream); });
}
NVFP4_SIM_API Error cudaStreamSynchronize(Stream stream) {
  return viaDriver([&] { return cuStreamSynchronize(stream); });
}
NVFP4_SIM_API Error cudaStreamQuery(Stream stream) {
  return cudaStreamSynchronize(stream);
}
NVFP4_SIM_API Error cudaStreamWaitEvent(Stream stream, Event event,
                                        unsigned flags) {
  return viaDriver([&] { return cuStreamWaitEvent(stream, event, flags); });
}
NVFP4_SIM_API Error cudaStreamGetFlags(Stream, unsigned *flags) {
  *flags = 0;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaStreamGetPriority(Stream, int *priority) {
  *priority = 0;
  return cuda::Success;
}
NVFP4_SIM_API Error cudaStreamIsCapturing(Stream stream, int *status) {
  return viaDriver([&] { return cuStreamIsCapturing(stream, status); });
}
NVFP4_SIM_API Error cudaStreamBeginCapture(Stream stream, int mode) {
  return viaDriver([&] { return cuStreamBeginCapture_v2(stream, mode); });
}
NVFP4_SIM_API Error cudaStreamEndCapture(Stream stream, cuda::Graph *graph) {
  return viaDriver([&] { return cuStreamEndCapture(stream, graph); });
}
NVFP4_SIM_API Error cudaGraphInstantiateWithFlags(cuda::GraphExec *executable,
                                                  cuda::Graph graph,
                                                  unsigned long long flags) {
  return viaDriver(
      [&] { return cuGraphInstantiateWithFlags(executable, graph, flags); });
}
NVFP4_SIM_API Error cudaGraphInstantiate(cuda::GraphExec *executable,
                                         cuda::Graph graph,
                                         unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
NVFP4_SIM_API Error cudaGraphLaunch(cuda::GraphExec executable, Stream stream) {
  return viaDriver([&] { return cuGraphLaunch(executable, stream); });
}
NVFP4_SIM_API Error cudaGraphExecDestroy(cuda::GraphExec executable) {
  return viaDriver([&] { return cuGraphExecDestroy(executable); });
}
NVFP4_SIM_API Error cudaGraphDestroy(cuda::Graph graph) {
  return viaDriver([&] { return cuGraphDestroy(graph); });
}
NVFP4_SIM_API Error cudaLaunchHostFunc(Stream stream, void (*function)(void *),
                                       void *data) {
  return viaDriver([&] { return cuLaunchHostFunc(stream, function, data); });
}
NVFP4_SIM_API Error cudaStreamAddCallback(Stream stream,
                                          void (*function)(Stream, Error,
                                                           void *),
                                          void *data, unsigned) {
  function(stream, cudaStreamSynchronize(stream), data);
  return cuda::Success;
}

NVFP4_SIM_API Error cudaEventCreateWithFlags(Event *event, unsigned flags) {
  return viaDriver([&] { return cuEventCreate(event, flags); });
}
NVFP4_SIM_API Error cudaEventCreate(Event *event) {
  return cudaEventCreateWithFlags(event, 0);
}
NVFP4_SIM_API Error cudaEventDestroy(Event event) {
  return viaDriver([&] { return cuEventDestroy_v2(event); });
}
NVFP4_SIM_API Error cudaEventRecord(Event event, Stream stream) {
  return viaDriver([&] { return cuEventRecord(event, stream); });
}
NVFP4_SIM_API Error cudaEventRecordWithFlags(Event event, Stream stream,
                                             unsigned) {
  return cudaEventRecord(event, stream);
}
NVFP4_SIM_API Error cudaEventSynchronize(Event event) {
  return viaDriver([&] { return cuEventSynchronize(event); });
}
NVFP4_SIM_API Error cudaEventQuery(Event event) {
  return viaDriver([&] { return cuEventQuery(event); });
}
NVFP4_SIM_API Error cudaEventElapsedTime(float *milliseconds, Event start,
                                         Event end) {
  return viaDriver(
      [&] { return cuEventElapsedTime_v2(milliseconds, start, end); });
}

//===- Entry points of the driver
//------------------------------------------===//

NVFP4_SIM_API Error cudaGetDriverEntryPointByVersion(const char *symbol,
                                                     void **function, unsigned,
                                                     unsigned long long,
                                                     int *status) {
  return viaDriver([&]() -> Error {
    int found = 0;
    cuGetProcAddress_v2(symbol, function, 0, 0, &found);
    if (status)
      *status = found;
    return cuda::Success;
  });
}
NVFP4_SIM_API Error cudaGetDriverEntryPoint(const char *symbol, void **function,
                                            unsigned long long flags,
                                            int *status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status);
}
