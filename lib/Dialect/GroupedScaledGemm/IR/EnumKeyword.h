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

#include <string>

namespace nvfp4::gsg {

/// The keywords of an enumeration whose values are 0 to `last`, for parseCase.
template <typename EnumT>
std::string listCases(uint32_t last,
                      std::optional<EnumT> (*symbolize)(uint32_t),
                      llvm::StringRef (*stringify)(EnumT)) {
  std::string cases;
  for (uint32_t value = 0; value <= last; ++value)
    if (std::optional<EnumT> known = symbolize(value))
      cases += (cases.empty() ? "" : ", ") + stringify(*known).str();
  return cases;
}

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
