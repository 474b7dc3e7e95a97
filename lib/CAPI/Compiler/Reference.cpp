//===- Reference.cpp - The interpreter in C ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DLPack tensors to those of the interpreter and back. Arguments are checked
// against their signature here, since the interpreter trusts its caller.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/Reference.h"

#include "Diagnostics.h"

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Strategy/KernelTargets.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Tools/ReferenceRun.h"

#include "mlir/CAPI/IR.h"

#include <thread>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::capi;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Tensor;

static bool isCompact(const DLTensor &tensor) {
  int64_t stride = 1;
  for (int i = tensor.ndim; tensor.strides && i-- > 0;) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != stride)
      return false;
    stride *= tensor.shape[i];
  }
  return true;
}

/// A view of `tensor`, which the signature describes as `type`.
static Expected<Tensor> toTensor(const DLTensor *tensor,
                                 const tools::ValueType &type) {
  if (!tensor || tensor->ndim < 0 || (tensor->ndim && !tensor->shape))
    return Error{"expected a tensor, but got null"};
  if (tensor->device.device_type != kDLCPU || !isCompact(*tensor))
    return Error{"expected a row-major tensor of the CPU"};
  size_t bits = tensorio::dtypeSize(type.dtype) * 8;
  if (tensor->dtype.bits * tensor->dtype.lanes != bits)
    return Error{"expected elements of " + std::to_string(bits) + " bits (" +
                 type.describe() + "), but got " +
                 std::to_string(tensor->dtype.bits * tensor->dtype.lanes)};
  std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->ndim);
  bool fits = shape.size() == type.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = type.shape[i] < 0 || type.shape[i] == shape[i];
  if (!fits)
    return Error{"expected " + type.describe() + ", but got shape " +
                 tensorio::formatShape(shape)};
  auto bytes = tensorio::countBytes(type.dtype, shape);
  if (!bytes)
    return bytes.takeError();
  if (*bytes && !tensor->data)
    return Error{"expected data, but got null"};
  const auto *data =
      static_cast<const std::byte *>(tensor->data) + tensor->byte_offset;
  return Tensor::view(type.dtype, std::move(shape),
                      {*bytes ? data : nullptr, static_cast<size_t>(*bytes)},
                      nullptr);
}

static Expected<std::vector<Tensor>>
toTensors(const DLTensor *const *tensors, size_t count,
          const std::vector<tools::ValueType> &types, const char *what) {
  if (count != types.size() || (count && !tensors))
    return Error{"expected " + std::to_string(types.size()) + " " + what +
                 "s, but got " + std::to_string(count)};
  std::vector<Tensor> result;
  for (size_t i = 0; i < count; ++i) {
    Expected<Tensor> tensor = toTensor(tensors[i], types[i]);
    if (!tensor)
      return Error{std::string(what) + " " + std::to_string(i) + ": " +
                   tensor.message()};
    result.push_back(std::move(*tensor));
  }
  return result;
}

static int countThreads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

static Expected<tools::Signature> getSignature(MlirModule module,
                                               MlirStringRef function) {
  if (!module.ptr)
    return Error{"expected a module, but got null"};
  return tools::Signature::get(unwrap(module), toString(function).str());
}

namespace {
/// A result and what its deleter needs.
struct OwnedTensor {
  DLManagedTensor managed{};
  std::vector<int64_t> shape;
  Tensor tensor;
};
} // namespace

static DLManagedTensor *toManaged(Tensor tensor) {
  auto *owned = new OwnedTensor;
  owned->shape.assign(tensor.shape().begin(), tensor.shape().end());
  DLTensor &view = owned->managed.dl_tensor;
  view.data = const_cast<std::byte *>(tensor.data());
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(owned->shape.size());
  // The type is that of the signature; here it is bytes of a size.
  view.dtype = {kDLUInt,
                static_cast<uint8_t>(tensorio::dtypeSize(tensor.dtype()) * 8),
                1};
  view.shape = owned->shape.data();
  owned->tensor = std::move(tensor);
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = [](DLManagedTensor *managed) {
    delete static_cast<OwnedTensor *>(managed->manager_ctx);
  };
  return &owned->managed;
}

int64_t nvfp4ModuleGetNumResults(MlirModule module, MlirStringRef function,
                                 Nvfp4DiagnosticSink sink) {
  auto signature = getSignature(module, function);
  if (signature)
    return static_cast<int64_t>(signature->results.size());
  reportError(sink, signature.message());
  return -1;
}

/// The interpreter's values for `arguments`.
static Expected<std::vector<reference::Value>>
interpret(MlirModule module, const tools::Signature &signature,
          const DLTensor *const *arguments, size_t numArguments,
          const reference::SampleSpec &sample, const std::string &target) {
  auto tensors =
      toTensors(arguments, numArguments, signature.arguments, "argument");
  if (!tensors)
    return tensors.takeError();
  return tools::interpret(unwrap(module), signature, *tensors, sample, target,
                          countThreads());
}

MlirLogicalResult
nvfp4ModuleInterpret(MlirModule module, MlirStringRef function,
                     const DLTensor *const *arguments, size_t numArguments,
                     DLManagedTensor **results, size_t numResults,
                     Nvfp4DiagnosticSink sink) {
  auto signature = getSignature(module, function);
  if (!signature)
    return reportError(sink, signature.message());
  DiagnosticScope scope(unwrap(module).getContext(), sink);
  auto values =
      interpret(module, *signature, arguments, numArguments, {}, "cpu");
  if (!values)
    return reportError(sink, values.message());
  auto tensors = tools::flatten(*values);
  if (!tensors)
    return reportError(sink, tensors.message());
  if (tensors->size() != numResults || (numResults && !results))
    return reportError(sink,
                       "expected room for " + std::to_string(tensors->size()) +
                           " results, but got " + std::to_string(numResults));
  for (size_t i = 0; i < numResults; ++i)
    results[i] = toManaged(std::move((*tensors)[i]));
  return {1};
}

MlirLogicalResult
nvfp4ModuleCheck(MlirModule module, MlirStringRef function,
                 MlirStringRef target, const DLTensor *const *arguments,
                 size_t numArguments, const DLTensor *const *results,
                 size_t numResults, bool exact, int64_t sampledRows,
                 MlirStringCallback callback, void *userData,
                 Nvfp4DiagnosticSink sink) {
  auto signature = getSignature(module, function);
  if (!signature)
    return reportError(sink, signature.message());
  DiagnosticScope scope(unwrap(module).getContext(), sink);
  auto found = toTensors(results, numResults, signature->results, "result");
  if (!found)
    return reportError(sink, found.message());
  if (sampledRows < 0)
    return reportError(sink, "expected a number of rows that is not negative, "
                             "but got " +
                                 Twine(sampledRows));
  reference::SampleSpec sample;
  sample.maxRows = sample.maxColumns = sampledRows;
  std::string name(target.data, target.length);
  strategy::registerKernelTargets();
  if (name != "cpu" && !target::GpuTarget::isName(name))
    return reportError(sink, "expected target " + strategy::listGpus("cpu") +
                                 ", but got '" + name + "'");
  auto values =
      interpret(module, *signature, arguments, numArguments, sample, name);
  if (!values)
    return reportError(sink, values.message());
  std::string text;
  llvm::raw_string_ostream os(text);
  tensorio::Status status =
      tools::checkResults(*signature, *found, *values, exact, os);
  if (callback)
    callback({text.data(), text.size()}, userData);
  return status ? MlirLogicalResult{1} : reportError(sink, status.message());
}
