//===- Type.h - fundamental types and state spaces of PTX -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The spellings of PTX section 5.2 and the packed formats of `cvt`, with their
// widths. Nothing here knows about values.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_TYPE_H
#define NVFP4_SIMULATOR_PTX_TYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace nvfp4::sim {

/// A PTX type, as it is written in declarations and instruction modifiers.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  B32,
  U32,
  S32,
  F32,
  TF32,
  F16x2,
  BF16x2,
  U16x2,
  S16x2,
  B64,
  U64,
  S64,
  F64,
  F32x2,
  B128,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M3x4,
  E3M2x4,
  E2M1x4,
  B1024,
};

/// The type named `name` (without the dot), or nothing.
std::optional<Type> parseType(std::string_view name);

/// The spelling of `type` without the dot.
std::string_view typeName(Type type);

/// Bits of a value of `type` in a register; 1 for predicates.
unsigned bitWidth(Type type);

/// Bytes of a value of `type` in memory; 0 for predicates.
inline unsigned byteWidth(Type type) {
  return type == Type::Pred ? 0 : bitWidth(type) / 8;
}

/// Whether `type` is a signed integer.
bool isSignedInteger(Type type);

/// Whether `type` is a scalar IEEE or brain float (f16, bf16, f32, f64).
bool isFloat(Type type);

/// Where a variable or an address lives.
enum class StateSpace : uint8_t {
  Generic,
  Register,
  Global,
  Shared,
  SharedCluster,
  Const,
  Param,
  Local,
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_TYPE_H
