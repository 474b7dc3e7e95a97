//===- CompiledFunction.cpp - Functions that can be called ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function in code, be it compiled into this process or loaded from an
// artefact: both are called through the runtime, with its checks.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/CompiledFunction.h"

#include "llvm/Support/JSON.h"

using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::DType;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Tensor;

CompiledFunction::~CompiledFunction() { nvfp4_module_release(module); }

tensorio::Status CompiledFunction::select(const std::string &entry) {
  if (entry.empty() && nvfp4_module_num_functions(module) == 1) {
    function = nvfp4_module_function_at(module, 0);
    return {};
  }
  if (nvfp4_module_function(module, entry.c_str(), &function))
    return Error{entry.empty() ? "expected --entry with a name: " +
                                     std::string(nvfp4_last_error())
                               : nvfp4_last_error()};
  return {};
}

Expected<std::unique_ptr<CompiledFunction>>
CompiledFunction::compile(mlir::ModuleOp module, const CodeOptions &options,
                          const std::string &entry) {
  std::unique_ptr<CompiledFunction> result(new CompiledFunction);
  result->jit = createJit(module, options);
  if (!result->jit)
    return Error{"the module could not be compiled for " + options.target};
  auto lookup = [](const char *symbol, void *jit) {
    return static_cast<target::Jit *>(jit)->lookup(symbol);
  };
  if (nvfp4_module_from_symbols(lookup, result->jit.get(), &result->module))
    return Error{nvfp4_last_error()};
  if (tensorio::Status status = result->select(entry); !status)
    return status.takeError();
  return result;
}

Expected<std::unique_ptr<CompiledFunction>>
CompiledFunction::load(const std::string &path, const std::string &entry) {
  std::unique_ptr<CompiledFunction> result(new CompiledFunction);
  if (nvfp4_module_load(path.c_str(), &result->module))
    return Error{nvfp4_last_error()};
  if (tensorio::Status status = result->select(entry); !status)
    return status.takeError();
  return result;
}

std::string CompiledFunction::getTarget() const {
  auto description = llvm::json::parse(nvfp4_module_metadata(module));
  if (!description) {
    llvm::consumeError(description.takeError());
    return {};
  }
  const llvm::json::Object *object = description->getAsObject();
  auto target = object ? object->getString("target") : std::nullopt;
  return target.value_or("").str();
}

static DLDataType toDLPack(DType dtype) {
  auto bits = static_cast<uint8_t>(tensorio::dtypeSize(dtype) * 8);
  auto make = [&](int code) {
    return DLDataType{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
  case DType::Bool:
    return make(NVFP4_DL_BOOL);
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return make(kDLUInt);
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    return make(kDLInt);
  case DType::F16:
  case DType::F32:
  case DType::F64:
    return make(kDLFloat);
  case DType::BF16:
    return make(kDLBfloat);
  case DType::F8E4M3FN:
    return make(NVFP4_DL_FLOAT8_E4M3FN);
  case DType::F8E5M2:
    return make(NVFP4_DL_FLOAT8_E5M2);
  case DType::F8E8M0FNU:
    return make(NVFP4_DL_FLOAT8_E8M0FNU);
  }
  llvm_unreachable("unknown DType");
}

/// A tensor that shares the memory of a result and frees it at the end.
static Expected<Tensor> wrap(DLManagedTensor *managed, DType dtype) {
  std::shared_ptr<const void> owner(
      managed, [](DLManagedTensor *tensor) { tensor->deleter(tensor); });
  const DLTensor &tensor = managed->dl_tensor;
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  auto bytes = tensorio::countBytes(dtype, shape);
  if (!bytes)
    return bytes.takeError();
  auto *data = static_cast<const std::byte *>(tensor.data);
  return Tensor::view(dtype, std::move(shape),
                      {data, static_cast<size_t>(*bytes)}, owner);
}

Expected<std::vector<Tensor>>
CompiledFunction::call(const std::vector<Tensor> &arguments,
                       const Signature &signature,
                       const std::string &device) const {
  std::vector<DLTensor> tensors;
  for (const Tensor &argument : arguments) {
    DLTensor &tensor = tensors.emplace_back();
    tensor = {};
    tensor.data = const_cast<std::byte *>(argument.data());
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(argument.rank());
    tensor.dtype = toDLPack(argument.dtype());
    tensor.shape = const_cast<int64_t *>(argument.shape().data());
  }
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  std::vector<DLManagedTensor *> managed(signature.results.size());
  if (nvfp4_function_call_on(device.empty() ? nullptr : device.c_str(),
                             function, pointers.data(), pointers.size(),
                             managed.data(), managed.size(), nullptr))
    return Error{nvfp4_last_error()};
  std::vector<Tensor> results;
  std::string problem;
  for (size_t i = 0; i < managed.size(); ++i) {
    Expected<Tensor> result = wrap(managed[i], signature.results[i].dtype);
    if (result)
      results.push_back(std::move(*result));
    else
      problem = result.message();
  }
  if (!problem.empty())
    return Error{problem};
  return results;
}
