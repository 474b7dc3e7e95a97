//===- DriverApi.cpp - functions of a CUDA driver ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Libraries stay open until the process ends, since drivers do not like to be
// unloaded.
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace nvfp4;
using namespace nvfp4::runtime;

/// Opens the simulator: NVFP4_SIM_LIBRARY, or next to this library, or where
/// the dynamic linker looks.
static void *openSimulator(std::string &error) {
  constexpr const char *name = "libnvfp4_sim.so.0";
  if (const char *path = std::getenv("NVFP4_SIM_LIBRARY"); path && *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      error = "NVFP4_SIM_LIBRARY: " + std::string(dlerror());
    return library;
  }
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void *>(&openSimulator), &info) &&
      info.dli_fname) {
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    path = slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  }
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    error =
        "the simulator's library is not to be found: " + std::string(dlerror());
  return library;
}

static void *openDriver(std::string &error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    error = "no CUDA driver on this machine (" + std::string(dlerror()) +
            "); the device sim runs kernels without a GPU";
  return library;
}

static bool fill(void *library, DriverApi &api, std::string &error) {
  auto find = [&](auto &field, const char *name) {
    field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(
        dlsym(library, name));
    if (!field && error.empty())
      error = "the driver has no function " + std::string(name) +
              "; CUDA 12.0 or later is needed";
  };
  find(api.init, "cuInit");
  find(api.getErrorName, "cuGetErrorName");
  find(api.getErrorString, "cuGetErrorString");
  find(api.deviceGetCount, "cuDeviceGetCount");
  find(api.deviceGet, "cuDeviceGet");
  find(api.deviceGetName, "cuDeviceGetName");
  find(api.deviceTotalMem, "cuDeviceTotalMem_v2");
  find(api.deviceGetAttribute, "cuDeviceGetAttribute");
  find(api.primaryRetain, "cuDevicePrimaryCtxRetain");
  find(api.primaryRelease, "cuDevicePrimaryCtxRelease_v2");
  find(api.contextPush, "cuCtxPushCurrent_v2");
  find(api.contextPop, "cuCtxPopCurrent_v2");
  find(api.contextSynchronize, "cuCtxSynchronize");
  find(api.streamCreate, "cuStreamCreate");
  find(api.streamDestroy, "cuStreamDestroy_v2");
  find(api.streamSynchronize, "cuStreamSynchronize");
  find(api.streamWaitEvent, "cuStreamWaitEvent");
  find(api.streamIsCapturing, "cuStreamIsCapturing");
  find(api.eventCreate, "cuEventCreate");
  find(api.eventDestroy, "cuEventDestroy_v2");
  find(api.eventRecord, "cuEventRecord");
  find(api.eventSynchronize, "cuEventSynchronize");
  find(api.eventElapsedTime, "cuEventElapsedTime");
  find(api.memAlloc, "cuMemAlloc_v2");
  find(api.memFree, "cuMemFree_v2");
  find(api.memcpyAsync, "cuMemcpyAsync");
  find(api.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  find(api.memcpy2DAsync, "cuMemcpy2DAsync_v2");
  find(api.memset8, "cuMemsetD8Async");
  find(api.memset16, "cuMemsetD16Async");
  find(api.memset32, "cuMemsetD32Async");
  find(api.hostAlloc, "cuMemHostAlloc");
  find(api.hostFree, "cuMemFreeHost");
  find(api.hostRegister, "cuMemHostRegister_v2");
  find(api.hostUnregister, "cuMemHostUnregister");
  find(api.moduleLoadData, "cuModuleLoadDataEx");
  find(api.moduleUnload, "cuModuleUnload");
  find(api.moduleGetFunction, "cuModuleGetFunction");
  find(api.moduleGetGlobal, "cuModuleGetGlobal_v2");
  find(api.functionSetAttribute, "cuFuncSetAttribute");
  find(api.launchKernel, "cuLaunchKernelEx");
  find(api.occupancyMaxActiveBlocks,
       "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(api.occupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters");
  find(api.tensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  if (!error.empty())
    return false;
  std::string ignored = "optional";
  std::swap(ignored, error);
  find(api.simMessage, "nvfp4_sim_message");
  find(api.simTakeFindings, "nvfp4_sim_take_findings");
  std::swap(ignored, error);
  return true;
}

namespace {
struct Loaded {
  DriverApi api = {};
  std::string error;
};
} // namespace

static Loaded load(bool simulator) {
  Loaded loaded;
  void *library =
      simulator ? openSimulator(loaded.error) : openDriver(loaded.error);
  if (library)
    fill(library, loaded.api, loaded.error);
  return loaded;
}

const DriverApi *DriverApi::get(std::string_view kind, std::string &error) {
  const Loaded *loaded;
  if (kind == "sim") {
    static const Loaded simulator = load(true);
    loaded = &simulator;
  } else {
    static const Loaded driver = load(false);
    loaded = &driver;
  }
  error = loaded->error;
  return error.empty() ? &loaded->api : nullptr;
}
