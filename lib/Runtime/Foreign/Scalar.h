//===- Scalar.h - Numbers of other systems as scalars -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other systems have integers of 64 bits and doubles. A number becomes one of
// an element type if the type holds it: integers exactly, floating-point
// numbers up to rounding and without overflow.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_SCALAR_H
#define NVFP4_LIB_RUNTIME_FOREIGN_SCALAR_H

#include "../Metadata.h"

#include <variant>

namespace nvfp4::runtime {

using Number = std::variant<int64_t, double>;

/// Stores `number` in the memory at `target` as a scalar of `value`. The fault
/// of the number, or an empty text.
std::string storeNumber(const ValueMetadata &value, Number number,
                        uint64_t *target);

/// The scalar of `value` at `source`.
Number loadNumber(const ValueMetadata &value, const void *source);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FOREIGN_SCALAR_H
