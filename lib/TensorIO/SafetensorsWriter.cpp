//===- SafetensorsWriter.cpp - Writer of safetensors files ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header is written key by key, since its order carries the order of the
// data; only strings need JSON's escapes.
//
//===----------------------------------------------------------------------===//

#include "SafetensorsDType.h"
#include "Text.h"
#include "nvfp4/TensorIO/OutputFile.h"
#include "nvfp4/TensorIO/Safetensors.h"

#include <nlohmann/json.hpp>

#include <set>

namespace nvfp4::tensorio {

/// Text as a JSON string; bytes that are no UTF-8 become U+FFFD.
static std::string jsonString(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

static std::string_view fileDType(const NamedTensor &named) {
  if (named.packedF4)
    return "F4";
  for (const SafetensorsDType &type : safetensorsDTypes)
    if (type.dtype == named.tensor.dtype())
      return type.name;
  return "";
}

Status writeSafetensors(const std::string &path,
                        std::span<const NamedTensor> tensors,
                        const SafetensorsMetadata &metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    bool first = true;
    for (const auto &[key, value] : metadata) {
      header +=
          concat(first ? "" : ",", jsonString(key), ":", jsonString(value));
      first = false;
    }
    header += "}";
  }
  uint64_t offset = 0;
  std::set<std::string_view> names;
  for (const NamedTensor &named : tensors) {
    if (named.name == "__metadata__" || !names.insert(named.name).second)
      return errorIn(path,
                     "expected tensor names that differ from each other "
                     "and from '__metadata__', but got ",
                     inQuotes(named.name), " again");
    std::vector<int64_t> shape(named.tensor.shape().begin(),
                               named.tensor.shape().end());
    if (named.packedF4) {
      if (named.tensor.dtype() != DType::U8 || shape.empty() ||
          __builtin_mul_overflow(shape.back(), 2, &shape.back()))
        return errorIn(path,
                       "expected u8 of rank 1 or more for the packed F4 "
                       "tensor ",
                       inQuotes(named.name), ", but got ",
                       named.tensor.describe());
    }
    uint64_t end = offset + named.tensor.sizeInBytes();
    header += concat(header.size() > 1 ? "," : "", jsonString(named.name),
                     ":{\"dtype\":\"", fileDType(named), "\",\"shape\":[");
    for (size_t i = 0; i < shape.size(); ++i)
      header += concat(i ? "," : "", shape[i]);
    header += concat("],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
  }
  header += "}";
  header.append(63 - (header.size() + 7) % 64, ' ');
  if (header.size() > maxSafetensorsHeader)
    return errorIn(path, "expected a header of at most ", maxSafetensorsHeader,
                   " bytes, but got ", header.size());

  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  uint64_t length = header.size();
  if (Status status = file->write(std::as_bytes(std::span(&length, 1)));
      !status)
    return status;
  if (Status status = file->write(header); !status)
    return status;
  for (const NamedTensor &named : tensors)
    if (Status status = file->write(named.tensor.bytes()); !status)
      return status;
  return file->commit();
}

} // namespace nvfp4::tensorio
