//===- SafetensorsEntry.h - What the header of a file says ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_SAFETENSORSENTRY_H
#define NVFP4_TENSORIO_SAFETENSORSENTRY_H

#include "nvfp4/TensorIO/DType.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nvfp4::tensorio {

/// One tensor of a file, as its header describes it.
struct SafetensorsEntry {
  std::string name;
  /// The type as written in the file: `BF16`, `F8_E4M3`, `F4`, ...
  std::string fileDType;
  /// The type that tensor() returns. `F4` is returned as u8 with half the last
  /// dimension; empty for types that can be listed only (`F6_*`, `C64`, ...).
  std::optional<DType> dtype;
  /// The shape in elements, as written in the file.
  std::vector<int64_t> shape;
  /// Byte range in the data section, which starts after the header.
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// String pairs of a file's `__metadata__`.
using SafetensorsMetadata = std::map<std::string, std::string>;

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_SAFETENSORSENTRY_H
