//===- TvmFfi.cpp - Calls by tvm-ffi's convention ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The call, and its results as values of tvm-ffi. Functions on device memory
// run in the stream of the caller's environment, with memory of its allocator.
//
//===----------------------------------------------------------------------===//

#include "../DeviceFunction.h"
#include "../Error.h"
#include "Artefact.h"
#include "GivenResults.h"
#include "Scalar.h"
#include "TvmFfiArguments.h"

using namespace nvfp4::runtime;

namespace {
/// One call. Functions that return false have raised the error in tvm-ffi.
class Call {
public:
  Call(const tvm::Library &library, const nvfp4_function &function)
      : library(library), function(function), metadata(function.metadata),
        arguments(library, function) {}

  bool run(std::span<const tvm::Any> given, tvm::Any &result) {
    if (!arguments.read(given))
      return false;
    tensors = arguments.getTensors();
    return function.module->metadata.isOnDevice ? runOnDevice(result)
                                                : runOnHost(result);
  }

private:
  template <typename... Text> bool raise(Text... text) {
    return tvm::raise(library, text...);
  }
  std::string describeResult(size_t index) const {
    return arguments.describe(metadata.arguments.size() + index);
  }

  bool runOnHost(tvm::Any &result);
  bool findDevice();
  bool runOnDevice(tvm::Any &result);
  bool allocate(DLTensor prototype, const std::string &what,
                std::vector<tvm::Reference> &owners);
  bool allocateWorkspace(uint64_t bytes, std::vector<tvm::Reference> &owners,
                         void *&data);
  bool giveBack(std::vector<tvm::Any> &values, tvm::Any &result);

  const tvm::Library &library;
  const nvfp4_function &function;
  const FunctionMetadata &metadata;
  tvm::Arguments arguments;
  std::span<const DLTensor *const> tensors;
  DLDevice place{};
};
} // namespace

/// Packed values of scaled tensors are bytes.
static DLDataType getResultType(const ValueMetadata &value) {
  if (value.role == NVFP4_ROLE_VALUES && value.type.code == kDLInt)
    return {kDLUInt, value.type.bits, 1};
  return value.type;
}

static tvm::Any toAny(Number number, DLDataType type) {
  tvm::Any value{};
  if (const auto *integer = std::get_if<int64_t>(&number)) {
    value.kind = type.code == NVFP4_DL_BOOL ? tvm::kBool : tvm::kInt;
    value.integer = *integer;
  } else {
    value.kind = tvm::kFloat;
    value.real = std::get<double>(number);
  }
  return value;
}

/// Moves `values` to `result`: nothing, the only one, or an array.
bool Call::giveBack(std::vector<tvm::Any> &values, tvm::Any &result) {
  if (values.size() == 1) {
    result = values.front();
    return true;
  }
  std::vector<tvm::Reference> owners;
  for (const tvm::Any &value : values)
    if (value.kind >= tvm::kFirstObject)
      owners.emplace_back(library, value.pointer);
  return values.empty() ||
         tvm::callGlobal(library, "ffi.Array", values.data(),
                         static_cast<int32_t>(values.size()), result);
}

bool Call::runOnHost(tvm::Any &result) {
  size_t count = metadata.arguments.size();
  if (arguments.hasResults()) {
    nvfp4_status status =
        callOnHost(function, tensors.data(), tensors.data() + count);
    return status == NVFP4_OK || raise(status);
  }
  std::vector<DLManagedTensor *> made(metadata.results.size());
  std::vector<tvm::Any> values;
  values.reserve(made.size());
  if (nvfp4_status status = nvfp4_function_call(
          &function, tensors.data(), count, made.data(), made.size(), nullptr))
    return raise(status);
  bool isDone = true;
  for (size_t i = 0; i < made.size(); ++i) {
    const ValueMetadata &value = metadata.results[i];
    DLTensor &tensor = made[i]->dl_tensor;
    if (value.isScalar) {
      values.push_back(toAny(loadNumber(value, tensor.data), value.type));
    } else if (isDone) {
      tensor.dtype = getResultType(value);
      tvm::Any any{tvm::kTensor, 0, {}};
      isDone = !library.tensorFromDLPack(made[i], 0, 0, &any.pointer);
      if (isDone) {
        // The tensor owns the memory now.
        values.push_back(any);
        continue;
      }
    }
    made[i]->deleter(made[i]);
  }
  if (isDone)
    return giveBack(values, result);
  for (const tvm::Any &value : values)
    if (value.kind >= tvm::kFirstObject)
      library.objectDecRef(value.pointer);
  return false;
}

/// Sets `place` to the device of the first tensor.
bool Call::findDevice() {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i < metadata.arguments.size() && metadata.arguments[i].isScalar)
      continue;
    place = tensors[i]->device;
    if (place.device_type == kDLCUDA || place.device_type == kDLExtDev)
      return true;
    return raise("ValueError",
                 arguments.describe(i) +
                     ": expected memory of a GPU (DLPack device type 2), but "
                     "got DLPack device type " +
                     std::to_string(place.device_type) +
                     "; the function was compiled for memory of a device");
  }
  return raise("ValueError", "'" + metadata.name +
                                 "': expected results as arguments, which say "
                                 "the device, since no argument is a tensor");
}

bool Call::allocate(DLTensor prototype, const std::string &what,
                    std::vector<tvm::Reference> &owners) {
  if (!library.envGetDLPackManagedTensorAllocator())
    return raise("RuntimeError",
                 what + ": expected an allocator in tvm-ffi's environment, "
                        "which tensors of torch bring, or results and a "
                        "workspace as arguments");
  prototype.device = place;
  void *object = nullptr;
  if (library.envTensorAlloc(&prototype, &object))
    return false;
  owners.emplace_back(library, object);
  return true;
}

