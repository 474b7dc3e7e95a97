//===- Call.cpp - Calling compiled functions --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From DLPack tensors to MLIR's memref descriptors and back. A descriptor is
// {allocated, aligned, offset, sizes[rank], strides[rank]}, all 8 bytes wide;
// several results come back as one struct of descriptors and scalars.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "ElementType.h"
#include "Error.h"
#include "Launch/LaunchDevice.h"
#include "Violation.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>

using namespace nvfp4::runtime;

using Word = int64_t;
static_assert(sizeof(void *) == sizeof(Word));

static size_t descriptorWords(size_t rank) { return 3 + 2 * rank; }

/// The descriptor of a tensor that checkArgument accepted.
static std::vector<Word> makeDescriptor(const DLTensor &tensor) {
  size_t rank = tensor.ndim;
  std::vector<Word> words(descriptorWords(rank));
  char *data = tensor.data ? dataOf(tensor) : nullptr;
  std::memcpy(&words[0], &data, sizeof(data));
  std::memcpy(&words[1], &data, sizeof(data));
  // Strides of a tensor without elements may be any number.
  uint64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    words[3 + i] = tensor.shape[i];
    words[3 + rank + i] = static_cast<Word>(stride);
    stride *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return words;
}

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

/// Byte offsets of the results in the struct that functions fill.
struct ResultLayout {
  explicit ResultLayout(const std::vector<ValueMetadata> &results) {
    for (const ValueMetadata &value : results) {
      size_t alignment = value.isScalar ? sizeOf(value.type) : sizeof(Word);
      size_t bytes = value.isScalar
                         ? sizeOf(value.type)
                         : descriptorWords(value.shape.size()) * sizeof(Word);
      size = (size + alignment - 1) / alignment * alignment;
      offsets.push_back(size);
      size += bytes;
    }
  }
  std::vector<size_t> offsets;
  size_t size = 0;
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

/// Takes ownership of the result at `storage`.
static void fillResult(OwnedTensor &owned, const ValueMetadata &value,
                       const char *storage) noexcept {
  if (value.isScalar) {
    owned.managed.dl_tensor.data = owned.allocation;
    std::memcpy(owned.allocation, storage, sizeOf(value.type));
    return;
  }
  auto word = [&](size_t index) {
    Word result;
    std::memcpy(&result, storage + index * sizeof(Word), sizeof result);
    return result;
  };
  owned.allocation = reinterpret_cast<void *>(word(0));
  owned.managed.dl_tensor.data =
      reinterpret_cast<char *>(word(1)) +
      word(2) * static_cast<Word>(sizeOf(value.type));
  for (size_t i = 0; i < owned.shape.size(); ++i)
    owned.shape[i] = word(3 + i);
}

extern "C" nvfp4_status
nvfp4_function_call_on(const char *device, const nvfp4_function *function,
                       const DLTensor *const *arguments, size_t numArguments,
                       DLManagedTensor **results, size_t numResults,
                       void *stream) try {
  if (!function || (numArguments && !arguments) || (numResults && !results))
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  const FunctionMetadata &metadata = function->metadata;
  if (numArguments != metadata.arguments.size() ||
      numResults != metadata.results.size())
    return fail(NVFP4_INVALID_ARGUMENT,
                "'" + metadata.name + "': expected " +
                    std::to_string(metadata.arguments.size()) +
                    " arguments and " +
                    std::to_string(metadata.results.size()) +
                    " results, but got " + std::to_string(numArguments) +
                    " and " + std::to_string(numResults));
  for (size_t i = 0; i < numArguments; ++i)
    if (nvfp4_status status = checkArgument(*function, i, arguments[i]))
      return status;
  if (nvfp4_status status = checkPairs(*function, arguments))
    return status;
  if (nvfp4_status status = function->device->prepareCall(stream))
    return status;

  std::deque<std::vector<Word>> descriptors;
  std::vector<void *> values;
  for (size_t i = 0; i < numArguments; ++i) {
    const DLTensor &tensor = *arguments[i];
    values.push_back(
        metadata.arguments[i].isScalar
            ? dataOf(tensor)
            : static_cast<void *>(
                  descriptors.emplace_back(makeDescriptor(tensor)).data()));
  }
  ResultLayout layout(metadata.results);
  std::vector<Word> storage(layout.size / sizeof(Word) + 1);
  values.push_back(storage.data());
  std::vector<std::unique_ptr<OwnedTensor>> owned;
  for (const ValueMetadata &result : metadata.results)
    owned.push_back(reserveResult(result, function->device));
  nvfp4_call call;
  if (device)
    if (nvfp4_status status = findLaunchDevice(device, call.device))
      return status;
  const char *bytes = reinterpret_cast<const char *>(storage.data());
  if (call.run(function->entry, values.data()))
    for (size_t i = 0; i < numResults; ++i)
      fillResult(*owned[i], metadata.results[i], bytes + layout.offsets[i]);
  if (Violation violation = call.slot.take(); violation.status != NVFP4_OK)
    return fail(violation.status,
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
