//===- Metadata.h - What an artefact says about itself ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON text that the pass nvfp4-declare-entry-points writes, in C++. The
// version number says whether this runtime can read it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_METADATA_H
#define NVFP4_LIB_RUNTIME_METADATA_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <optional>
#include <string>
#include <vector>

namespace nvfp4::runtime {

/// A block-scaled type: its text in MLIR, and its parameters by the words of
/// the dialect.
struct ScaledMetadata {
  std::string text;
  /// -1 where any extent is accepted.
  std::vector<int64_t> shape;
  std::string format, layout, starts;
  /// The dimension that blocks lie along.
  int64_t axis = 0;

  bool operator==(const ScaledMetadata &) const = default;
};

/// One argument or result.
struct ValueMetadata {
  DLDataType type{};
  std::string typeName;
  bool isScalar = false;
  bool isMutable = false;
  /// -1 where any extent is accepted.
  std::vector<int64_t> shape;
  nvfp4_role role = NVFP4_ROLE_PLAIN;
  /// The type that this is the values or scales of; none for a plain one.
  std::optional<ScaledMetadata> scaled;
};

struct FunctionMetadata {
  std::string name;
  std::vector<ValueMetadata> arguments;
  std::vector<ValueMetadata> results;
};

struct ModuleMetadata {
  std::string text;
  std::string device;
  /// Tensors are in device memory, of whatever device a call runs on.
  bool isOnDevice = false;
  std::vector<FunctionMetadata> functions;
};

/// Reads `text`; NVFP4_BAD_ARTEFACT with a message if it is no metadata or of
/// another version.
nvfp4_status parseMetadata(const char *text, ModuleMetadata &metadata);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_METADATA_H
