//===- XlaArguments.cpp - Arguments of XLA's convention ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only counts and kinds are checked here: the runtime checks the tensors.
//
//===----------------------------------------------------------------------===//

#include "XlaArguments.h"

#include "../Check.h"
#include "../ElementType.h"
#include "../Error.h"
#include "Scalar.h"

#include <algorithm>
#include <charconv>
#include <cstring>

using namespace nvfp4::runtime;
using namespace nvfp4::runtime::xla;

namespace {
struct Element {
  int32_t type;
  DLDataType dtype;
};
} // namespace

static constexpr Element kElements[] = {
    {1, {NVFP4_DL_BOOL, 8, 1}},
    {2, {kDLInt, 8, 1}},
    {3, {kDLInt, 16, 1}},
    {4, {kDLInt, 32, 1}},
    {5, {kDLInt, 64, 1}},
    {6, {kDLUInt, 8, 1}},
    {7, {kDLUInt, 16, 1}},
    {8, {kDLUInt, 32, 1}},
    {9, {kDLUInt, 64, 1}},
    {10, {kDLFloat, 16, 1}},
    {11, {kDLFloat, 32, 1}},
    {12, {kDLFloat, 64, 1}},
    {16, {kDLBfloat, 16, 1}},
    {19, {NVFP4_DL_FLOAT8_E5M2, 8, 1}},
    {20, {NVFP4_DL_FLOAT8_E4M3FN, 8, 1}},
    {32, {NVFP4_DL_FLOAT4_E2M1FN, 4, 1}},
    {33, {NVFP4_DL_FLOAT8_E8M0FNU, 8, 1}},
};

/// A type that no function has, for one that XLA alone has.
static DLDataType getType(int32_t type) {
  for (const Element &element : kElements)
    if (element.type == type)
      return element.dtype;
  return {kDLOpaqueHandle, 0, 0};
}

static DLTensor toTensor(const Buffer &buffer, DLDevice place) {
  DLTensor tensor{};
  tensor.data = buffer.data;
  tensor.device = place;
  tensor.ndim = static_cast<int32_t>(buffer.rank);
  tensor.dtype = getType(buffer.type);
  tensor.shape = buffer.extents;
  return tensor;
}

nvfp4_status Arguments::readScalars(const Attributes &attributes) {
  scalars.resize(metadata.arguments.size());
  for (int64_t i = 0; i < attributes.count; ++i) {
    std::string_view name(attributes.names[i]->data, attributes.names[i]->size);
    size_t index = 0;
    const char *end = name.data() + name.size();
    if (!name.starts_with("arg") ||
        std::from_chars(name.data() + 3, end, index).ptr != end)
      continue;
    std::string what =
        "attribute " + std::string(name) + " of '" + metadata.name + "'";
    if (index >= scalars.size() || !metadata.arguments[index].isScalar)
      return fail(NVFP4_INVALID_ARGUMENT,
                  what + ": expected the number of an argument that is a "
                         "scalar");
    if (attributes.kinds[i] != kScalarAttribute)
      return fail(NVFP4_INVALID_ARGUMENT, what + ": expected a scalar");
    const auto &scalar =
        *static_cast<const ScalarAttribute *>(attributes.values[i]);
    ValueMetadata given;
    given.type = getType(scalar.type);
    // Of a type that numbers have.
    bool isKnown = given.type.code == kDLInt || given.type.code == kDLUInt ||
                   given.type.code == kDLFloat ||
                   given.type.code == kDLBfloat ||
                   given.type.code == NVFP4_DL_BOOL;
    std::string problem = "expected a number";
    if (isKnown)
      problem =
          storeNumber(metadata.arguments[index],
                      loadNumber(given, scalar.value), &memory.emplace_back());
    if (!problem.empty())
      return fail(NVFP4_INVALID_ARGUMENT, what + ": " + problem);
    DLTensor &tensor = scalars[index].emplace();
    tensor = {};
    tensor.data = &memory.back();
    tensor.device = {kDLCPU, 0};
    tensor.dtype = metadata.arguments[index].type;
  }
  return NVFP4_OK;
}

nvfp4_status Arguments::refuseCount(const CallFrame &frame) const {
  auto isGiven = [](const auto &scalar) { return scalar.has_value(); };
  auto given = static_cast<size_t>(
      std::count_if(scalars.begin(), scalars.end(), isGiven));
  size_t wanted = metadata.arguments.size() - given + metadata.results.size();
  return fail(NVFP4_INVALID_ARGUMENT,
              "'" + metadata.name + "': expected " + std::to_string(wanted) +
                  " operands and results in sum, values and scales apart" +
                  (function.module->metadata.isOnDevice
                       ? ", and perhaps one more result as workspace"
                       : "") +
                  ", but got " + std::to_string(frame.arguments.count) +
                  " operands and " + std::to_string(frame.results.count) +
                  " results; scalars may be attributes arg0, arg1, ...");
}

/// Adds the results that share no memory with an operand.
nvfp4_status Arguments::readResults(const CallFrame &frame, DLDevice place) {
  size_t wanted = metadata.arguments.size() + metadata.results.size();
  for (const auto &scalar : scalars)
    wanted -= scalar.has_value();
  auto numOperands = static_cast<size_t>(frame.arguments.count);
  if (numOperands > wanted)
    return refuseCount(frame);
  bool mayShare = numOperands == wanted;
  for (int64_t i = 0; i < frame.results.count; ++i) {
    const Buffer &result = *frame.results.buffers[i];
    bool isEmpty =
        std::count(result.extents, result.extents + result.rank, 0) != 0;
    auto shares = [&](const Buffer *operand) {
      return isEmpty || operand->data == result.data;
    };
    if (mayShare && std::any_of(frame.arguments.buffers,
                                frame.arguments.buffers + numOperands, shares))
      continue;
    DLTensor tensor = toTensor(result, place);
    if (buffers.size() < wanted) {
      buffers.push_back(tensor);
    } else if (function.module->metadata.isOnDevice && !workspace) {
      workspace = tensor;
    } else {
      return refuseCount(frame);
    }
  }
  return buffers.size() == wanted ? NVFP4_OK : refuseCount(frame);
}

nvfp4_status Arguments::read(const CallFrame &frame, DLDevice place) {
  if (nvfp4_status status = readScalars(frame.attributes))
    return status;
  for (int64_t i = 0; i < frame.arguments.count; ++i)
    buffers.push_back(toTensor(*frame.arguments.buffers[i], place));
  if (nvfp4_status status = readResults(frame, place))
    return status;
  auto next = buffers.begin();
  for (size_t i = 0; i < metadata.arguments.size(); ++i) {
    bool isScalar = metadata.arguments[i].isScalar;
    if (isScalar && !scalars[i] && place.device_type != kDLCPU)
      return fail(
          NVFP4_INVALID_ARGUMENT,
          describeValue(function, "argument", i, metadata.arguments[i]) +
              ": expected the scalar as the attribute arg" + std::to_string(i) +
              ", since operands are in memory of the device");
    pointers.push_back(scalars[i] ? &*scalars[i] : &*next++);
  }
  while (next != buffers.end())
    pointers.push_back(&*next++);
  return NVFP4_OK;
}
