//===- Type.cpp - fundamental types and state spaces of PTX -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table gives the spelling, the width and the kind of every type.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Ptx/Type.h"

#include <iterator>

namespace nvfp4::sim {
namespace {

enum class Kind : uint8_t { Bits, Unsigned, Signed, Float };

struct TypeInfo {
  std::string_view name;
  unsigned bits;
  Kind kind;
};

// In the order of `Type`.
constexpr TypeInfo infos[] = {
    {"", 0, Kind::Bits},         {"pred", 1, Kind::Bits},
    {"b8", 8, Kind::Bits},       {"u8", 8, Kind::Unsigned},
    {"s8", 8, Kind::Signed},     {"b16", 16, Kind::Bits},
    {"u16", 16, Kind::Unsigned}, {"s16", 16, Kind::Signed},
    {"f16", 16, Kind::Float},    {"bf16", 16, Kind::Float},
    {"b32", 32, Kind::Bits},     {"u32", 32, Kind::Unsigned},
    {"s32", 32, Kind::Signed},   {"f32", 32, Kind::Float},
    {"tf32", 32, Kind::Bits},    {"f16x2", 32, Kind::Bits},
    {"bf16x2", 32, Kind::Bits},  {"u16x2", 32, Kind::Bits},
    {"s16x2", 32, Kind::Bits},   {"b64", 64, Kind::Bits},
    {"u64", 64, Kind::Unsigned}, {"s64", 64, Kind::Signed},
    {"f64", 64, Kind::Float},    {"f32x2", 64, Kind::Bits},
    {"b128", 128, Kind::Bits},   {"e4m3", 8, Kind::Bits},
    {"e5m2", 8, Kind::Bits},     {"e2m3", 8, Kind::Bits},
    {"e3m2", 8, Kind::Bits},     {"e2m1", 8, Kind::Bits},
    {"ue8m0", 8, Kind::Bits},    {"ue4m3", 8, Kind::Bits},
    {"e4m3x2", 16, Kind::Bits},  {"e5m2x2", 16, Kind::Bits},
    {"e2m3x2", 16, Kind::Bits},  {"e3m2x2", 16, Kind::Bits},
    {"e2m1x2", 8, Kind::Bits},   {"ue8m0x2", 16, Kind::Bits},
    {"e4m3x4", 32, Kind::Bits},  {"e5m2x4", 32, Kind::Bits},
    {"e2m3x4", 32, Kind::Bits},  {"e3m2x4", 32, Kind::Bits},
    {"e2m1x4", 16, Kind::Bits},  {"b1024", 1024, Kind::Bits},
};
static_assert(std::size(infos) == static_cast<size_t>(Type::B1024) + 1);

const TypeInfo &info(Type type) { return infos[static_cast<size_t>(type)]; }

} // namespace

std::optional<Type> parseType(std::string_view name) {
  for (size_t i = 1; i < std::size(infos); ++i)
    if (infos[i].name == name)
      return static_cast<Type>(i);
  return std::nullopt;
}

std::string_view typeName(Type type) { return info(type).name; }

unsigned bitWidth(Type type) { return info(type).bits; }

bool isSignedInteger(Type type) { return info(type).kind == Kind::Signed; }

bool isFloat(Type type) { return info(type).kind == Kind::Float; }

} // namespace nvfp4::sim
