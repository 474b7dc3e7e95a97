//===- GivenResults.cpp - Results in memory of the caller -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors are checked before the call, but for extents that the call alone
// tells.
//
//===----------------------------------------------------------------------===//

#include "GivenResults.h"

#include "../Check.h"
#include "../ElementType.h"
#include "../Error.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace nvfp4::runtime;

namespace {
struct Release {
  void operator()(DLManagedTensor *tensor) const { tensor->deleter(tensor); }
};
} // namespace

nvfp4_status nvfp4::runtime::callOnHost(const nvfp4_function &function,
                                        const DLTensor *const *arguments,
                                        const DLTensor *const *results) {
  const FunctionMetadata &metadata = function.metadata;
  size_t count = metadata.results.size();
  std::vector<StoredTensor> targets(count);
  for (size_t i = 0; i < count; ++i) {
    targets[i].set(metadata.results[i], results[i]);
    if (nvfp4_status status = checkResult(function, i, targets[i], {}))
      return status;
  }
  std::vector<DLManagedTensor *> made(count);
  std::vector<std::unique_ptr<DLManagedTensor, Release>> owners(count);
  if (nvfp4_status status =
          nvfp4_function_call(&function, arguments, metadata.arguments.size(),
                              made.data(), count, nullptr))
    return status;
  for (size_t i = 0; i < count; ++i)
    owners[i].reset(made[i]);
  for (size_t i = 0; i < count; ++i) {
    const DLTensor &tensor = made[i]->dl_tensor;
    std::span<const int64_t> shape(tensor.shape,
                                   static_cast<size_t>(tensor.ndim));
    std::span<const int64_t> room = targets[i].getShape();
    if (!std::equal(room.begin(), room.end(), shape.begin(), shape.end()))
      return fail(NVFP4_INVALID_ARGUMENT,
                  describeValue(function, "result", i, metadata.results[i]) +
                      ": expected shape " + formatShape(shape) + ", but got " +
                      formatShape(room));
    uint64_t bytes = sizeOf(metadata.results[i].type);
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    if (bytes)
      std::memcpy(targets[i].getData(), tensor.data, bytes);
  }
  return NVFP4_OK;
}
