//===- Api.h - entry points of the stand-in driver --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver functions that the stand-in runtime library calls. Signatures are
// those of the CUDA driver with the types of CudaDriver.h.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_DRIVER_API_H
#define NVFP4_LIB_SIMCUDA_DRIVER_API_H

#include "nvfp4/Runtime/CudaDriver.h"

#define NVFP4_SIM_API extern "C" __attribute__((visibility("default")))

extern "C" {
nvfp4::cuda::Result cuInit(unsigned flags);
nvfp4::cuda::Result cuDriverGetVersion(int *version);
nvfp4::cuda::Result cuDeviceGetCount(int *count);
nvfp4::cuda::Result cuDeviceGet(nvfp4::cuda::Device *device, int ordinal);
nvfp4::cuda::Result cuDeviceGetName(char *name, int length,
                                    nvfp4::cuda::Device device);
nvfp4::cuda::Result cuDeviceTotalMem_v2(size_t *bytes,
                                        nvfp4::cuda::Device device);
nvfp4::cuda::Result cuDeviceGetAttribute(int *value, int attribute,
                                         nvfp4::cuda::Device device);
nvfp4::cuda::Result cuDevicePrimaryCtxRetain(nvfp4::cuda::Context *context,
                                             nvfp4::cuda::Device device);
nvfp4::cuda::Result cuDevicePrimaryCtxReset_v2(nvfp4::cuda::Device device);
nvfp4::cuda::Result cuCtxPushCurrent_v2(nvfp4::cuda::Context context);
nvfp4::cuda::Result cuCtxPopCurrent_v2(nvfp4::cuda::Context *context);
nvfp4::cuda::Result cuCtxSetCurrent(nvfp4::cuda::Context context);
nvfp4::cuda::Result cuCtxGetDevice(nvfp4::cuda::Device *device);
nvfp4::cuda::Result cuCtxSynchronize();
nvfp4::cuda::Result cuDeviceCanAccessPeer(int *can, nvfp4::cuda::Device device,
                                          nvfp4::cuda::Device peer);
nvfp4::cuda::Result cuCtxEnablePeerAccess(nvfp4::cuda::Context context,
                                          unsigned flags);
nvfp4::cuda::Result cuCtxDisablePeerAccess(nvfp4::cuda::Context context);
nvfp4::cuda::Result cuMemcpyPeer(nvfp4::cuda::DevicePointer target,
                                 nvfp4::cuda::Context targetContext,
                                 nvfp4::cuda::DevicePointer source,
                                 nvfp4::cuda::Context sourceContext,
                                 size_t bytes);
nvfp4::cuda::Result cuMemcpyPeerAsync(nvfp4::cuda::DevicePointer target,
                                      nvfp4::cuda::Context targetContext,
                                      nvfp4::cuda::DevicePointer source,
                                      nvfp4::cuda::Context sourceContext,
                                      size_t bytes, nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuModuleLoadData(nvfp4::cuda::Module *module,
                                     const void *image);
nvfp4::cuda::Result cuModuleUnload(nvfp4::cuda::Module module);
nvfp4::cuda::Result cuModuleGetFunction(nvfp4::cuda::Function *function,
                                        nvfp4::cuda::Module module,
                                        const char *name);
nvfp4::cuda::Result cuModuleGetGlobal_v2(nvfp4::cuda::DevicePointer *address,
                                         size_t *bytes,
                                         nvfp4::cuda::Module module,
                                         const char *name);
nvfp4::cuda::Result cuFuncSetAttribute(nvfp4::cuda::Function function,
                                       int attribute, int value);
nvfp4::cuda::Result cuFuncGetAttribute(int *value, int attribute,
                                       nvfp4::cuda::Function function);
nvfp4::cuda::Result cuMemAlloc_v2(nvfp4::cuda::DevicePointer *address,
                                  size_t bytes);
nvfp4::cuda::Result cuMemAllocPitch_v2(nvfp4::cuda::DevicePointer *address,
                                       size_t *pitch, size_t width,
                                       size_t height, unsigned element);
nvfp4::cuda::Result cuMemFree_v2(nvfp4::cuda::DevicePointer address);
nvfp4::cuda::Result cuMemAllocManaged(nvfp4::cuda::DevicePointer *address,
                                      size_t bytes, unsigned flags);
nvfp4::cuda::Result cuMemHostAlloc(void **pointer, size_t bytes,
                                   unsigned flags);
nvfp4::cuda::Result cuMemFreeHost(void *pointer);
nvfp4::cuda::Result cuMemHostRegister_v2(void *pointer, size_t bytes,
                                         unsigned flags);
nvfp4::cuda::Result cuMemHostUnregister(void *pointer);
nvfp4::cuda::Result
cuMemHostGetDevicePointer_v2(nvfp4::cuda::DevicePointer *address, void *pointer,
                             unsigned flags);
nvfp4::cuda::Result cuMemGetInfo_v2(size_t *free, size_t *total);
nvfp4::cuda::Result cuMemcpy(nvfp4::cuda::DevicePointer target,
                             nvfp4::cuda::DevicePointer source, size_t bytes);
nvfp4::cuda::Result cuMemcpyAsync(nvfp4::cuda::DevicePointer target,
                                  nvfp4::cuda::DevicePointer source,
                                  size_t bytes, nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuMemcpy2DAsync_v2(const nvfp4::cuda::Copy2D *copy,
                                       nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuMemcpyHtoD_v2(nvfp4::cuda::DevicePointer target,
                                    const void *source, size_t bytes);
nvfp4::cuda::Result
cuMemcpyDtoH_v2(void *target, nvfp4::cuda::DevicePointer source, size_t bytes);
nvfp4::cuda::Result cuMemcpyDtoD_v2(nvfp4::cuda::DevicePointer target,
                                    nvfp4::cuda::DevicePointer source,
                                    size_t bytes);
nvfp4::cuda::Result cuMemcpyDtoDAsync_v2(nvfp4::cuda::DevicePointer target,
                                         nvfp4::cuda::DevicePointer source,
                                         size_t bytes,
                                         nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuMemsetD8_v2(nvfp4::cuda::DevicePointer target,
                                  uint8_t value, size_t count);
nvfp4::cuda::Result cuMemsetD16_v2(nvfp4::cuda::DevicePointer target,
                                   uint16_t value, size_t count);
nvfp4::cuda::Result cuMemsetD32_v2(nvfp4::cuda::DevicePointer target,
                                   uint32_t value, size_t count);
nvfp4::cuda::Result cuMemsetD32Async(nvfp4::cuda::DevicePointer target,
                                     uint32_t value, size_t count,
                                     nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuMemsetD8Async(nvfp4::cuda::DevicePointer target,
                                    uint8_t value, size_t count,
                                    nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuPointerGetAttribute(void *value, int attribute,
                                          nvfp4::cuda::DevicePointer pointer);
nvfp4::cuda::Result cuStreamCreate(nvfp4::cuda::Stream *stream, unsigned flags);
nvfp4::cuda::Result cuStreamDestroy_v2(nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuStreamSynchronize(nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuStreamWaitEvent(nvfp4::cuda::Stream stream,
                                      nvfp4::cuda::Event event, unsigned flags);
nvfp4::cuda::Result cuThreadExchangeStreamCaptureMode(int32_t *mode);
nvfp4::cuda::Result cuStreamQuery(nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuStreamBeginCapture_v2(nvfp4::cuda::Stream stream,
                                            int32_t mode);
nvfp4::cuda::Result cuStreamEndCapture(nvfp4::cuda::Stream stream,
                                       nvfp4::cuda::Graph *graph);
nvfp4::cuda::Result cuStreamIsCapturing(nvfp4::cuda::Stream stream,
                                        int32_t *status);
nvfp4::cuda::Result cuLaunchHostFunc(nvfp4::cuda::Stream stream,
                                     void (*function)(void *), void *data);
nvfp4::cuda::Result
cuGraphInstantiateWithFlags(nvfp4::cuda::GraphExec *executable,
                            nvfp4::cuda::Graph graph, uint64_t flags);
nvfp4::cuda::Result cuGraphLaunch(nvfp4::cuda::GraphExec executable,
                                  nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuGraphDestroy(nvfp4::cuda::Graph graph);
nvfp4::cuda::Result cuGraphExecDestroy(nvfp4::cuda::GraphExec executable);
nvfp4::cuda::Result cuEventCreate(nvfp4::cuda::Event *event, unsigned flags);
nvfp4::cuda::Result cuEventDestroy_v2(nvfp4::cuda::Event event);
nvfp4::cuda::Result cuEventRecord(nvfp4::cuda::Event event,
                                  nvfp4::cuda::Stream stream);
nvfp4::cuda::Result cuEventQuery(nvfp4::cuda::Event event);
nvfp4::cuda::Result cuEventSynchronize(nvfp4::cuda::Event event);
nvfp4::cuda::Result cuEventElapsedTime_v2(float *milliseconds,
                                          nvfp4::cuda::Event start,
                                          nvfp4::cuda::Event end);
nvfp4::cuda::Result
cuLaunchKernel(nvfp4::cuda::Function function, unsigned gridX, unsigned gridY,
               unsigned gridZ, unsigned blockX, unsigned blockY,
               unsigned blockZ, unsigned sharedBytes,
               nvfp4::cuda::Stream stream, void **parameters, void **extra);
nvfp4::cuda::Result cuLaunchKernelEx(const nvfp4::cuda::LaunchConfig *config,
                                     nvfp4::cuda::Function function,
                                     void **parameters, void **extra);
nvfp4::cuda::Result cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, nvfp4::cuda::Function function, int blockSize,
    size_t dynamicShared);
nvfp4::cuda::Result
cuOccupancyMaxActiveClusters(int *clusters, nvfp4::cuda::Function function,
                             const nvfp4::cuda::LaunchConfig *config);
nvfp4::cuda::Result
cuTensorMapEncodeTiled(nvfp4::cuda::TensorMap *map, int type, uint32_t rank,
                       void *address, const uint64_t *dimensions,
                       const uint64_t *strides, const uint32_t *box,
                       const uint32_t *elementStrides, int interleave,
                       int swizzle, int l2Promotion, int fill);
nvfp4::cuda::Result cuGetProcAddress_v2(const char *symbol, void **function,
                                        int version, uint64_t flags,
                                        int *status);

/// Not the driver's: a program has registered this fat binary. The device is
/// one that can run it, unless --arch says which.
void nvfp4_sim_note_image(const void *image);
} // extern "C"

#endif // NVFP4_LIB_SIMCUDA_DRIVER_API_H
