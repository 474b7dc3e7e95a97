//===- ReferenceRun.cpp - The interpreter on tensors of files ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of files to values of the interpreter and back, and the comparison:
// within the bound of each element, or to the bit.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/ReferenceRun.h"

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Reference/TensorConversion.h"

using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;

Expected<CheckSpec> CheckSpec::parse(const std::string &text) {
  CheckSpec spec;
  llvm::StringRef rest = text;
  if (rest == "reference")
    return spec;
  int64_t count = 0;
  if (!rest.consume_front("reference:sampled=") ||
      rest.getAsInteger(10, count) || count < 1)
    return Error{"expected --check=reference or reference:sampled=N with N "
                 "at least 1, but got '" +
                 text + "'"};
  spec.sample.maxRows = spec.sample.maxColumns = count;
  return spec;
}

static Error fromLLVM(llvm::Error error) {
  return Error{llvm::toString(std::move(error))};
}

static Expected<reference::Value> toValue(const tensorio::Tensor &tensor,
                                          const ValueType &type) {
  static constexpr reference::Element kElements[] = {
      reference::Element::F64,       reference::Element::F32,
      reference::Element::F16,       reference::Element::BF16,
      reference::Element::F8E4M3FN,  reference::Element::F8E5M2,
      reference::Element::F8E8M0FNU, reference::Element::I1,
      reference::Element::I8,        reference::Element::I16,
      reference::Element::I32,       reference::Element::I64,
      reference::Element::Index};
  for (reference::Element element : kElements) {
    if (type.elementType != reference::stringify(element))
      continue;
    auto converted = reference::fromTensorIO(tensor, element);
    if (!converted)
      return fromLLVM(converted.takeError());
    if (type.isScalar)
      return reference::Value(converted->at(0));
    return reference::Value(std::move(*converted));
  }
  return Error{"the interpreter has no elements of type " + type.elementType};
}

Expected<std::vector<reference::Value>>
tools::interpret(mlir::ModuleOp module, const Signature &signature,
                 const std::vector<tensorio::Tensor> &arguments,
                 const reference::SampleSpec &sample, const std::string &target,
                 int threads) {
  std::vector<reference::Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (signature.arguments[i].isMutable)
      return Error{"argument " + std::to_string(i) + " of '" + signature.name +
                   "' is a memref; the interpreter runs functions on tensors"};
    auto value = toValue(arguments[i], signature.arguments[i]);
    if (!value)
      return Error{"argument " + std::to_string(i) + ": " + value.message()};
    values.push_back(std::move(*value));
  }
  reference::InterpreterOptions options;
  options.sample = sample;
  if (const auto *kernels = strategy::findKernelTarget(target);
      kernels && kernels->getFeatures().roundsElements)
    options.terms = reference::ProductTerms::Elements;
  options.threads = static_cast<unsigned>(threads);
  reference::Interpreter interpreter(module, options);
  auto results = interpreter.run(signature.name, values);
  if (!results)
    return Error{"interpreter: " + llvm::toString(results.takeError())};
  return std::move(*results);
}

/// A tensor of rank 0.
static reference::Tensor toTensor(const reference::Scalar &scalar) {
  auto tensor = reference::Tensor::zeros(scalar.element, {});
  tensor.set(0, scalar);
  return tensor;
}

Expected<std::vector<tensorio::Tensor>>
tools::flatten(const std::vector<reference::Value> &values) {
  std::vector<tensorio::Tensor> tensors;
  for (const reference::Value &value : values) {
    std::vector<reference::Tensor> parts;
    if (auto *scaled = std::get_if<reference::ScaledValue>(&value))
      parts = {scaled->data, scaled->scales};
    else if (auto *tensor = std::get_if<reference::Tensor>(&value))
      parts = {*tensor};
    else
      parts = {toTensor(std::get<reference::Scalar>(value))};
    for (const reference::Tensor &part : parts) {
      auto converted = reference::toTensorIO(part);
      if (!converted)
        return fromLLVM(converted.takeError());
      tensors.push_back(std::move(*converted));
    }
  }
  return tensors;
}

Status tools::checkResults(const Signature &signature,
                           const std::vector<tensorio::Tensor> &results,
                           const std::vector<reference::Value> &expected,
                           bool exact, llvm::raw_ostream &os) {
  reference::CompareOptions options;
  options.exact = exact;
  std::string failed;
  size_t next = 0;
  for (const reference::Value &value : expected) {
    bool isScaled = std::holds_alternative<reference::ScaledValue>(value);
    if (next + isScaled >= results.size())
      return Error{"expected " + std::to_string(results.size()) +
                   " results of the interpreter, but got more"};
    std::string name = "result " + std::to_string(next);
    std::vector<reference::Tensor> parts;
    for (size_t end = next + 1 + isScaled; next < end; ++next) {
      auto part = toValue(results[next], signature.results[next]);
      if (!part)
        return part.takeError();
      if (auto *scalar = std::get_if<reference::Scalar>(&*part))
        parts.push_back(toTensor(*scalar));
      else
        parts.push_back(std::get<reference::Tensor>(*part));
    }
    reference::CompareReport report;
    if (isScaled)
      report = reference::compare(
          parts[0], parts[1], std::get<reference::ScaledValue>(value), options);
    else if (auto *scalar = std::get_if<reference::Scalar>(&value))
      report = reference::compare(parts[0], toTensor(*scalar), options);
    else
      report = reference::compare(parts[0], std::get<reference::Tensor>(value),
                                  options);
    os << "check of " << name << ": "
       << (report.error.empty() ? report.str() : report.error) << "\n";
    if (!report.passed)
      failed += (failed.empty() ? "" : ", ") + name;
  }
  if (!failed.empty())
    return Error{"the reference disagrees with " + failed};
  return {};
}
