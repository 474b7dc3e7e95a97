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

/// Kernels copy and read vectors of so many bytes.
static constexpr size_t kDeviceAlignment = 16;

std::string nvfp4::runtime::describeValue(const nvfp4_function &function,
                                          const char *what, size_t index,
                                          const ValueMetadata &value) {
  std::string text = std::string(what) + " " + std::to_string(index) + " of '" +
                     function.metadata.name + "'";
  if (value.role != NVFP4_ROLE_PLAIN)
    text +=
        std::string(value.role == NVFP4_ROLE_VALUES ? " (values" : " (scales") +
        " of " + value.scaled->text + ")";
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

void StoredTensor::set(const ValueMetadata &value, const DLTensor *given) {
  isSet = given != nullptr;
  if (!isSet)
    return;
  tensor = *given;
  DLDataType type = tensor.dtype;
  bool isPacked = value.role == NVFP4_ROLE_VALUES &&
                  (value.type.code == kDLInt || value.type.code == kDLUInt) &&
                  type.code == NVFP4_DL_FLOAT4_E2M1FN && type.bits == 4 &&
                  tensor.ndim > 0 && tensor.shape;
  if (!isPacked || (type.lanes != 1 && type.lanes != 2))
    return;
  // A size that is no whole number of bytes, or with gaps, is refused later.
  if (type.lanes == 1) {
    int64_t last = tensor.shape[tensor.ndim - 1];
    if (last % 2 != 0 || findGap(tensor))
      return;
    shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    shape.back() = last / 2;
    tensor.shape = shape.data();
    tensor.strides = nullptr;
  }
  tensor.dtype = {kDLUInt, 8, 1};
}

/// Whether a process can address as many bytes; extents are positive.
static bool isAddressable(std::span<const int64_t> shape, int64_t bytes) {
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return false;
  return bytes <= kAddressSpace;
}

/// The device or memory that a tensor must have, or an empty text.
static std::string findPlaceProblem(const nvfp4_function &function,
                                    const ValueMetadata &value,
                                    const DLTensor &tensor,
                                    const TensorPlace &place) {
  DLDevice found = tensor.device;
  std::string got = "DLPack device type " + std::to_string(found.device_type);
  if (value.isScalar || !place.device)
    return function.device->reaches(found)
               ? ""
               : "expected memory that device " +
                     std::string(function.device->name()) +
                     " reaches, but got " + got;
  if (found.device_type == place.device->device_type &&
      found.device_id == place.device->device_id)
    return "";
  return "expected memory of DLPack device type " +
         std::to_string(place.device->device_type) + ", number " +
         std::to_string(place.device->device_id) + ", but got type " +
         std::to_string(found.device_type) + ", number " +
         std::to_string(found.device_id);
}

/// The fault of the memory of a tensor with elements, or an empty text.
static std::string findMemoryProblem(const ValueMetadata &value,
                                     const StoredTensor &tensor,
                                     const TensorPlace &place) {
  if (std::optional<int> gap = findGap(*tensor))
    return "expected a row-major tensor without gaps, but got stride " +
           std::to_string(tensor->strides[*gap]) + " of dimension " +
           std::to_string(*gap) + " of shape " + formatShape(tensor.getShape());
  if (!place.hasData && !value.isScalar)
    return "";
  if (!tensor->data)
    return "expected data, but got a null pointer";
  size_t alignment = sizeOf(value.type);
  if (place.device && !value.isScalar)
    alignment = kDeviceAlignment;
  size_t excess = reinterpret_cast<uintptr_t>(tensor.getData()) % alignment;
  if (excess)
    return "expected data aligned to " + std::to_string(alignment) +
           " bytes, but got an address " + std::to_string(excess) +
           " bytes past that";
  return "";
}

/// The fault of a tensor, or an empty text.
static std::string findProblem(const nvfp4_function &function,
                               const ValueMetadata &value,
                               const StoredTensor &tensor,
                               const TensorPlace &place) {
  if (!tensor.get())
    return "expected a tensor, but got a null pointer";
  if (place.hasData || value.isScalar)
    if (std::string problem = findPlaceProblem(function, value, *tensor, place);
        !problem.empty())
      return problem;
  if (!isAccepted(value.type, tensor->dtype))
    return "expected element type " + value.typeName + ", but got " +
           formatType(tensor->dtype);
  if (tensor->ndim != static_cast<int>(value.shape.size()) ||
      (tensor->ndim && !tensor->shape))
    return "expected rank " + std::to_string(value.shape.size()) +
           ", but got " + std::to_string(tensor->ndim);
  bool isEmpty = false;
  for (int64_t extent : tensor.getShape()) {
    if (extent < 0)
      return "expected no negative extent, but got " + std::to_string(extent);
    isEmpty |= extent == 0;
  }
  if (!hasShape(value, *tensor))
    return "expected shape " + formatShape(value.shape) + ", but got " +
           formatShape(tensor.getShape());
  if (isEmpty)
    return "";
  if (!isAddressable(tensor.getShape(), sizeOf(value.type)))
    return "expected a tensor of at most 2^47 bytes, but got shape " +
           formatShape(tensor.getShape()) + " of " + value.typeName;
  return findMemoryProblem(value, tensor, place);
}

static nvfp4_status check(const nvfp4_function &function, const char *what,
                          size_t index, const ValueMetadata &value,
                          const StoredTensor &tensor,
                          const TensorPlace &place) {
  std::string problem = findProblem(function, value, tensor, place);
  if (problem.empty())
    return NVFP4_OK;
  return fail(NVFP4_INVALID_ARGUMENT,
              describeValue(function, what, index, value) + ": " + problem);
}

nvfp4_status nvfp4::runtime::checkArgument(const nvfp4_function &function,
                                           size_t index,
                                           const StoredTensor &tensor,
                                           const TensorPlace &place) {
  return check(function, "argument", index, function.metadata.arguments[index],
               tensor, place);
}

nvfp4_status nvfp4::runtime::checkResult(const nvfp4_function &function,
                                         size_t index,
                                         const StoredTensor &tensor,
                                         const TensorPlace &place) {
  return check(function, "result", index, function.metadata.results[index],
               tensor, place);
}

/// Rows to a tile of a scale layout, or 0 where the number of rows depends on
/// groups or on another axis.
static int64_t rowsPerTile(const ScaledMetadata &type) {
  if (type.starts != "whole" ||
      type.axis + 1 != static_cast<int64_t>(type.shape.size()))
    return 0;
  return type.layout == "blocked_8x4" ? 8 : type.layout == "blocked" ? 128 : 1;
}

/// The leading extents that scales of `values` must have.
static std::vector<int64_t>
expectedRows(const DLTensor &values, const ScaledMetadata &type, int64_t tile) {
  // Weights for sm_90a: strips, blocks and bytes of each matrix, which has one
  // factor.
  if (type.layout == "wgmma" || type.layout == "wgmma_f16")
    return {values.ndim > 3 ? values.shape[0] : 1};
  std::vector<int64_t> rows(values.shape, values.shape + values.ndim - 1);
  if (!rows.empty())
    rows.back() = rows.back() / tile + (rows.back() % tile != 0);
  return rows;
}

nvfp4_status
nvfp4::runtime::checkPairs(const nvfp4_function &function,
                           std::span<const StoredTensor> arguments) {
  const std::vector<ValueMetadata> &metadata = function.metadata.arguments;
  for (size_t i = 0; i + 1 < metadata.size(); ++i) {
    const ValueMetadata &values = metadata[i], &scales = metadata[i + 1];
    if (values.role != NVFP4_ROLE_VALUES || scales.role != NVFP4_ROLE_SCALES ||
        values.scaled != scales.scaled || values.shape.empty())
      continue;
    int64_t tile = rowsPerTile(*values.scaled);
    if (!tile)
      continue;
    std::vector<int64_t> rows =
        expectedRows(*arguments[i], *values.scaled, tile);
    std::span<const int64_t> found = arguments[i + 1].getShape();
    if (found.size() < rows.size() ||
        !std::equal(rows.begin(), rows.end(), found.begin()))
      return fail(NVFP4_INVALID_ARGUMENT,
                  describeValue(function, "argument", i + 1, scales) +
                      ": expected leading extents " + formatShape(rows) +
                      " for values of shape " +
                      formatShape(arguments[i].getShape()) +
                      ", but got shape " + formatShape(found));
  }
  return NVFP4_OK;
}

nvfp4_status nvfp4::runtime::checkArguments(const nvfp4_function &function,
                                            const DLTensor *const *arguments,
                                            size_t count,
                                            const TensorPlace &place,
                                            std::vector<StoredTensor> &stored) {
  stored.resize(count);
  for (size_t i = 0; i < count; ++i) {
    stored[i].set(function.metadata.arguments[i], arguments[i]);
    if (nvfp4_status status = checkArgument(function, i, stored[i], place))
      return status;
  }
  return checkPairs(function, stored);
}

nvfp4_status nvfp4::runtime::checkCounts(const nvfp4_function *function,
                                         const void *arguments,
                                         size_t numArguments,
                                         const void *results,
                                         size_t numResults) {
  if (!function || (numArguments && !arguments) || (numResults && !results))
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  const FunctionMetadata &metadata = function->metadata;
  if (numArguments == metadata.arguments.size() &&
      numResults == metadata.results.size())
    return NVFP4_OK;
  return fail(NVFP4_INVALID_ARGUMENT,
              "'" + metadata.name + "': expected " +
                  std::to_string(metadata.arguments.size()) +
                  " arguments and " + std::to_string(metadata.results.size()) +
                  " results, but got " + std::to_string(numArguments) +
                  " and " + std::to_string(numResults));
}
