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
#include "Violation.h"

#include <cstdlib>
#include <cstring>
#include <deque>

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
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    words[3 + i] = tensor.shape[i];
    words[3 + rank + i] = stride;
    stride *= tensor.shape[i];
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

  static void destroy(DLManagedTensor *managed) {
    auto *self = static_cast<OwnedTensor *>(managed->manager_ctx);
    self->device->release(self->allocation);
    delete self;
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

/// Takes ownership of the result at `storage`. Null if there is no memory.
static DLManagedTensor *wrapResult(const ValueMetadata &value,
                                   const char *storage, Device *device) {
  auto *owned = new OwnedTensor;
  owned->device = device;
  void *data = nullptr;
  if (value.isScalar) {
    owned->allocation = data = std::malloc(sizeOf(value.type));
    if (!data) {
      delete owned;
      return nullptr;
    }
    std::memcpy(data, storage, sizeOf(value.type));
  } else {
    size_t rank = value.shape.size();
    std::vector<Word> words(descriptorWords(rank));
    std::memcpy(words.data(), storage, words.size() * sizeof(Word));
    std::memcpy(&owned->allocation, &words[0], sizeof(void *));
    char *aligned = nullptr;
    std::memcpy(&aligned, &words[1], sizeof(void *));
    data = aligned + words[2] * static_cast<Word>(sizeOf(value.type));
    owned->shape.assign(words.begin() + 3, words.begin() + 3 + rank);
  }
  owned->managed.dl_tensor.data = data;
  owned->managed.dl_tensor.device = device->resultPlace();
  owned->managed.dl_tensor.ndim = static_cast<int>(owned->shape.size());
  owned->managed.dl_tensor.dtype = value.type;
  owned->managed.dl_tensor.shape = owned->shape.data();
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = OwnedTensor::destroy;
  return &owned->managed;
}

extern "C" nvfp4_status nvfp4_function_call(const nvfp4_function *function,
                                            const DLTensor *const *arguments,
                                            size_t numArguments,
                                            DLManagedTensor **results,
                                            size_t numResults, void *stream) {
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
  CallScope scope;
  function->entry(values.data());

  const char *bytes = reinterpret_cast<const char *>(storage.data());
  std::vector<DLManagedTensor *> wrapped;
  for (size_t i = 0; i < numResults; ++i)
    wrapped.push_back(wrapResult(metadata.results[i], bytes + layout.offsets[i],
                                 function->device));
  auto releaseAll = [&] {
    for (DLManagedTensor *tensor : wrapped)
      if (tensor)
        tensor->deleter(tensor);
  };
  if (Violation violation = scope.takeViolation();
      violation.status != NVFP4_OK) {
    releaseAll();
    return fail(violation.status,
                "'" + metadata.name + "': " + std::move(violation.message));
  }
  for (DLManagedTensor *tensor : wrapped) {
    if (tensor)
      continue;
    releaseAll();
    return fail(NVFP4_OUT_OF_MEMORY, "out of memory");
  }
  std::copy(wrapped.begin(), wrapped.end(), results);
  return NVFP4_OK;
}