bool Call::allocateWorkspace(uint64_t bytes,
                             std::vector<tvm::Reference> &owners, void *&data) {
  // Allocators of other systems may align to less.
  constexpr uintptr_t alignment = 256;
  auto extent = static_cast<int64_t>(bytes + alignment - 1);
  DLTensor prototype{};
  prototype.ndim = 1;
  prototype.shape = &extent;
  prototype.dtype = {kDLUInt, 8, 1};
  if (!allocate(prototype, describeResult(metadata.results.size()), owners))
    return false;
  const DLTensor &tensor = owners.back().getTensor();
  uintptr_t address =
      reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  data = reinterpret_cast<void *>((address + alignment - 1) / alignment *
                                  alignment);
  return true;
}

bool Call::runOnDevice(tvm::Any &result) {
  if (!findDevice())
    return false;
  size_t count = metadata.arguments.size();
  for (const ValueMetadata &value : metadata.results)
    if (value.isScalar)
      return raise("NotImplementedError",
                   "'" + metadata.name +
                       "': a result that is a scalar would have to be waited "
                       "for");
  void *stream = library.envGetStream(place.device_type, place.device_id);
  CallNeeds needs;
  nvfp4_status status = loadKernels(function, place, stream);
  if (status == NVFP4_OK)
    status = measureCall(function, tensors.data(), needs);
  if (status != NVFP4_OK)
    return raise(status);

  std::vector<tvm::Reference> made, room;
  std::vector<DLTensor> results(metadata.results.size());
  std::vector<DLTensor *> pointers;
  for (size_t i = 0; i < results.size(); ++i) {
    if (arguments.hasResults()) {
      results[i] = *tensors[count + i];
    } else {
      results[i].ndim = static_cast<int32_t>(needs.shapes[i].size());
      results[i].shape = needs.shapes[i].data();
      results[i].dtype = getResultType(metadata.results[i]);
      if (!allocate(results[i], describeResult(i), made))
        return false;
      results[i] = made.back().getTensor();
    }
    pointers.push_back(&results[i]);
  }
  void *workspace = nullptr;
  if (arguments.hasWorkspace()
          ? !arguments.getWorkspace(needs.workspace, place, workspace)
          : needs.workspace &&
                !allocateWorkspace(needs.workspace, room, workspace))
    return false;
  if ((status = nvfp4_function_run(&function, tensors.data(), count,
                                   pointers.data(), pointers.size(), workspace,
                                   needs.workspace, stream)))
    return raise(status);
  std::vector<tvm::Any> values(made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    values[i].kind = tvm::kTensor;
    values[i].pointer = made[i].release();
  }
  return giveBack(values, result);
}

/// Does `work` with the library and the function; -1 after an error.
static int32_t
enter(nvfp4_artefact *artefact, const char *name,
      bool (*work)(const tvm::Library &library, const nvfp4_function &function,
                   std::span<const tvm::Any> arguments, tvm::Any &result),
      const void *arguments, int32_t count, void *result) {
  const tvm::Library *library = tvm::findLibrary();
  if (!library)
    return -1;
  const nvfp4_function *function = nullptr;
  nvfp4_status status = NVFP4_OK;
  try {
    status = findFunction(artefact, name, function);
    if (status == NVFP4_OK)
      return work(*library, *function,
                  {static_cast<const tvm::Any *>(arguments),
                   static_cast<size_t>(count)},
                  *static_cast<tvm::Any *>(result))
                 ? 0
                 : -1;
  } catch (...) {
    status = failWithException();
  }
  tvm::raise(*library, status);
  return -1;
}

extern "C" int32_t nvfp4_tvm_ffi_call(nvfp4_artefact *artefact,
                                      const char *function, void *,
                                      const void *arguments, int32_t count,
                                      void *result) {
  return enter(
      artefact, function,
      [](const tvm::Library &library, const nvfp4_function &called,
         std::span<const tvm::Any> given, tvm::Any &returned) {
        return Call(library, called).run(given, returned);
      },
      arguments, count, result);
}

static std::string describeType(const ValueMetadata &value) {
  std::string text = value.typeName;
  if (!value.isScalar)
    text += formatShape(value.shape);
  if (value.role != NVFP4_ROLE_PLAIN)
    text +=
        std::string(value.role == NVFP4_ROLE_VALUES ? ", values" : ", scales") +
        " of " + value.scaled->text;
  return text + (value.isMutable ? ", written to" : "");
}

extern "C" int32_t nvfp4_tvm_ffi_doc(nvfp4_artefact *artefact,
                                     const char *function, void *,
                                     const void *arguments, int32_t count,
                                     void *result) {
  return enter(
      artefact, function,
      [](const tvm::Library &library, const nvfp4_function &called,
         std::span<const tvm::Any>, tvm::Any &returned) {
        std::string text = called.metadata.name + "\n";
        for (const ValueMetadata &value : called.metadata.arguments)
          text += "  argument: " + describeType(value) + "\n";
        for (const ValueMetadata &value : called.metadata.results)
          text += "  result: " + describeType(value) + "\n";
        text += called.module->metadata.isOnDevice
                    ? "Tensors are in memory of a GPU; the work goes to the "
                      "caller's stream."
                    : "Tensors are in memory of the host.";
        tvm::Bytes bytes = {text.data(), text.size()};
        return !library.stringFromByteArray(&bytes, &returned);
      },
      arguments, count, result);
}
