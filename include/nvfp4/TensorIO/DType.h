//===- DType.h - Element types of tensor files ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that tensor files can hold, their names and sizes, and the
// decoding of one element to double (for printing and statistics; compute code
// uses the Format library).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_DTYPE_H
#define NVFP4_TENSORIO_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nvfp4::tensorio {

/// Element types. Packed E2M1 (two codes per byte, even index in the low
/// nibble) has no type of its own: it is U8 with half the columns.
enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E5M2,
  F8E8M0FNU,
};

/// All element types, in the order of the enumeration.
std::span<const DType> allDTypes();

/// Bytes of one element: 1, 2, 4 or 8.
size_t dtypeSize(DType dtype);

/// The name used in messages and in `@dtype`: `bf16`, `f8_e4m3fn`, `u8`, ...
std::string_view dtypeName(DType dtype);

/// True for the types that hold integers or truth values.
bool isIntegral(DType dtype);

/// Reads a name as printed by dtypeName. Also takes the names that numpy,
/// ml_dtypes, safetensors and MLIR use: `float32`, `bfloat16`, `float8_e4m3fn`,
/// `F8_E4M3`, `f8E4M3FN`, ...
std::optional<DType> parseDType(std::string_view name);

/// The names of dtypeName, separated by ", ".
std::string listDTypeNames();

/// Decodes the element at `element` (little-endian, any alignment). 64-bit
/// integers beyond 2^53 are rounded.
double decodeElement(DType dtype, const std::byte *element);

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_DTYPE_H
