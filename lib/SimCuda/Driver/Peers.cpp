//===- Peers.cpp - access to other devices ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every device can reach every other one, over a link whose delays the
// simulator knows (RemoteWrites.h).
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Context;
using cuda::Device;
using cuda::DevicePointer;
using cuda::Result;
using cuda::Stream;

NVFP4_SIM_API Result cuDeviceCanAccessPeer(int *can, Device device,
                                           Device peer) try {
  Entry s(false);
  for (Device each : {device, peer})
    if (Result error = checkDevice(*s, each))
      return error;
  if (!can)
    return s->fail(cuda::InvalidValue, "expected a place for the answer");
  *can = device != peer;
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuDeviceGetP2PAttribute(int *value, int attribute,
                                             Device device, Device peer) try {
  Entry s(false);
  for (Device each : {device, peer})
    if (Result error = checkDevice(*s, each))
      return error;
  if (!value || device == peer || attribute < 1 || attribute > 4)
    return s->fail(cuda::InvalidValue,
                   "expected two devices, an attribute of 1 to 4 and a place "
                   "for its value");
  // Rank of the link's speed, access, atomics, arrays.
  *value = attribute == 2 || attribute == 3;
  return cuda::Success;
} catch (...) {
  return caught();
}

/// The context of another device than the current one, or null (reported).
static SimDevice *findPeer(State &s, Context context, Result &error) {
  SimDevice *peer = s.find(context);
  if (!peer)
    error = s.fail(cuda::InvalidContext, "expected a context");
  else if (peer == &s.current())
    error = s.fail(cuda::InvalidDevice,
                   "expected the context of another device than the current "
                   "one, device " +
                       std::to_string(peer->ordinal));
  return error ? nullptr : peer;
}

NVFP4_SIM_API Result cuCtxEnablePeerAccess(Context context,
                                           unsigned flags) try {
  Entry s;
  if (s.error)
    return s.error;
  if (flags != 0)
    return s->fail(cuda::InvalidValue,
                   "expected flags of 0, but got " + std::to_string(flags));
  Result error = cuda::Success;
  SimDevice *peer = findPeer(*s, context, error);
  if (!peer)
    return error;
  SimDevice &device = s->current();
  if (device.memory.hasPeer(peer->memory))
    return s->fail(cuda::PeerAccessAlreadyEnabled,
                   "device " + std::to_string(device.ordinal) +
                       " has access to device " +
                       std::to_string(peer->ordinal) + " already");
  device.memory.enablePeer(peer->memory);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuCtxDisablePeerAccess(Context context) try {
  Entry s;
  if (s.error)
    return s.error;
  Result error = s->finishPending();
  SimDevice *peer = error ? nullptr : findPeer(*s, context, error);
  if (!peer)
    return error;
  if (!s->current().memory.disablePeer(peer->memory))
    return s->fail(cuda::PeerAccessNotEnabled,
                   "device " + std::to_string(s->current().ordinal) +
                       " has no access to device " +
                       std::to_string(peer->ordinal));
  return cuda::Success;
} catch (...) {
  return caught();
}

/// Both sides of a copy are where their contexts say.
static Result checkSides(DevicePointer target, Context targetContext,
                         DevicePointer source, Context sourceContext) {
  Entry s;
  if (s.error)
    return s.error;
  for (auto [address, context] :
       {std::pair{target, targetContext}, std::pair{source, sourceContext}}) {
    SimDevice *device = s->find(context);
    if (!device)
      return s->fail(cuda::InvalidContext, "expected a context");
    const sim::Allocation *found = device->memory.find(address, 1);
    if (!found || found->owner != &device->memory)
      return s->fail(cuda::InvalidValue, "expected memory of device " +
                                             std::to_string(device->ordinal) +
                                             ", but got " + hex(address));
  }
  return cuda::Success;
}

NVFP4_SIM_API Result cuMemcpyPeer(DevicePointer target, Context targetContext,
                                  DevicePointer source, Context sourceContext,
                                  size_t bytes) try {
  if (Result error = checkSides(target, targetContext, source, sourceContext))
    return error;
  return cuMemcpyDtoD_v2(target, source, bytes);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuMemcpyPeerAsync(DevicePointer target,
                                       Context targetContext,
                                       DevicePointer source,
                                       Context sourceContext, size_t bytes,
                                       Stream stream) try {
  if (Result error = checkSides(target, targetContext, source, sourceContext))
    return error;
  return cuMemcpyDtoDAsync_v2(target, source, bytes, stream);
} catch (...) {
  return caught();
}
