//===- DeviceFunction.cpp - Calls on device memory --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nvfp4_function_prepare, what a call needs, and nvfp4_function_run. The size
// of the workspace and the shapes of results come of the function's own code,
// run in a frame that only counts.
//
//===----------------------------------------------------------------------===//

#include "DeviceFunction.h"

#include "Check.h"
#include "Descriptor.h"
#include "Error.h"
#include "Frame/DeviceFrame.h"
#include "Frame/MeasureFrame.h"

#include <cstdlib>

using namespace nvfp4::runtime;

static nvfp4_status requireDeviceMemory(const nvfp4_function *function) {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  if (function->module->metadata.isOnDevice)
    return NVFP4_OK;
  return fail(NVFP4_UNSUPPORTED,
              "'" + function->metadata.name +
                  "': expected a function on device memory; compile it with "
                  "--memory=device, or call it by nvfp4_function_call");
}

/// The error of a call that has ended.
static nvfp4_status report(const nvfp4_function &function, nvfp4_call &call) {
  Violation violation = call.slot.take();
  if (violation.status == NVFP4_OK)
    return NVFP4_OK;
  return fail(violation.status,
              "'" + function.metadata.name + "': " +
                  (violation.message.empty() ? "out of memory"
                                             : std::move(violation.message)));
}

extern "C" nvfp4_status nvfp4_function_prepare(const nvfp4_function *function,
                                               DLDevice place) try {
  if (nvfp4_status status = requireDeviceMemory(function))
    return status;
  LaunchDevice *device = nullptr;
  if (nvfp4_status status = findLaunchDevice(place, device))
    return status;
  const KernelTable *table = nullptr;
  if (nvfp4_status status = function->module->kernels.load(*device, table))
    return status;
  nvfp4_kernel *kernel = nullptr;
  return device->findOwnKernel("nvfp4_write_table", kernel);
} catch (...) {
  return failWithException();
}

namespace {
/// A call that only counts.
struct Measured {
  explicit Measured(const nvfp4_function &function)
      : frame(call), values(function.metadata) {
    call.frame = &frame;
  }

  nvfp4_call call;
  MeasureFrame frame;
  CallValues values;
};
} // namespace

static nvfp4_status measure(const nvfp4_function &function,
                            const DLTensor *const *arguments,
                            size_t numArguments, Measured &measured) {
  TensorPlace place;
  place.hasData = false;
  std::vector<StoredTensor> stored;
  if (nvfp4_status status =
          checkArguments(function, arguments, numArguments, place, stored))
    return status;
  for (size_t i = 0; i < stored.size(); ++i)
    measured.values.add(*stored[i],
                        function.metadata.arguments[i].isScalar
                            ? stored[i].getData()
                            : static_cast<char *>(MeasureFrame::getAddress(i)));
  measured.call.run(function.entry, measured.values.get());
  return report(function, measured.call);
}

nvfp4_status nvfp4::runtime::measureCall(const nvfp4_function &function,
                                         const DLTensor *const *arguments,
                                         CallNeeds &needs) {
  const FunctionMetadata &metadata = function.metadata;
  Measured measured(function);
  if (nvfp4_status status =
          measure(function, arguments, metadata.arguments.size(), measured))
    return status;
  needs.workspace = measured.frame.getBytes();
  needs.shapes.resize(metadata.results.size());
  for (size_t i = 0; i < metadata.results.size(); ++i) {
    if (metadata.results[i].isScalar)
      continue;
    std::span<const int64_t> shape = measured.values.getTensor(i).shape;
    needs.shapes[i].assign(shape.begin(), shape.end());
  }
  return NVFP4_OK;
}

