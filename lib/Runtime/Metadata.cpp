//===- Metadata.cpp - What an artefact says about itself --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the JSON that lib/Target/DeclareEntryPoints.cpp writes. The artefact
// may be damaged or of another version, so nothing is taken for granted.
//
//===----------------------------------------------------------------------===//

#include "Metadata.h"

#include "ElementType.h"
#include "Error.h"

#include "nvfp4/Runtime/ArtefactVersion.h"

#include <nlohmann/json.hpp>

using namespace nvfp4::runtime;
using nlohmann::json;

/// The string called `key`, or "" if there is none.
static std::string getString(const json &object, const char *key) {
  auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

static const json *getArray(const json &object, const char *key) {
  auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_array() ? &*it : nullptr;
}

/// The extents called `key`, -1 or more each.
static bool parseShape(const json &object, const char *key,
                       std::vector<int64_t> &shape) {
  const json *extents = getArray(object, key);
  if (!extents)
    return false;
  for (const json &extent : *extents) {
    // Numbers without a sign may be 2^63 and more.
    if (!extent.is_number_integer() || extent.get<int64_t>() < -1 ||
        (extent.is_number_unsigned() && extent.get<int64_t>() < 0))
      return false;
    shape.push_back(extent.get<int64_t>());
  }
  return true;
}

static bool parseScaled(const json &object, ScaledMetadata &scaled) {
  scaled.text = getString(object, "text");
  scaled.format = getString(object, "format");
  scaled.layout = getString(object, "layout");
  scaled.starts = getString(object, "starts");
  if (scaled.text.empty() || scaled.format.empty() || scaled.layout.empty() ||
      scaled.starts.empty() || !parseShape(object, "shape", scaled.shape))
    return false;
  auto axis = object.find("axis");
  if (axis == object.end() || !axis->is_number_integer())
    return false;
  scaled.axis = axis->get<int64_t>();
  return scaled.axis >= 0 &&
         static_cast<size_t>(scaled.axis) < scaled.shape.size();
}

static bool parseValue(const json &object, ValueMetadata &value) {
  value.typeName = getString(object, "type");
  std::optional<DLDataType> type = parseElementType(value.typeName);
  if (!type)
    return false;
  value.type = *type;
  std::string kind = getString(object, "kind");
  if (kind != "scalar" && kind != "memref" && kind != "tensor")
    return false;
  value.isScalar = kind == "scalar";
  value.isMutable = kind == "memref";
  if (!value.isScalar && !parseShape(object, "shape", value.shape))
    return false;
  std::string role = getString(object, "role");
  if (role != "values" && role != "scales" && object.contains("role"))
    return false;
  value.role = role == "values"   ? NVFP4_ROLE_VALUES
               : role == "scales" ? NVFP4_ROLE_SCALES
                                  : NVFP4_ROLE_PLAIN;
  auto scaled = object.find("scaled");
  if ((value.role == NVFP4_ROLE_PLAIN) != (scaled == object.end()))
    return false;
  return scaled == object.end() || parseScaled(*scaled, value.scaled.emplace());
}

static bool parseValues(const json &object, const char *key,
                        std::vector<ValueMetadata> &values) {
  const json *array = getArray(object, key);
  if (!array)
    return false;
  for (const json &element : *array)
    if (!parseValue(element, values.emplace_back()))
      return false;
  return true;
}

nvfp4_status nvfp4::runtime::parseMetadata(const char *text,
                                           ModuleMetadata &metadata) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const json *functions =
      object.is_discarded() ? nullptr : getArray(object, "functions");
  if (!functions || !object.contains("version") ||
      !object["version"].is_number_integer())
    return fail(NVFP4_BAD_ARTEFACT, "the description of the module is damaged");
  int64_t version = object["version"].get<int64_t>();
  if (version != kArtefactVersion)
    return fail(NVFP4_BAD_ARTEFACT, "expected a module of version " +
                                        std::to_string(kArtefactVersion) +
                                        ", but got " + std::to_string(version) +
                                        "; compile it again");
  metadata.text = text;
  metadata.device = getString(object, "device");
  std::string memory = getString(object, "memory");
  if (memory != "host" && memory != "device" && object.contains("memory"))
    return fail(NVFP4_BAD_ARTEFACT, "the description of the module is damaged");
  metadata.isOnDevice = memory == "device";
  for (const json &element : *functions) {
    FunctionMetadata &function = metadata.functions.emplace_back();
    function.name = getString(element, "name");
    if (!parseValues(element, "arguments", function.arguments) ||
        !parseValues(element, "results", function.results))
      return fail(NVFP4_BAD_ARTEFACT, "the description of function '" +
                                          function.name + "' is damaged");
  }
  return NVFP4_OK;
}
