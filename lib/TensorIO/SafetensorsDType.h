//===- SafetensorsDType.h - Element types of safetensors files --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type names of the format, with their sizes in bits. Private to the
// library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_SAFETENSORSDTYPE_H
#define NVFP4_LIB_TENSORIO_SAFETENSORSDTYPE_H

#include "nvfp4/TensorIO/DType.h"

#include <optional>
#include <string_view>

namespace nvfp4::tensorio {

/// A type of the format and how this library holds it, if it can.
struct SafetensorsDType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype;
};

/// `F4` is held as u8: two elements per byte along the last dimension.
inline constexpr SafetensorsDType safetensorsDTypes[] = {
    {"BOOL", 8, DType::Bool},
    {"U8", 8, DType::U8},
    {"I8", 8, DType::I8},
    {"U16", 16, DType::U16},
    {"I16", 16, DType::I16},
    {"U32", 32, DType::U32},
    {"I32", 32, DType::I32},
    {"U64", 64, DType::U64},
    {"I64", 64, DType::I64},
    {"F16", 16, DType::F16},
    {"BF16", 16, DType::BF16},
    {"F32", 32, DType::F32},
    {"F64", 64, DType::F64},
    {"F8_E4M3", 8, DType::F8E4M3FN},
    {"F8_E5M2", 8, DType::F8E5M2},
    {"F8_E8M0", 8, DType::F8E8M0FNU},
    {"F4", 4, DType::U8},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"C64", 64, std::nullopt},
};

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_SAFETENSORSDTYPE_H
