//===- Context.cpp - contexts of the stand-in driver ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each device has one context, its primary one. A thread that has made none
// current works in the first device's.
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Context;
using cuda::Device;
using cuda::Result;

static Context contextOf(SimDevice *device) {
  return reinterpret_cast<Context>(device);
}

NVFP4_SIM_API Result cuDevicePrimaryCtxRetain(Context *context,
                                              Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  SimDevice &found = *s->devices[static_cast<size_t>(device)];
  ++found.users;
  *context = contextOf(&found);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuDevicePrimaryCtxReset_v2(Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  s->devices[static_cast<size_t>(device)]->sticky = cuda::Success;
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuDevicePrimaryCtxRelease_v2(Device device) try {
  Entry s(false);
  if (Result error = checkDevice(*s, device))
    return error;
  SimDevice &found = *s->devices[static_cast<size_t>(device)];
  if (found.users == 0)
    return s->fail(cuda::InvalidContext, "the context is not retained");
  // A context takes its error and its reports with it.
  if (--found.users == 0) {
    found.sticky = cuda::Success;
    found.findings.clear();
  }
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuDevicePrimaryCtxSetFlags_v2(Device, unsigned) {
  return cuda::Success;
}
NVFP4_SIM_API Result cuDevicePrimaryCtxGetState(Device, unsigned *flags,
                                                int *active) {
  *flags = 0;
  *active = 1;
  return cuda::Success;
}
NVFP4_SIM_API Result cuCtxCreate_v2(Context *context, unsigned, Device device) {
  return cuDevicePrimaryCtxRetain(context, device);
}
NVFP4_SIM_API Result cuCtxCreate_v4(Context *context, void *, unsigned,
                                    Device device) {
  return cuDevicePrimaryCtxRetain(context, device);
}
NVFP4_SIM_API Result cuCtxDestroy_v2(Context) { return cuda::Success; }

NVFP4_SIM_API Result cuCtxPushCurrent_v2(Context context) try {
  Entry s(false);
  SimDevice *device = s->find(context);
  if (!device)
    return s->fail(cuda::InvalidContext, "expected a context");
  currentContexts().push_back(device);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuCtxPopCurrent_v2(Context *context) try {
  Entry s(false);
  if (context)
    *context = contextOf(&s->current());
  if (!currentContexts().empty())
    currentContexts().pop_back();
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuCtxSetCurrent(Context context) try {
  Entry s(false);
  SimDevice *device = s->find(context);
  if (context && !device)
    return s->fail(cuda::InvalidContext, "expected a context");
  if (!currentContexts().empty())
    currentContexts().pop_back();
  if (device)
    currentContexts().push_back(device);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuCtxGetCurrent(Context *context) try {
  Entry s(false);
  *context = contextOf(&s->current());
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuCtxGetDevice(Device *device) try {
  Entry s(false);
  *device = static_cast<Device>(s->current().ordinal);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuCtxGetApiVersion(Context, unsigned *version) {
  *version = driverVersion;
  return cuda::Success;
}
NVFP4_SIM_API Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = 0;
  return cuda::Success;
}
NVFP4_SIM_API Result cuCtxSetLimit(int, size_t) { return cuda::Success; }
NVFP4_SIM_API Result cuCtxGetLimit(size_t *value, int) {
  *value = 0;
  return cuda::Success;
}
NVFP4_SIM_API Result cuCtxSynchronize() try {
  Entry s("cuCtxSynchronize");
  return s.error ? s.error : s->finishPending();
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuProfilerStart() { return cuda::Success; }
NVFP4_SIM_API Result cuProfilerStop() { return cuda::Success; }
