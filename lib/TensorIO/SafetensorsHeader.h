//===- SafetensorsHeader.h - The JSON header of a safetensors file --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Syntax of the header: the order of keys and values. Safetensors.cpp checks
// the meaning of the numbers. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_SAFETENSORSHEADER_H
#define NVFP4_LIB_TENSORIO_SAFETENSORSHEADER_H

#include "nvfp4/TensorIO/Expected.h"
#include "nvfp4/TensorIO/SafetensorsEntry.h"

#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::tensorio {

/// The header in the order of its text. The `dtype` of entries is not yet set.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  SafetensorsMetadata metadata;
};

/// Parses the JSON `text`; `file` stands in messages.
Expected<SafetensorsHeader> parseSafetensorsHeader(const std::string &file,
                                                   std::string_view text);

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_SAFETENSORSHEADER_H
