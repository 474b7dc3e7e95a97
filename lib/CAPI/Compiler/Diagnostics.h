//===- Diagnostics.h - From MLIR's diagnostics to a callback ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step of every function of the C API: send the diagnostics of a
// context, and messages without a location, to the caller's sink.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CAPI_COMPILER_DIAGNOSTICS_H
#define NVFP4_LIB_CAPI_COMPILER_DIAGNOSTICS_H

#include "nvfp4-c/Compiler.h"

#include "nvfp4/Tools/Compile.h"

#include "mlir/IR/Diagnostics.h"

namespace nvfp4::capi {

inline llvm::StringRef toString(MlirStringRef text) {
  return {text.data, text.length};
}

/// An error without a place. Returns a failure.
MlirLogicalResult reportError(Nvfp4DiagnosticSink sink,
                              const llvm::Twine &message);

/// Sends the diagnostics of a context to a sink while it lives.
class DiagnosticScope {
public:
  DiagnosticScope(mlir::MLIRContext *context, Nvfp4DiagnosticSink sink);

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// The options in C++, resolved; nothing after a diagnostic. Their messages go
/// to `sink`.
std::optional<tools::CodeOptions> getOptions(const Nvfp4CompileOptions &options,
                                             Nvfp4DiagnosticSink sink);

} // namespace nvfp4::capi

#endif // NVFP4_LIB_CAPI_COMPILER_DIAGNOSTICS_H
