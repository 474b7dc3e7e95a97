//===- Call.cpp - Calling compiled functions --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From DLPack tensors of the host to compiled code and back. Functions on
// device memory get copies there, and what they give is copied back.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Descriptor.h"
#include "ElementType.h"
#include "Error.h"
#include "Frame/DeviceFrame.h"
#include "Violation.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

using namespace nvfp4::runtime;

namespace {
/// A result and what its deleter needs.
struct OwnedTensor {
  DLManagedTensor managed{};
  std::vector<int64_t> shape;
  void *allocation = nullptr;
  Device *device = nullptr;

  ~OwnedTensor() { device->release(allocation); }
  static void destroy(DLManagedTensor *managed) {
    delete static_cast<OwnedTensor *>(managed->manager_ctx);
  }
};
} // namespace

/// Room for a result, made before the call so that nothing can fail after it.
static std::unique_ptr<OwnedTensor> reserveResult(const ValueMetadata &value,
                                                  Device *device) {
  auto owned = std::make_unique<OwnedTensor>();
  owned->device = device;
  owned->shape.resize(value.isScalar ? 0 : value.shape.size());
  if (value.isScalar && !(owned->allocation = std::malloc(sizeOf(value.type))))
    throw std::bad_alloc();
  owned->managed.dl_tensor.device = device->resultPlace();
  owned->managed.dl_tensor.ndim = static_cast<int>(owned->shape.size());
  owned->managed.dl_tensor.dtype = value.type;
  owned->managed.dl_tensor.shape = owned->shape.data();
  owned->managed.manager_ctx = owned.get();
  owned->managed.deleter = OwnedTensor::destroy;
  return owned;
}

static uint64_t countBytes(const ValueMetadata &value,
                           std::span<const int64_t> shape) {
  uint64_t bytes = sizeOf(value.type);
  for (int64_t extent : shape)
    bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

namespace {
/// One call by nvfp4_function_call.
class HostCall {
public:
  HostCall(const nvfp4_function &function, const char *device)
      : function(function), metadata(function.metadata),
        frame(call, function.module->kernels, device), values(metadata) {
    call.frame = &frame;
  }

  /// Does it all, with arguments that have been checked; false after an error
  /// of the call.
  bool run(std::vector<StoredTensor> &arguments,
           std::vector<std::unique_ptr<OwnedTensor>> &results) {
    copies.resize(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i)
      if (!addArgument(i, arguments[i]))
        return false;
    if (!call.run(function.entry, values.get()))
      return false;
    bool isDone = true;
    for (size_t i = 0; isDone && i < arguments.size(); ++i)
      if (metadata.arguments[i].isMutable && copies[i])
        isDone =
            copy(arguments[i].getData(), copies[i],
                 countBytes(metadata.arguments[i], arguments[i].getShape()));
    for (size_t i = 0; i < results.size(); ++i)
      isDone = fillResult(i, *results[i]) && isDone;
    if (!isDone || !frame.attempt("the end of the call",
                                  [&] { return frame.synchronize(); }))
      return false;
    std::string problem = frame.takeDataViolation();
    if (problem.empty())
      return true;
    recordViolation(std::move(problem));
    return false;
  }

  nvfp4_call call;

private:
  bool isOnDevice() const { return function.module->metadata.isOnDevice; }

  bool copy(void *target, const void *source, uint64_t bytes) {
    return frame.attempt("a copy of the call",
                         [&] { return frame.copy({target, source, bytes}); });
  }

  bool addArgument(size_t index, const StoredTensor &tensor) {
    const ValueMetadata &value = metadata.arguments[index];
    char *data = tensor.getData();
    if (isOnDevice() && !value.isScalar) {
      uint64_t bytes = countBytes(value, tensor.getShape());
      if (!frame.attempt(
              "an argument",
              [&] { return frame.allocate(bytes, copies[index]); }) ||
          (bytes && !copy(copies[index], data, bytes)))
        return false;
      data = static_cast<char *>(copies[index]);
    }
    values.add(*tensor, data);
    return true;
  }

  /// Takes ownership of the result.
  bool fillResult(size_t index, OwnedTensor &owned) {
    const ValueMetadata &value = metadata.results[index];
    DLTensor &tensor = owned.managed.dl_tensor;
    if (value.isScalar) {
      tensor.data = owned.allocation;
      std::memcpy(owned.allocation, values.getScalar(index),
                  sizeOf(value.type));
      return true;
    }
    ReturnedTensor returned = values.getTensor(index);
    std::copy(returned.shape.begin(), returned.shape.end(),
              owned.shape.begin());
    if (!isOnDevice()) {
      owned.allocation = returned.allocated;
      tensor.data = returned.data;
      return true;
    }
    uint64_t bytes = countBytes(value, owned.shape);
    owned.allocation = call.slot.isSet() ? nullptr : std::malloc(bytes + 1);
    tensor.data = owned.allocation;
    return owned.allocation && copy(tensor.data, returned.data, bytes);
  }

  const nvfp4_function &function;
  const FunctionMetadata &metadata;
  OwnFrame frame;
  CallValues values;
  /// Copies of arguments in device memory.
  std::vector<void *> copies;
};
} // namespace

extern "C" nvfp4_status
nvfp4_function_call_on(const char *device, const nvfp4_function *function,
                       const DLTensor *const *arguments, size_t numArguments,
                       DLManagedTensor **results, size_t numResults,
                       void *stream) try {
  if (nvfp4_status status =
          checkCounts(function, arguments, numArguments, results, numResults))
    return status;
  const FunctionMetadata &metadata = function->metadata;
  std::vector<StoredTensor> stored;
  if (nvfp4_status status =
          checkArguments(*function, arguments, numArguments, {}, stored))
    return status;
  if (nvfp4_status status = function->device->prepareCall(stream))
    return status;
  // A name that is wrong is refused even if no kernel is started.
  if (LaunchDevice *opened = nullptr; device)
    if (nvfp4_status status = findLaunchDevice(device, opened))
      return status;
  std::vector<std::unique_ptr<OwnedTensor>> owned;
  for (const ValueMetadata &result : metadata.results)
    owned.push_back(reserveResult(result, function->device));
  HostCall call(*function, device);
  bool isDone = call.run(stored, owned);
  if (Violation violation = call.call.slot.take();
      !isDone || violation.status != NVFP4_OK)
    return fail(violation.status ? violation.status : NVFP4_OUT_OF_MEMORY,
                "'" + metadata.name + "': " +
                    (violation.message.empty() ? "out of memory"
                                               : std::move(violation.message)));
  for (size_t i = 0; i < numResults; ++i)
    results[i] = &owned[i].release()->managed;
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status nvfp4_function_call(const nvfp4_function *function,
                                            const DLTensor *const *arguments,
                                            size_t numArguments,
                                            DLManagedTensor **results,
                                            size_t numResults, void *stream) {
  return nvfp4_function_call_on(nullptr, function, arguments, numArguments,
                                results, numResults, stream);
}
