//===- Diagnostics.cpp - From MLIR's diagnostics to a callback --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A diagnostic and its notes become one call of the callback each.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::capi;

static MlirStringRef toC(llvm::StringRef text) {
  return {text.data(), text.size()};
}

static void deliver(Nvfp4DiagnosticSink sink, Nvfp4Severity severity,
                    llvm::StringRef message, FileLineColLoc location = {}) {
  if (!sink.callback)
    return;
  Nvfp4Diagnostic diagnostic = {severity, toC(message), {"", 0}, 0, 0};
  if (location) {
    diagnostic.file = toC(location.getFilename().getValue());
    diagnostic.line = location.getLine();
    diagnostic.column = location.getColumn();
  }
  sink.callback(&diagnostic, sink.userData);
}

MlirLogicalResult capi::reportError(Nvfp4DiagnosticSink sink,
                                    const llvm::Twine &message) {
  llvm::StringRef text;
  std::string storage = message.str();
  text = storage;
  Nvfp4Severity severity = Nvfp4SeverityError;
  // What the tools print in front of a message.
  if (text.consume_front("note: "))
    severity = Nvfp4SeverityNote;
  text.consume_front("error: ");
  deliver(sink, severity, text);
  return {0};
}

static Nvfp4Severity severityOf(const Diagnostic &diagnostic) {
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Note:
    return Nvfp4SeverityNote;
  case DiagnosticSeverity::Warning:
    return Nvfp4SeverityWarning;
  case DiagnosticSeverity::Error:
    return Nvfp4SeverityError;
  case DiagnosticSeverity::Remark:
    return Nvfp4SeverityRemark;
  }
  return Nvfp4SeverityError;
}

static void deliver(Nvfp4DiagnosticSink sink, const Diagnostic &diagnostic) {
  deliver(sink, severityOf(diagnostic), diagnostic.str(),
          diagnostic.getLocation()->findInstanceOf<FileLineColLoc>());
}

DiagnosticScope::DiagnosticScope(MLIRContext *context, Nvfp4DiagnosticSink sink)
    : handler(context, [sink](Diagnostic &diagnostic) {
        deliver(sink, diagnostic);
        for (const Diagnostic &note : diagnostic.getNotes())
          deliver(sink, note);
        return success();
      }) {}

std::optional<tools::CodeOptions>
capi::getOptions(const Nvfp4CompileOptions &options, Nvfp4DiagnosticSink sink) {
  tools::CodeOptions result;
  result.target = toString(options.target).str();
  result.isa = toString(options.isa).str();
  result.optLevel = options.optLevel;
  result.threads = options.threads;
  result.runtimeChecks = options.runtimeChecks;
  result.versions = options.versions;
  result.memory = toString(options.memory).str();
  result.assemble = options.assemble;
  result.report = [sink](const std::string &message) {
    reportError(sink, message);
  };
  if (failed(tools::resolve(result)))
    return std::nullopt;
  return result;
}
