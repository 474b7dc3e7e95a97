//===- DriverApi.h - functions of a CUDA driver -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table is filled from libcuda.so.1, or from the simulator's library, which
// offers the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_DRIVERAPI_H
#define NVFP4_LIB_RUNTIME_DEVICES_DRIVERAPI_H

#include "nvfp4/Runtime/CudaDriver.h"

#include <string>
#include <string_view>

namespace nvfp4::runtime {

/// The functions that are called, as pointers. Names are those of the library
/// without the prefix `cu` and without the version.
struct DriverApi {
  template <typename... Arguments> using Call = cuda::Result (*)(Arguments...);

  Call<unsigned> init;
  Call<cuda::Result, const char **> getErrorName;
  Call<cuda::Result, const char **> getErrorString;
  Call<int *> deviceGetCount;
  Call<cuda::Device *, int> deviceGet;
  Call<char *, int, cuda::Device> deviceGetName;
  Call<size_t *, cuda::Device> deviceTotalMem;
  Call<int *, int, cuda::Device> deviceGetAttribute;
  Call<cuda::Context *, cuda::Device> primaryRetain;
  Call<cuda::Device> primaryRelease;
  Call<cuda::Context> contextPush;
  Call<cuda::Context *> contextPop;
  Call<> contextSynchronize;
  Call<cuda::Stream *, unsigned> streamCreate;
  Call<cuda::Stream> streamDestroy;
  Call<cuda::Stream> streamSynchronize;
  Call<cuda::Stream, cuda::Event, unsigned> streamWaitEvent;
  Call<cuda::Stream, int32_t *> streamIsCapturing;
  Call<cuda::Event *, unsigned> eventCreate;
  Call<cuda::Event> eventDestroy;
  Call<cuda::Event, cuda::Stream> eventRecord;
  Call<cuda::Event> eventSynchronize;
  Call<float *, cuda::Event, cuda::Event> eventElapsedTime;
  Call<cuda::DevicePointer *, size_t> memAlloc;
  Call<cuda::DevicePointer> memFree;
  Call<cuda::DevicePointer, cuda::DevicePointer, size_t, cuda::Stream>
      memcpyAsync, memcpyDtoDAsync;
  Call<const cuda::Copy2D *, cuda::Stream> memcpy2DAsync;
  Call<cuda::DevicePointer, uint8_t, size_t, cuda::Stream> memset8;
  Call<cuda::DevicePointer, uint16_t, size_t, cuda::Stream> memset16;
  Call<cuda::DevicePointer, uint32_t, size_t, cuda::Stream> memset32;
  Call<void **, size_t, unsigned> hostAlloc;
  Call<void *> hostFree;
  Call<void *, size_t, unsigned> hostRegister;
  Call<void *> hostUnregister;
  Call<cuda::Module *, const void *, unsigned, int *, void **> moduleLoadData;
  Call<cuda::Module> moduleUnload;
  Call<cuda::Function *, cuda::Module, const char *> moduleGetFunction;
  Call<cuda::DevicePointer *, size_t *, cuda::Module, const char *>
      moduleGetGlobal;
  Call<cuda::Function, int, int> functionSetAttribute;
  Call<const cuda::LaunchConfig *, cuda::Function, void **, void **>
      launchKernel;
  Call<int *, cuda::Function, int, size_t> occupancyMaxActiveBlocks;
  Call<int *, cuda::Function, const cuda::LaunchConfig *>
      occupancyMaxActiveClusters;
  Call<cuda::TensorMap *, int, uint32_t, void *, const uint64_t *,
       const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int>
      tensorMapEncodeTiled;

  /// Only the simulator has these: the text of the thread's last error, and
  /// the reports of a stream, of an event's stream or, given neither, of all.
  const char *(*simMessage)();
  const char *(*simTakeFindings)(const cuda::Stream *, cuda::Event);

  /// The functions of device `kind`, "cuda" or "sim", loaded once. Null, and
  /// `error` says why.
  static const DriverApi *get(std::string_view kind, std::string &error);
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_DRIVERAPI_H
