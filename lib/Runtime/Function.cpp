//===- Function.cpp - What functions take -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries of a function that need no call.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Error.h"

using namespace nvfp4::runtime;

static nvfp4_status getInfo(const nvfp4_function *function,
                            const std::vector<ValueMetadata> &values,
                            const char *what, size_t index,
                            nvfp4_value_info *info) {
  if (!info)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  if (index >= values.size())
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected an index below " + std::to_string(values.size()) +
                    " of " + what + " of '" + function->metadata.name +
                    "', but got " + std::to_string(index));
  const ValueMetadata &value = values[index];
  *info = {
      value.type,         value.typeName.c_str(),
      value.isScalar,     static_cast<int32_t>(value.shape.size()),
      value.shape.data(), value.isMutable,
      value.role,         value.scaled ? value.scaled->text.c_str() : nullptr};
  return NVFP4_OK;
}

static nvfp4_status getScaled(const nvfp4_function *function,
                              const std::vector<ValueMetadata> &values,
                              const char *what, size_t index,
                              nvfp4_scaled_info *info) {
  nvfp4_value_info value;
  if (!info)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  if (nvfp4_status status = getInfo(function, values, what, index, &value))
    return status;
  const std::optional<ScaledMetadata> &scaled = values[index].scaled;
  if (!scaled)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected " + std::string(what) + " " + std::to_string(index) +
                    " of '" + function->metadata.name +
                    "' to be the values or scales of a block-scaled tensor, "
                    "but it is a plain " +
                    (value.is_scalar ? "scalar" : "tensor"));
  *info = {scaled->text.c_str(),
           static_cast<int32_t>(scaled->shape.size()),
           scaled->shape.data(),
           scaled->format.c_str(),
           scaled->layout.c_str(),
           scaled->starts.c_str(),
           static_cast<int32_t>(scaled->axis)};
  return NVFP4_OK;
}

extern "C" const char *nvfp4_function_name(const nvfp4_function *function) {
  return function ? function->metadata.name.c_str() : "";
}

extern "C" size_t nvfp4_function_num_arguments(const nvfp4_function *function) {
  return function ? function->metadata.arguments.size() : 0;
}

extern "C" size_t nvfp4_function_num_results(const nvfp4_function *function) {
  return function ? function->metadata.results.size() : 0;
}

extern "C" void *nvfp4_function_xla_handler(const nvfp4_function *function) {
  return function ? function->xlaHandler : nullptr;
}

extern "C" nvfp4_status nvfp4_function_argument(const nvfp4_function *function,
                                                size_t index,
                                                nvfp4_value_info *info) try {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  return getInfo(function, function->metadata.arguments, "arguments", index,
                 info);
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status nvfp4_function_result(const nvfp4_function *function,
                                              size_t index,
                                              nvfp4_value_info *info) try {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  return getInfo(function, function->metadata.results, "results", index, info);
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status
nvfp4_function_argument_scaled(const nvfp4_function *function, size_t index,
                               nvfp4_scaled_info *info) try {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  return getScaled(function, function->metadata.arguments, "argument", index,
                   info);
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status
nvfp4_function_result_scaled(const nvfp4_function *function, size_t index,
                             nvfp4_scaled_info *info) try {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  return getScaled(function, function->metadata.results, "result", index, info);
} catch (...) {
  return failWithException();
}

extern "C" nvfp4_status nvfp4_function_check(const nvfp4_function *function,
                                             size_t index,
                                             const DLTensor *tensor) try {
  if (!function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  nvfp4_value_info info;
  if (nvfp4_status status = getInfo(function, function->metadata.arguments,
                                    "arguments", index, &info))
    return status;
  StoredTensor stored;
  stored.set(function->metadata.arguments[index], tensor);
  // Functions on device memory take both.
  TensorPlace place;
  if (tensor && function->module->metadata.isOnDevice &&
      !function->device->reaches(tensor->device))
    place.device = tensor->device;
  return checkArgument(*function, index, stored, place);
} catch (...) {
  return failWithException();
}