extern "C" nvfp4_status
nvfp4_function_workspace(const nvfp4_function *function,
                         const DLTensor *const *arguments, size_t numArguments,
                         size_t *bytes) try {
  if (nvfp4_status status = requireDeviceMemory(function))
    return status;
  if (nvfp4_status status =
          checkCounts(function, arguments, numArguments, bytes,
                      function->metadata.results.size()))
    return status;
  CallNeeds needs;
  if (nvfp4_status status = measureCall(*function, arguments, needs))
    return status;
  *bytes = needs.workspace;
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status nvfp4_function_result_shapes(
    const nvfp4_function *function, const DLTensor *const *arguments,
    size_t numArguments, int64_t *const *shapes, size_t numResults) try {
  if (nvfp4_status status = requireDeviceMemory(function))
    return status;
  if (nvfp4_status status =
          checkCounts(function, arguments, numArguments, shapes, numResults))
    return status;
  CallNeeds needs;
  if (nvfp4_status status = measureCall(*function, arguments, needs))
    return status;
  for (size_t i = 0; i < numResults; ++i)
    std::copy(needs.shapes[i].begin(), needs.shapes[i].end(), shapes[i]);
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

/// The device of the first tensor; nothing if there is none.
static std::optional<DLDevice> findPlace(const nvfp4_function &function,
                                         const DLTensor *const *arguments,
                                         DLTensor *const *results) {
  const FunctionMetadata &metadata = function.metadata;
  for (size_t i = 0; i < metadata.arguments.size(); ++i)
    if (!metadata.arguments[i].isScalar && arguments[i])
      return arguments[i]->device;
  for (size_t i = 0; i < metadata.results.size(); ++i)
    if (!metadata.results[i].isScalar && results[i])
      return results[i]->device;
  return std::nullopt;
}

namespace {
/// The device's context is current as long as this lives.
class Entered {
public:
  explicit Entered(nvfp4_device &device)
      : device(device), status(device.enter()) {}
  ~Entered() {
    if (!status)
      device.leave();
  }

private:
  nvfp4_device &device;

public:
  const nvfp4_status status;
};
} // namespace

/// Whether the caller wants the errors of kernels at once.
static nvfp4_status readCheckMode(bool &isSync) {
  const char *set = std::getenv("NVFP4_CHECK");
  std::string_view mode = set ? set : "";
  isSync = mode == "sync";
  if (isSync || mode.empty())
    return NVFP4_OK;
  return fail(NVFP4_INVALID_ARGUMENT,
              "expected 'sync' or nothing in NVFP4_CHECK, but got '" +
                  std::string(mode) + "'");
}

/// An error if the stream captures: its work cannot be waited for.
static nvfp4_status refuseCapture(const LaunchDevice &device,
                                  nvfp4_stream *stream,
                                  const std::string &name) {
  bool isCapturing = false;
  if (stream)
    if (nvfp4_status status = device.device->isCapturing(stream, isCapturing))
      return status;
  return isCapturing
             ? fail(NVFP4_INVALID_ARGUMENT,
                    name + "expected no NVFP4_CHECK=sync, which waits for the "
                           "work, while the stream captures; "
                           "nvfp4_function_take_violation tells the "
                           "violations of graphs")
             : NVFP4_OK;
}

/// The device of `place`, and what the function has there.
static nvfp4_status findPrepared(const nvfp4_function &function, DLDevice place,
                                 const char *caller, LaunchDevice *&device,
                                 const KernelTable *&kernels) {
  std::string name = "'" + function.metadata.name + "': ";
  if (nvfp4_status status = findLaunchDevice(place, device))
    return fail(status, name + nvfp4_last_error());
  kernels = function.module->kernels.find(*device);
  return kernels ? NVFP4_OK
                 : fail(NVFP4_INVALID_ARGUMENT,
                        name +
                            "expected nvfp4_function_prepare for the device "
                            "before " +
                            caller);
}

/// The record of the function's asynchronous calls.
static nvfp4_data_record &getRecord(const nvfp4_function &function,
                                    const KernelTable &kernels) {
  return kernels.getRecords().ofFunction(
      static_cast<size_t>(&function - function.module->functions.data()));
}

/// The violation that kernels have recorded.
static nvfp4_status reportData(const nvfp4_function &function,
                               nvfp4_data_record &record) {
  std::string problem = takeViolation(record);
  return problem.empty() ? NVFP4_OK
                         : fail(NVFP4_INVALID_DATA,
                                "'" + function.metadata.name + "': " + problem);
}

extern "C" nvfp4_status nvfp4_function_run(const nvfp4_function *function,
                                           const DLTensor *const *arguments,
                                           size_t numArguments,
                                           DLTensor *const *results,
                                           size_t numResults, void *workspace,
                                           size_t bytes, void *stream) try {
  if (nvfp4_status status = requireDeviceMemory(function))
    return status;
  if (nvfp4_status status =
          checkCounts(function, arguments, numArguments, results, numResults))
    return status;
  const FunctionMetadata &metadata = function->metadata;
  std::string name = "'" + metadata.name + "': ";
  TensorPlace place;
  place.device = findPlace(*function, arguments, results);
  if (!place.device)
    return fail(NVFP4_INVALID_ARGUMENT,
                name + "expected a tensor, which says the device");
  LaunchDevice *device = nullptr;
  const KernelTable *kernels = nullptr;
  if (nvfp4_status status = findPrepared(*function, *place.device,
                                         "nvfp4_function_run", device, kernels))
    return status;
  std::vector<StoredTensor> stored, made(numResults);
  if (nvfp4_status status =
          checkArguments(*function, arguments, numArguments, place, stored))
    return status;
  std::vector<RunFrame::Result> memory;
  for (size_t i = 0; i < numResults; ++i) {
    made[i].set(metadata.results[i], results[i]);
    if (metadata.results[i].isScalar)
      return fail(NVFP4_UNSUPPORTED,
                  name + "a result that is a scalar would have to be waited "
                         "for");
    if (nvfp4_status status = checkResult(*function, i, made[i], place))
      return status;
    memory.push_back({made[i].getData(), made[i].getShape()});
  }
  if (reinterpret_cast<uintptr_t>(workspace) % Workspace::kAlignment != 0)
    return fail(NVFP4_INVALID_ARGUMENT,
                name + "expected a workspace at a multiple of " +
                    std::to_string(Workspace::kAlignment) + " bytes");

  bool isSync = false;
  if (nvfp4_status status = readCheckMode(isSync))
    return status;

  auto *queue = static_cast<nvfp4_stream *>(stream);
  std::optional<DataRecords::Lease> own;
  if (isSync) {
    if (nvfp4_status status = refuseCapture(*device, queue, name))
      return status;
    own.emplace(kernels->getRecords());
  }
  nvfp4_data_record &record = own ? own->get() : getRecord(*function, *kernels);
  nvfp4_call call;
  RunFrame frame(call, *device, *kernels, record, queue, workspace,
                 workspace ? bytes : 0, std::move(memory));
  call.frame = &frame;
  CallValues values(metadata);
  for (const StoredTensor &tensor : stored)
    values.add(*tensor, tensor.getData());
  Entered entered(*device->device);
  if (entered.status)
    return entered.status;
  call.run(function->entry, values.get());
  // The kernels of a call that fails may write its record, too, as long as they
  // run; another call gets it then.
  nvfp4_status waited =
      isSync ? nvfp4_stream_synchronize(device->device, queue) : NVFP4_OK;
  std::string waitError = waited ? nvfp4_last_error() : "";
  if (nvfp4_status status = report(*function, call))
    return status;
  if (waited)
    return fail(waited, std::move(waitError));
  return isSync ? reportData(*function, record) : NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status
nvfp4_function_take_violation(const nvfp4_function *function,
                              DLDevice place) try {
  if (nvfp4_status status = requireDeviceMemory(function))
    return status;
  LaunchDevice *device = nullptr;
  const KernelTable *kernels = nullptr;
  if (nvfp4_status status = findPrepared(
          *function, place, "nvfp4_function_take_violation", device, kernels))
    return status;
  return reportData(*function, getRecord(*function, *kernels));
} catch (...) {
  return failWithException();
}
