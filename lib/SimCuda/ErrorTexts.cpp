//===- ErrorTexts.cpp - names and texts of results --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime API has the same numbers and texts under other names, so both are
// kept here.
//
//===----------------------------------------------------------------------===//

#include "ErrorTexts.h"

using namespace nvfp4;
using namespace nvfp4::simcuda;

static constexpr ResultText texts[] = {
    {cuda::Success, "CUDA_SUCCESS", "cudaSuccess", "no error"},
    {cuda::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue",
     "invalid argument"},
    {cuda::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation",
     "out of memory"},
    {cuda::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED",
     "cudaErrorInitializationError", "initialization error"},
    {cuda::StubLibrary, "CUDA_ERROR_STUB_LIBRARY", "cudaErrorStubLibrary",
     "CUDA driver is a stub library"},
    {cuda::InvalidDeviceFunction, "CUDA_ERROR_INVALID_DEVICE_FUNCTION",
     "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cuda::InvalidPitch, "", "cudaErrorInvalidPitchValue",
     "invalid pitch argument"},
    {cuda::InvalidSymbol, "", "cudaErrorInvalidSymbol",
     "invalid device symbol"},
    {cuda::MissingConfiguration, "", "cudaErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {cuda::NoDevice, "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice",
     "no CUDA-capable device is detected"},
    {cuda::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice",
     "invalid device ordinal"},
    {cuda::InvalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cuda::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT",
     "cudaErrorDeviceUninitialized", "invalid device context"},
    {cuda::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cuda::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx",
     "a PTX JIT compilation failed"},
    {cuda::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "cudaErrorUnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cuda::FileNotFound, "CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound",
     "file not found"},
    {cuda::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE",
     "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cuda::NotFound, "CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound",
     "named symbol not found"},
    {cuda::NotReady, "CUDA_ERROR_NOT_READY", "cudaErrorNotReady",
     "device not ready"},
    {cuda::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cuda::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cuda::LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout",
     "the launch timed out and was terminated"},
    {cuda::PeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cuda::PeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cuda::Assert, "CUDA_ERROR_ASSERT", "cudaErrorAssert",
     "device-side assert triggered"},
    {cuda::HostMemoryAlreadyRegistered,
     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cuda::HostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cuda::IllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {cuda::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS",
     "cudaErrorMisalignedAddress", "misaligned address"},
    {cuda::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure",
     "unspecified launch failure"},
    {cuda::CooperativeLaunchTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cuda::TensorMemoryLeak, "CUDA_ERROR_TENSOR_MEMORY_LEAK",
     "cudaErrorTensorMemoryLeak",
     "tensor memory was not completely freed upon exit"},
    {cuda::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "cudaErrorNotSupported",
     "operation not supported"},
    {cuda::StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cuda::StreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cuda::StreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cuda::StreamCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cuda::StreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cuda::StreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking "
     "stream"},
    {cuda::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cuda::StreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another "
     "thread"},
    {cuda::InvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE",
     "cudaErrorInvalidClusterSize", "cluster misconfiguration"},
    {cuda::Unknown, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown", "unknown error"},
};

const ResultText *simcuda::textOf(int32_t result) {
  for (const ResultText &text : texts)
    if (text.result == result)
      return &text;
  return nullptr;
}
