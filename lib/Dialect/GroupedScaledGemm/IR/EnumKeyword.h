//===- EnumKeyword.h - Keywords that name cases of enums --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the hand-written parsers of types and attributes share: a keyword that
// must be one of the cases of an enumeration.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMKEYWORD_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMKEYWORD_H

#include "mlir/IR/OpImplementation.h"

namespace nvfp4::gsg {

/// Parses one keyword that names a case of an enumeration. The diagnostic calls
/// the enumeration `what` and lists `cases`.
template <typename EnumT>
mlir::FailureOr<EnumT>
parseCase(mlir::AsmParser &parser, llvm::StringRef what, llvm::StringRef cases,
          std::optional<EnumT> (*symbolize)(llvm::StringRef)) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef keyword;
  bool isKeyword = succeeded(parser.parseOptionalKeyword(&keyword));
  if (isKeyword)
    if (std::optional<EnumT> value = symbolize(keyword))
      return *value;
  mlir::InFlightDiagnostic diagnostic = parser.emitError(loc);
  diagnostic << "expected " << what << ", one of " << cases;
  if (isKeyword)
    diagnostic << ", but got '" << keyword << "'";
  return diagnostic;
}

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ENUMKEYWORD_H
