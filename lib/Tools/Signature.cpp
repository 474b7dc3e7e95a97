//===- Signature.cpp - What a function takes and returns --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments and results of a function in terms of files, read off a module
// or off the description in an artefact.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Signature.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Target/PackedArguments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::DType;
using tensorio::Error;

std::optional<DType> tools::dtypeOfElement(std::string_view name) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"i1", DType::Bool},
      {"i8", DType::I8},
      {"i16", DType::I16},
      {"i32", DType::I32},
      {"i64", DType::I64},
      {"index", DType::I64},
      {"f16", DType::F16},
      {"bf16", DType::BF16},
      {"f32", DType::F32},
      {"f64", DType::F64},
      {"f8E4M3FN", DType::F8E4M3FN},
      {"f8E5M2", DType::F8E5M2},
      {"f8E8M0FNU", DType::F8E8M0FNU}};
  for (auto [known, dtype] : kTypes)
    if (known == name)
      return dtype;
  return std::nullopt;
}

std::string ValueType::describe() const {
  std::string text = elementType;
  if (!isScalar) {
    std::string dims;
    for (int64_t extent : shape)
      dims += (dims.empty() ? "" : ", ") +
              (extent < 0 ? "?" : std::to_string(extent));
    text = "[" + dims + "] " + elementType;
  }
  if (role != NVFP4_ROLE_PLAIN)
    text += std::string(role == NVFP4_ROLE_VALUES ? " (values of "
                                                  : " (scales of ") +
            scaledType + ")";
  if (isMutable)
    text += " (written)";
  return text;
}

std::string Signature::describe() const {
  std::string text = "function " + name + "\n";
  for (auto [index, value] : llvm::enumerate(arguments))
    text +=
        "  argument " + std::to_string(index) + ": " + value.describe() + "\n";
  for (auto [index, value] : llvm::enumerate(results))
    text +=
        "  result " + std::to_string(index) + ": " + value.describe() + "\n";
  return text;
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static std::vector<int64_t> convertShape(ArrayRef<int64_t> shape) {
  std::vector<int64_t> result;
  for (int64_t extent : shape)
    result.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
  return result;
}

/// Appends `type`, as two where it is scaled. False if files cannot hold it.
static bool append(Type type, std::vector<ValueType> &values) {
  if (auto scaled = dyn_cast<gsg::ScaledType>(type)) {
    size_t first = values.size();
    if (!append(scaled.getDataTensorType(), values) ||
        !append(scaled.getScaleTensorType(), values))
      return false;
    values[first].role = NVFP4_ROLE_VALUES;
    values[first + 1].role = NVFP4_ROLE_SCALES;
    values[first].scaledType = values[first + 1].scaledType = print(type);
    return true;
  }
  ValueType value;
  value.isScalar = !isa<ShapedType>(type);
  Type element =
      value.isScalar ? type : cast<ShapedType>(type).getElementType();
  value.elementType = print(element);
  std::optional<DType> dtype = dtypeOfElement(value.elementType);
  if (!dtype)
    return false;
  value.dtype = *dtype;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!shaped.hasRank())
      return false;
    value.shape = convertShape(shaped.getShape());
    value.isMutable = isa<MemRefType>(type);
  }
  values.push_back(std::move(value));
  return true;
}

static constexpr char kHowToPack[] =
    "; nvfp4-pack-entry-points makes bytes of two values of it, as in "
    "--pass-pipeline='builtin.module(nvfp4-pack-entry-points,"
    "raise-to-grouped-scaled-gemm)'";

tensorio::Expected<Signature> Signature::get(ModuleOp module,
                                             const std::string &entry) {
  func::FuncOp chosen;
  std::string names;
  size_t count = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    ++count;
    names += (names.empty() ? "" : ", ") + function.getSymName().str();
    if (entry.empty() || function.getSymName() == entry)
      chosen = function;
  }
  if (entry.empty() && count != 1)
    return Error{"expected one public function or --entry with a name, but "
                 "got " +
                 (names.empty() ? "no function" : "functions " + names)};
  if (!chosen)
    return Error{names.empty() ? "expected a public function, but got none"
                               : "expected one of the functions " + names +
                                     ", but got '" + entry + "'"};
  Signature signature;
  signature.name = chosen.getSymName().str();
  for (Type type : chosen.getArgumentTypes())
    if (!append(type, signature.arguments))
      return Error{"expected arguments of '" + signature.name +
                   "' that files can hold, but got one of type " + print(type) +
                   (target::canPackArgument(type) ? kHowToPack : "")};
  for (Type type : chosen.getResultTypes())
    if (!append(type, signature.results))
      return Error{"expected results of '" + signature.name +
                   "' that files can hold, but got one of type " + print(type)};
  return signature;
}

static tensorio::Expected<ValueType> convert(const nvfp4_value_info &info,
                                             bool isScalar) {
  ValueType value;
  value.elementType = info.element_type;
  std::optional<DType> dtype = dtypeOfElement(value.elementType);
  if (!dtype)
    return Error{"expected elements that files can hold, but got " +
                 value.elementType};
  value.dtype = *dtype;
  value.isScalar = isScalar;
  value.isMutable = info.is_mutable;
  value.shape.assign(info.shape, info.shape + info.ndim);
  value.role = info.role;
  value.scaledType = info.scaled_type ? info.scaled_type : "";
  return value;
}

tensorio::Expected<Signature> Signature::get(const nvfp4_function *function) {
  Signature signature;
  signature.name = nvfp4_function_name(function);
  for (auto [count, get, values] :
       {std::tuple(nvfp4_function_num_arguments(function),
                   &nvfp4_function_argument, &signature.arguments),
        std::tuple(nvfp4_function_num_results(function), &nvfp4_function_result,
                   &signature.results)}) {
    for (size_t i = 0; i < count; ++i) {
      nvfp4_value_info info;
      if (get(function, i, &info))
        return Error{nvfp4_last_error()};
      auto value = convert(info, info.is_scalar);
      if (!value)
        return value.takeError();
      values->push_back(std::move(*value));
    }
  }
  return signature;
}
