//===- ElementType.h - Element types by name --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types as MLIR spells them and as DLPack codes them. MLIR is not
// linked here, so types have their own table.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_ELEMENTTYPE_H
#define NVFP4_LIB_RUNTIME_ELEMENTTYPE_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <optional>
#include <string_view>

namespace nvfp4::runtime {

/// The DLPack type of an MLIR element type, or nothing.
std::optional<DLDataType> parseElementType(std::string_view name);

/// MLIR's name of a type (unsigned integers: `u8`, ...), or null.
const char *nameOf(DLDataType type);

/// Bytes of one element in memory.
inline size_t sizeOf(DLDataType type) { return (type.bits + 7u) / 8u; }

/// True if a tensor of type `found` may be passed where `expected` is taken:
/// the same bits, the sign of integers apart, and 8-bit integers for 8-bit
/// floats.
bool isAccepted(DLDataType expected, DLDataType found);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_ELEMENTTYPE_H
