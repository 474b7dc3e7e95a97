//===- Check.cpp - Arguments against a signature ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code trusts its arguments, so everything that it trusts is checked
// here.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "ElementType.h"
#include "Error.h"

#include <algorithm>
#include <optional>

using namespace nvfp4::runtime;

static std::string describeArgument(const nvfp4_function &function,
                                    size_t index) {
  const ValueMetadata &value = function.metadata.arguments[index];
  std::string text = "argument " + std::to_string(index) + " of '" +
                     function.metadata.name + "'";
  if (value.role != NVFP4_ROLE_PLAIN)
    text +=
        std::string(value.role == NVFP4_ROLE_VALUES ? " (values" : " (scales") +
        " of " + value.scaledType + ")";
  return text;
}

static bool hasShape(const ValueMetadata &value, const DLTensor &tensor) {
  for (int i = 0; i < tensor.ndim; ++i)
    if (value.shape[i] >= 0 && value.shape[i] != tensor.shape[i])
      return false;
  return true;
}

/// The last dimension whose stride is not that of a row-major tensor without
/// gaps and has elements; extents of 1 have any stride.
static std::optional<int> findGap(const DLTensor &tensor) {
  if (!tensor.strides)
    return std::nullopt;
  int64_t stride = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride)
      return i;
    stride *= tensor.shape[i];
  }
  return std::nullopt;
}

/// Whether a process can address as many bytes; extents are positive.
static bool isAddressable(std::span<const int64_t> shape, int64_t bytes) {
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return false;
  return bytes <= kAddressSpace;
}

nvfp4_status nvfp4::runtime::checkArgument(const nvfp4_function &function,
                                           size_t index,
                                           const DLTensor *tensor) {
  const ValueMetadata &value = function.metadata.arguments[index];
  auto reject = [&](const std::string &problem) {
    return fail(NVFP4_INVALID_ARGUMENT,
                describeArgument(function, index) + ": " + problem);
  };
  if (!tensor)
    return reject("expected a tensor, but got a null pointer");
  if (!function.device->reaches(tensor->device))
    return reject("expected memory that device " +
                  std::string(function.device->name()) +
                  " reaches, but got DLPack device type " +
                  std::to_string(tensor->device.device_type));
  if (!isAccepted(value.type, tensor->dtype))
    return reject("expected element type " + value.typeName + ", but got " +
                  formatType(tensor->dtype));
  if (tensor->ndim != static_cast<int>(value.shape.size()) ||
      (tensor->ndim && !tensor->shape))
    return reject("expected rank " + std::to_string(value.shape.size()) +
                  ", but got " + std::to_string(tensor->ndim));
  std::span<const int64_t> shape(tensor->shape, tensor->ndim);
  bool isEmpty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return reject("expected no negative extent, but got " +
                    std::to_string(extent));
    isEmpty |= extent == 0;
  }
  if (!hasShape(value, *tensor))
    return reject("expected shape " + formatShape(value.shape) + ", but got " +
                  formatShape(shape));
  if (isEmpty)
    return NVFP4_OK;
  if (!isAddressable(shape, sizeOf(value.type)))
    return reject("expected a tensor of at most 2^47 bytes, but got shape " +
                  formatShape(shape) + " of " + value.typeName);
  if (std::optional<int> gap = findGap(*tensor))
    return reject("expected a row-major tensor without gaps, but got stride " +
                  std::to_string(tensor->strides[*gap]) + " of dimension " +
                  std::to_string(*gap) + " of shape " + formatShape(shape));
  if (!tensor->data)
    return reject("expected data, but got a null pointer");
  size_t alignment = sizeOf(value.type);
  size_t excess = reinterpret_cast<uintptr_t>(dataOf(*tensor)) % alignment;
  if (excess)
    return reject("expected data aligned to " + std::to_string(alignment) +
                  " bytes, but got an address " + std::to_string(excess) +
                  " bytes past that");
  return NVFP4_OK;
}

/// Rows to a tile of a scale layout, or 0 where the number of rows depends on
/// groups or on another axis.
static int64_t rowsPerTile(const std::string &scaledType) {
  auto says = [&](const char *word) {
    return scaledType.find(word) != std::string::npos;
  };
  if (says(", starts = ") || says(", axis = "))
    return 0;
  return says(", blocked_8x4") ? 8 : says(", blocked") ? 128 : 1;
}

/// The leading extents that scales of `values` must have.
static std::vector<int64_t> expectedRows(const DLTensor &values,
                                         const std::string &scaledType,
                                         int64_t tile) {
  // Weights for sm_90a: strips, blocks and bytes of each matrix, which has one
  // factor.
  if (scaledType.find(", wgmma") != std::string::npos)
    return {values.ndim > 3 ? values.shape[0] : 1};
  std::vector<int64_t> rows(values.shape, values.shape + values.ndim - 1);
  if (!rows.empty())
    rows.back() = rows.back() / tile + (rows.back() % tile != 0);
  return rows;
}

nvfp4_status nvfp4::runtime::checkPairs(const nvfp4_function &function,
                                        const DLTensor *const *arguments) {
  const std::vector<ValueMetadata> &metadata = function.metadata.arguments;
  for (size_t i = 0; i + 1 < metadata.size(); ++i) {
    const ValueMetadata &values = metadata[i], &scales = metadata[i + 1];
    int64_t tile = rowsPerTile(values.scaledType);
    if (values.role != NVFP4_ROLE_VALUES || scales.role != NVFP4_ROLE_SCALES ||
        values.scaledType != scales.scaledType || !tile || values.shape.empty())
      continue;
    std::vector<int64_t> rows =
        expectedRows(*arguments[i], values.scaledType, tile);
    const DLTensor &found = *arguments[i + 1];
    if (static_cast<size_t>(found.ndim) < rows.size() ||
        !std::equal(rows.begin(), rows.end(), found.shape))
      return fail(
          NVFP4_INVALID_ARGUMENT,
          describeArgument(function, i + 1) + ": expected leading extents " +
              formatShape(rows) + " for values of shape " +
              formatShape({arguments[i]->shape,
                           static_cast<size_t>(arguments[i]->ndim)}) +
              ", but got shape " +
              formatShape({found.shape, static_cast<size_t>(found.ndim)}));
  }
  return NVFP4_OK;
}
