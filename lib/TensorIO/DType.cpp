//===- DType.cpp - Element types of tensor files ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, sizes and the decoding of single elements. Files of NumPy and of
// safetensors spell them differently.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/DType.h"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

static_assert(std::endian::native == std::endian::little,
              "tensor bytes are little-endian and read in place");

namespace nvfp4::tensorio {

namespace {
struct DTypeInfo {
  DType dtype;
  size_t size;
  bool integral;
  /// The name, then aliases: numpy's or ml_dtypes', safetensors' and MLIR's.
  std::array<std::string_view, 4> names;
};
} // namespace

static constexpr DTypeInfo table[] = {
    {DType::Bool, 1, true, {"bool", "BOOL", "i1"}},
    {DType::U8, 1, true, {"u8", "uint8", "U8"}},
    {DType::I8, 1, true, {"i8", "int8", "I8"}},
    {DType::U16, 2, true, {"u16", "uint16", "U16"}},
    {DType::I16, 2, true, {"i16", "int16", "I16"}},
    {DType::U32, 4, true, {"u32", "uint32", "U32"}},
    {DType::I32, 4, true, {"i32", "int32", "I32"}},
    {DType::U64, 8, true, {"u64", "uint64", "U64"}},
    {DType::I64, 8, true, {"i64", "int64", "I64"}},
    {DType::F16, 2, false, {"f16", "float16", "F16", "half"}},
    {DType::BF16, 2, false, {"bf16", "bfloat16", "BF16"}},
    {DType::F32, 4, false, {"f32", "float32", "F32"}},
    {DType::F64, 8, false, {"f64", "float64", "F64"}},
    {DType::F8E4M3FN,
     1,
     false,
     {"f8_e4m3fn", "float8_e4m3fn", "F8_E4M3", "f8E4M3FN"}},
    {DType::F8E5M2, 1, false, {"f8_e5m2", "float8_e5m2", "F8_E5M2", "f8E5M2"}},
    {DType::F8E8M0FNU,
     1,
     false,
     {"f8_e8m0fnu", "float8_e8m0fnu", "F8_E8M0", "f8E8M0FNU"}},
};

static constexpr auto dtypeList = [] {
  std::array<DType, std::size(table)> list{};
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = table[i].dtype;
  return list;
}();

static const DTypeInfo &info(DType dtype) {
  const DTypeInfo &entry = table[static_cast<size_t>(dtype)];
  assert(entry.dtype == dtype && "table is not in the order of the enum");
  return entry;
}

std::span<const DType> allDTypes() { return dtypeList; }

size_t dtypeSize(DType dtype) { return info(dtype).size; }

std::string_view dtypeName(DType dtype) { return info(dtype).names[0]; }

bool isIntegral(DType dtype) { return info(dtype).integral; }

std::optional<DType> parseDType(std::string_view name) {
  if (name.empty())
    return std::nullopt;
  for (const DTypeInfo &entry : table)
    for (std::string_view alias : entry.names)
      if (alias == name)
        return entry.dtype;
  return std::nullopt;
}

std::string listDTypeNames() {
  std::string out;
  for (const DTypeInfo &entry : table) {
    if (!out.empty())
      out += ", ";
    out += entry.names[0];
  }
  return out;
}

template <typename T> static T load(const std::byte *element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

/// Decodes a sign-exponent-mantissa float whose largest exponent holds
/// infinity and NaN, as in IEEE 754.
static double decodeSmallFloat(uint32_t bits, int exponentBits,
                               int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  bool negative = (bits >> (mantissaBits + exponentBits)) & 1;
  double magnitude;
  if (exponent == (1 << exponentBits) - 1)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else
    magnitude = std::ldexp(mantissa + (1u << mantissaBits),
                           exponent - bias - mantissaBits);
  return negative ? -magnitude : magnitude;
}

/// E4M3FN has no infinity: only S.1111.111 is special, a NaN.
static double decodeE4M3FN(uint8_t bits) {
  if ((bits & 0x7f) == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  int exponent = (bits >> 3) & 15;
  int mantissa = bits & 7;
  double magnitude = exponent ? std::ldexp(mantissa + 8, exponent - 10)
                              : std::ldexp(mantissa, -9);
  return bits & 0x80 ? -magnitude : magnitude;
}

double decodeElement(DType dtype, const std::byte *element) {
  switch (dtype) {
  case DType::Bool:
    return load<uint8_t>(element) != 0;
  case DType::U8:
    return load<uint8_t>(element);
  case DType::I8:
    return load<int8_t>(element);
  case DType::U16:
    return load<uint16_t>(element);
  case DType::I16:
    return load<int16_t>(element);
  case DType::U32:
    return load<uint32_t>(element);
  case DType::I32:
    return load<int32_t>(element);
  case DType::U64:
    return static_cast<double>(load<uint64_t>(element));
  case DType::I64:
    return static_cast<double>(load<int64_t>(element));
  case DType::F16:
    return decodeSmallFloat(load<uint16_t>(element), 5, 10);
  case DType::BF16:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(element)) << 16);
  case DType::F32:
    return load<float>(element);
  case DType::F64:
    return load<double>(element);
  case DType::F8E4M3FN:
    return decodeE4M3FN(load<uint8_t>(element));
  case DType::F8E5M2:
    return decodeSmallFloat(load<uint8_t>(element), 5, 2);
  case DType::F8E8M0FNU: {
    uint8_t bits = load<uint8_t>(element);
    return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                        : std::ldexp(1.0, bits - 127);
  }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

} // namespace nvfp4::tensorio
