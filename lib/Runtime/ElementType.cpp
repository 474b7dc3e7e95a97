//===- ElementType.cpp - Element types by name ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of element types: their names in descriptions, their DLPack codes,
// and which others a caller may pass in their place.
//
//===----------------------------------------------------------------------===//

#include "ElementType.h"

using namespace nvfp4::runtime;

namespace {
struct Entry {
  const char *name;
  DLDataType type;
};
} // namespace

// The first entry of a type is its name.
static constexpr Entry kEntries[] = {
    {"i1", {NVFP4_DL_BOOL, 8, 1}},
    {"i8", {kDLInt, 8, 1}},
    {"i16", {kDLInt, 16, 1}},
    {"i32", {kDLInt, 32, 1}},
    {"i64", {kDLInt, 64, 1}},
    {"index", {kDLInt, 64, 1}},
    {"u8", {kDLUInt, 8, 1}},
    {"u16", {kDLUInt, 16, 1}},
    {"u32", {kDLUInt, 32, 1}},
    {"u64", {kDLUInt, 64, 1}},
    {"f16", {kDLFloat, 16, 1}},
    {"bf16", {kDLBfloat, 16, 1}},
    {"f32", {kDLFloat, 32, 1}},
    {"f64", {kDLFloat, 64, 1}},
    {"f8E4M3FN", {NVFP4_DL_FLOAT8_E4M3FN, 8, 1}},
    {"f8E5M2", {NVFP4_DL_FLOAT8_E5M2, 8, 1}},
    {"f8E8M0FNU", {NVFP4_DL_FLOAT8_E8M0FNU, 8, 1}},
    {"f4E2M1FN", {NVFP4_DL_FLOAT4_E2M1FN, 4, 1}},
    {"f4E2M1FN x 2", {NVFP4_DL_FLOAT4_E2M1FN, 4, 2}},
};

static bool isSame(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

static bool isInteger(DLDataType type) {
  return type.code == kDLInt || type.code == kDLUInt;
}

std::optional<DLDataType>
nvfp4::runtime::parseElementType(std::string_view name) {
  for (const Entry &entry : kEntries)
    if (name == entry.name)
      return entry.type;
  return std::nullopt;
}

const char *nvfp4::runtime::nameOf(DLDataType type) {
  for (const Entry &entry : kEntries)
    if (isSame(type, entry.type))
      return entry.name;
  return nullptr;
}

bool nvfp4::runtime::isAccepted(DLDataType expected, DLDataType found) {
  if (isSame(expected, found))
    return true;
  if (expected.bits != found.bits || found.lanes != 1 || !isInteger(found))
    return false;
  bool isFloat8 = expected.code == NVFP4_DL_FLOAT8_E4M3FN ||
                  expected.code == NVFP4_DL_FLOAT8_E5M2 ||
                  expected.code == NVFP4_DL_FLOAT8_E8M0FNU;
  return isFloat8 || isInteger(expected);
}
