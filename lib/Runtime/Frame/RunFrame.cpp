//===- RunFrame.cpp - Calls on the caller's stream --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here allocates device memory, waits or touches memory of the host, so
// that a CUDA graph can capture the call.
//
//===----------------------------------------------------------------------===//

#include "DeviceFrame.h"

#include "../Error.h"

#include <algorithm>

using namespace nvfp4::runtime;

RunFrame::RunFrame(nvfp4_call &call, LaunchDevice &device,
                   const KernelTable &kernels, nvfp4_data_record &record,
                   nvfp4_stream *stream, void *workspace, uint64_t bytes,
                   std::vector<Result> results)
    : DeviceFrame(call), kernels(kernels), record(record),
      memory(static_cast<char *>(workspace)), capacity(bytes),
      results(std::move(results)) {
  this->device = &device;
  this->stream = stream;
}

nvfp4_status RunFrame::getStream(nvfp4_stream *&stream) {
  stream = this->stream;
  return NVFP4_OK;
}

nvfp4_status RunFrame::findKernel(const nvfp4_kernel_entry &entry,
                                  nvfp4_kernel *&kernel) {
  kernel = kernels.find(entry);
  if (kernel)
    return NVFP4_OK;
  return fail(NVFP4_BAD_ARTEFACT, "the artefact does not list its kernel " +
                                      std::string(entry.name));
}

nvfp4_status RunFrame::allocate(uint64_t bytes, void *&pointer) {
  uint64_t offset = workspace.allocate(bytes);
  if (workspace.getPeak() > capacity)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a workspace of at least " +
                    std::to_string(workspace.getPeak()) + " bytes, but got " +
                    std::to_string(capacity) +
                    "; nvfp4_function_workspace says how many");
  pointer = memory + offset;
  return NVFP4_OK;
}

nvfp4_status RunFrame::free(void *pointer) {
  if (!pointer)
    return NVFP4_OK;
  auto offset = static_cast<uint64_t>(static_cast<char *>(pointer) - memory);
  if (workspace.free(offset))
    return NVFP4_OK;
  // A result belongs to the caller.
  bool isResult =
      std::any_of(results.begin(), results.end(),
                  [&](const Result &result) { return result.data == pointer; });
  return isResult ? NVFP4_OK
                  : fail(NVFP4_DEVICE_ERROR,
                         "expected memory of the workspace to be freed");
}

nvfp4_status RunFrame::copy(const RowCopy &copy) {
  RowCopy checked = copy;
  checked.isOnDevice = true;
  return DeviceFrame::copy(checked);
}

nvfp4_status RunFrame::allocateResult(size_t index,
                                      std::span<const int64_t> extents,
                                      uint64_t, void *&pointer) {
  if (index >= results.size())
    return fail(NVFP4_BAD_ARTEFACT, "expected fewer than " +
                                        std::to_string(results.size()) +
                                        " results, as the artefact says");
  const Result &result = results[index];
  if (!std::equal(extents.begin(), extents.end(), result.extents.begin(),
                  result.extents.end()))
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected result " + std::to_string(index) + " of shape " +
                    formatShape(extents) + ", but got " +
                    formatShape(result.extents));
  pointer = result.data;
  return NVFP4_OK;
}

nvfp4_status RunFrame::refuseModules() {
  return fail(NVFP4_UNSUPPORTED,
              "kernels of modules that the code loads itself are not launched "
              "in nvfp4_function_run");
}

static nvfp4_status refuseHost() {
  return fail(NVFP4_UNSUPPORTED,
              "memory of the host is not used in nvfp4_function_run");
}

nvfp4_status RunFrame::registerHost(void *, size_t) { return refuseHost(); }
nvfp4_status RunFrame::unregisterHost(void *) { return refuseHost(); }
