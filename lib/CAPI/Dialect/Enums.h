//===- Enums.h - Enumerators that come from C -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step of functions that make types and attributes: the dialect is
// loaded, and numbers are enumerators or refused.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CAPI_DIALECT_ENUMS_H
#define NVFP4_LIB_CAPI_DIALECT_ENUMS_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace nvfp4::capi {

/// The location, in a context that has the dialect.
inline mlir::Location load(MlirLocation location) {
  mlir::Location result = unwrap(location);
  result->getContext()->getOrLoadDialect<gsg::GroupedScaledGemmDialect>();
  return result;
}

/// An enumerator, or nothing after a diagnostic.
template <typename EnumT>
std::optional<EnumT> toEnum(mlir::Location location,
                            std::optional<EnumT> (*symbolize)(uint32_t),
                            unsigned value, const char *what) {
  std::optional<EnumT> result = symbolize(value);
  if (!result)
    mlir::emitError(location)
        << "expected a " << what << ", but got the number " << value;
  return result;
}

} // namespace nvfp4::capi

#endif // NVFP4_LIB_CAPI_DIALECT_ENUMS_H
