//===- CudaDriver.h - binary interface of the CUDA driver -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the CUDA driver's documented binary interface that the runtime
// calls and that the simulator's stand-in driver offers: numbers and layouts.
// Declared here so that no CUDA header is needed to build either side.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_RUNTIME_CUDADRIVER_H
#define NVFP4_RUNTIME_CUDADRIVER_H

#include <cstddef>
#include <cstdint>

namespace nvfp4::cuda {

/// CUresult. The runtime API uses the same numbers.
enum Result : int32_t {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  InvalidPitch = 12,
  InvalidSymbol = 13,
  StubLibrary = 34,
  MissingConfiguration = 52,
  InvalidDeviceFunction = 98,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  FileNotFound = 301,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  PeerAccessAlreadyEnabled = 704,
  PeerAccessNotEnabled = 705,
  Assert = 710,
  HostMemoryAlreadyRegistered = 712,
  HostMemoryNotRegistered = 713,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  CooperativeLaunchTooLarge = 720,
  TensorMemoryLeak = 721,
  NotSupported = 801,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  StreamCaptureUnmatched = 903,
  StreamCaptureUnjoined = 904,
  StreamCaptureIsolation = 905,
  StreamCaptureImplicit = 906,
  CapturedEvent = 907,
  StreamCaptureWrongThread = 908,
  InvalidClusterSize = 912,
  Unknown = 999,
};

using Device = int32_t;
using DevicePointer = uint64_t;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

/// CUlaunchAttributeID, those that are looked at.
enum LaunchAttributeId : int32_t {
  AttributeIgnore = 0,
  AttributeCooperative = 2,
  AttributeClusterDimension = 4,
  AttributeProgrammaticStreamSerialization = 6,
};

/// CUlaunchAttribute and cudaLaunchAttribute.
struct LaunchAttribute {
  int32_t id;
  uint8_t padding[4];
  union {
    uint8_t bytes[64];
    uint32_t cluster[3];
    int32_t flag;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUtensorMap: opaque, aligned to 64 bytes at least.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

/// CUdevice_attribute, those that have names here.
enum DeviceAttribute : int32_t {
  MaxThreadsPerBlock = 1,
  MaxSharedMemoryPerBlock = 8,
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

/// CUfunction_attribute, those that can be set.
enum FunctionAttribute : int32_t {
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};

/// CUmemorytype, those of linear memory; what the address says is Unified.
enum MemoryType : int32_t {
  MemoryHost = 1,
  MemoryDevice = 2,
  MemoryUnified = 4,
};

/// CUDA_MEMCPY2D: `height` rows of `widthInBytes`.
struct Copy2D {
  size_t sourceX, sourceY;
  int32_t sourceType;
  const void *sourceHost;
  DevicePointer sourceDevice;
  void *sourceArray;
  size_t sourcePitch;
  size_t targetX, targetY;
  int32_t targetType;
  void *targetHost;
  DevicePointer targetDevice;
  void *targetArray;
  size_t targetPitch;
  size_t widthInBytes, height;
};
static_assert(sizeof(Copy2D) == 128);

/// CUstreamCaptureMode, CUstreamCaptureStatus.
enum CaptureMode : int32_t {
  CaptureGlobal = 0,
  CaptureThreadLocal = 1,
  CaptureRelaxed = 2,
};
enum CaptureStatus : int32_t {
  CaptureNone = 0,
  CaptureActive = 1,
  CaptureInvalidated = 2,
};

/// CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING.
constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;

} // namespace nvfp4::cuda

#endif // NVFP4_RUNTIME_CUDADRIVER_H
