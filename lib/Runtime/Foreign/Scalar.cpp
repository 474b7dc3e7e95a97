//===- Scalar.cpp - Numbers of other systems as scalars ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of python/nvfp4/_scalars.py.
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

#include "../ElementType.h"
#include "nvfp4/Format/Float16.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

using namespace nvfp4;
using namespace nvfp4::runtime;

static std::string print(Number number) {
  if (const auto *integer = std::get_if<int64_t>(&number))
    return std::to_string(*integer);
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", std::get<double>(number));
  std::string result = text;
  bool isWhole = result.find_first_not_of("-0123456789") == std::string::npos;
  return result + (isWhole ? ".0" : "");
}

static bool isInteger(DLDataType type) {
  return type.code == kDLInt || type.code == kDLUInt ||
         type.code == NVFP4_DL_BOOL;
}

/// The bits of `wide` in a floating-point type, which has `back` as its value;
/// false for a type that scalars do not have.
static bool round(DLDataType type, double wide, uint64_t &bits, double &back) {
  auto narrow = static_cast<float>(wide);
  if (type.code == kDLFloat && type.bits == 64) {
    std::memcpy(&bits, &wide, sizeof wide);
    back = wide;
  } else if (type.code == kDLFloat && type.bits == 32) {
    bits = std::bit_cast<uint32_t>(narrow);
    back = narrow;
  } else if (type.code == kDLFloat && type.bits == 16) {
    bits = format::f32ToF16(narrow);
    back = format::f16ToF32(static_cast<uint16_t>(bits));
  } else if (type.code == kDLBfloat) {
    bits = format::f32ToBF16(narrow);
    back = format::bf16ToF32(static_cast<uint16_t>(bits));
  } else {
    return false;
  }
  return true;
}

static std::string storeInteger(const ValueMetadata &value, Number number,
                                uint64_t *target) {
  bool isTruth = value.type.code == NVFP4_DL_BOOL;
  unsigned bits = value.type.bits;
  int64_t low = isTruth      ? 0
                : bits == 64 ? std::numeric_limits<int64_t>::min()
                             : -(int64_t(1) << (bits - 1));
  int64_t high = isTruth      ? 1
                 : bits == 64 ? std::numeric_limits<int64_t>::max()
                              : -(low + 1);
  const auto *integer = std::get_if<int64_t>(&number);
  if (!integer || *integer < low || *integer > high)
    return "expected a whole number from " + std::to_string(low) + " to " +
           std::to_string(high) + ", but got " + print(number);
  std::memcpy(target, integer, sizeof *integer);
  return "";
}

std::string nvfp4::runtime::storeNumber(const ValueMetadata &value,
                                        Number number, uint64_t *target) {
  if (isInteger(value.type))
    return storeInteger(value, number, target);
  const auto *integer = std::get_if<int64_t>(&number);
  double wide =
      integer ? static_cast<double>(*integer) : std::get<double>(number);
  double back = 0;
  if (!round(value.type, wide, *target, back))
    return "expected a tensor of rank 0, since numbers do not become " +
           value.typeName;
  // 2^63 is no integer of 64 bits.
  bool isExact = !integer || (back >= -0x1p63 && back < 0x1p63 &&
                              static_cast<int64_t>(back) == *integer);
  if (std::isinf(back) == std::isinf(wide) && isExact)
    return "";
  return "expected a number that " + value.typeName + " holds, but got " +
         print(number);
}

Number nvfp4::runtime::loadNumber(const ValueMetadata &value,
                                  const void *source) {
  DLDataType type = value.type;
  uint64_t bits = 0;
  std::memcpy(&bits, source, sizeOf(type));
  if (type.code == NVFP4_DL_BOOL)
    return int64_t(bits & 1);
  if (isInteger(type)) {
    unsigned unused = 64 - type.bits;
    return static_cast<int64_t>(bits << unused) >> unused;
  }
  if (type.code == kDLFloat && type.bits == 64)
    return std::bit_cast<double>(bits);
  if (type.code == kDLFloat && type.bits == 32)
    return double(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  auto half = static_cast<uint16_t>(bits);
  return double(type.code == kDLBfloat ? format::bf16ToF32(half)
                                       : format::f16ToF32(half));
}
