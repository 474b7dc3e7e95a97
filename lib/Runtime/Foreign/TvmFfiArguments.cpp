//===- TvmFfiArguments.cpp - Arguments of tvm-ffi's convention --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers become scalars of the element types, and pairs of values and scales
// two tensors. The runtime checks the tensors themselves.
//
//===----------------------------------------------------------------------===//

#include "TvmFfiArguments.h"

#include "../Check.h"
#include "../ElementType.h"
#include "../Error.h"
#include "Scalar.h"

using namespace nvfp4::runtime;
using namespace nvfp4::runtime::tvm;

const char *nvfp4::runtime::tvm::kindOf(nvfp4_status status) {
  switch (status) {
  case NVFP4_INVALID_ARGUMENT:
  case NVFP4_INVALID_DATA:
    return "ValueError";
  case NVFP4_OUT_OF_MEMORY:
    return "MemoryError";
  case NVFP4_UNSUPPORTED:
    return "NotImplementedError";
  default:
    return "RuntimeError";
  }
}

static std::string nameOfKind(int32_t kind) {
  switch (kind) {
  case kNone:
    return "None";
  case kInt:
    return "an integer";
  case kBool:
    return "a truth value";
  case kFloat:
    return "a floating-point number";
  case kArray:
  case kList:
    return "a sequence";
  default:
    return "a value of tvm-ffi's type index " + std::to_string(kind);
  }
}

bool nvfp4::runtime::tvm::raise(const Library &library, const char *kind,
                                const std::string &message) {
  library.errorSetRaisedFromCStr(kind, message.c_str());
  return false;
}

bool nvfp4::runtime::tvm::raise(const Library &library, nvfp4_status status) {
  return raise(library, kindOf(status), nvfp4_last_error());
}

/// Null for values that are no tensors.
static const DLTensor *getTensor(const Any &value) {
  if (value.kind == kTensor)
    return &static_cast<const Tensor *>(value.pointer)->tensor;
  return value.kind == kDLTensor ? static_cast<const DLTensor *>(value.pointer)
                                 : nullptr;
}

std::string Arguments::describe(size_t index) const {
  size_t count = metadata.arguments.size();
  if (index < count)
    return describeValue(function, "argument", index,
                         metadata.arguments[index]);
  index -= count;
  if (index < metadata.results.size())
    return describeValue(function, "result", index, metadata.results[index]);
  return "workspace of '" + metadata.name + "'";
}

bool Arguments::addValue(const Any &value, bool isItem) {
  if (value.kind == kMovedObject) {
    auto *object = *static_cast<Object **>(value.pointer);
    Any moved = {object ? object->kind : int32_t(kNone), 0, {}};
    moved.pointer = object;
    return addValue(moved, isItem);
  }
  if (!isItem && (value.kind == kArray || value.kind == kList))
    return addItems(value);
  values.push_back(value);
  return true;
}

/// Values and scales may come as a pair, and so may others.
bool Arguments::addItems(const Any &sequence) {
  bool isList = sequence.kind == kList;
  Any arguments[2] = {sequence, {}};
  Any size{};
  if (!callGlobal(library, isList ? "ffi.ListSize" : "ffi.ArraySize", arguments,
                  1, size))
    return false;
  for (int64_t i = 0; i < size.integer; ++i) {
    arguments[1] = {kInt, 0, {i}};
    Any item{};
    if (!callGlobal(library, isList ? "ffi.ListGetItem" : "ffi.ArrayGetItem",
                    arguments, 2, item))
      return false;
    if (item.kind >= kFirstObject)
      items.emplace_back(library, item.pointer);
    if (!addValue(item, /*isItem=*/true))
      return false;
  }
  return true;
}

bool Arguments::checkCount() const {
  size_t count = metadata.arguments.size(), all = count;
  std::string wanted = std::to_string(count) + " arguments";
  if (!metadata.results.empty()) {
    all += metadata.results.size();
    wanted += ", or " + std::to_string(all) + " with results to write to";
  }
  bool mayHaveWorkspace = function.module->metadata.isOnDevice;
  if (mayHaveWorkspace)
    wanted += ", or " + std::to_string(all + 1) + " with a workspace as well";
  if (values.size() == count || values.size() == all ||
      (mayHaveWorkspace && values.size() == all + 1))
    return true;
  return raise(library, "TypeError",
               "'" + metadata.name + "': expected " + wanted +
                   " (values and scales count as two), but got " +
                   std::to_string(values.size()));
}

bool Arguments::addNumber(size_t index) {
  const Any &value = values[index];
  const ValueMetadata &scalar = metadata.arguments[index];
  Number number = value.integer;
  if (value.kind == kFloat)
    number = value.real;
  else if (value.kind == kBool)
    number = int64_t(value.integer != 0);
  auto &[description, memory] = scalars.emplace_back();
  if (std::string problem = storeNumber(scalar, number, &memory);
      !problem.empty())
    return raise(library, "ValueError", describe(index) + ": " + problem);
  description.data = &memory;
  description.device = {kDLCPU, 0};
  description.dtype = scalar.type;
  tensors.push_back(&description);
  return true;
}

bool Arguments::addTensor(size_t index) {
  const Any &value = values[index];
  if (const DLTensor *tensor = getTensor(value)) {
    tensors.push_back(tensor);
    return true;
  }
  bool isNumber =
      value.kind == kInt || value.kind == kBool || value.kind == kFloat;
  bool takesNumber =
      index < metadata.arguments.size() && metadata.arguments[index].isScalar;
  if (isNumber && takesNumber)
    return addNumber(index);
  return raise(library, "TypeError",
               describe(index) + ": expected " +
                   (takesNumber ? "a number" : "a tensor") + ", but got " +
                   nameOfKind(value.kind));
}

bool Arguments::getWorkspace(uint64_t bytes, DLDevice place,
                             void *&data) const {
  const DLTensor *tensor = getTensor(values.back());
  std::string what = describe(values.size() - 1);
  if (!tensor)
    return raise(library, "TypeError",
                 what + ": expected a tensor, but got " +
                     nameOfKind(values.back().kind));
  bool isFlat =
      tensor->ndim == 1 && (!tensor->strides || !tensor->shape ||
                            tensor->shape[0] < 2 || tensor->strides[0] == 1);
  if (!isFlat || !isAccepted({kDLUInt, 8, 1}, tensor->dtype) ||
      tensor->device.device_type != place.device_type ||
      tensor->device.device_id != place.device_id)
    return raise(library, "ValueError",
                 what + ": expected bytes (u8) of rank 1 without gaps, in "
                        "memory of the device of the arguments");
  if (tensor->shape[0] < static_cast<int64_t>(bytes))
    return raise(library, "ValueError",
                 what + ": expected " + std::to_string(bytes) +
                     " bytes or more, but got " +
                     std::to_string(tensor->shape[0]));
  data = static_cast<char *>(tensor->data) + tensor->byte_offset;
  return true;
}

bool Arguments::read(std::span<const Any> given) {
  for (const Any &value : given)
    if (!addValue(value, /*isItem=*/false))
      return false;
  if (!checkCount())
    return false;
  size_t numTensors = metadata.arguments.size();
  if (values.size() > numTensors)
    numTensors += metadata.results.size();
  for (size_t i = 0; i < numTensors; ++i)
    if (!addTensor(i))
      return false;
  return true;
}
