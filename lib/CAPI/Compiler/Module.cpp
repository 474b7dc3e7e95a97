//===- Module.cpp - Contexts and modules in C -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text to modules and back, and passes on them.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "nvfp4/InitAll.h"
#include "nvfp4/Tools/PassPipeline.h"
#include "nvfp4/Tools/SourceText.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::capi;

MlirContext nvfp4ContextCreate(void) {
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  nvfp4::registerAllDialects(registry);
  auto *context = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return wrap(context);
}

void nvfp4ContextDestroy(MlirContext context) { delete unwrap(context); }

/// The place of a byte as a location.
static FileLineColLoc locate(MLIRContext *context, StringRef text,
                             StringRef name, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t lineStart = before.rfind('\n');
  size_t column =
      lineStart == StringRef::npos ? offset : offset - lineStart - 1;
  return FileLineColLoc::get(context, name, before.count('\n') + 1, column + 1);
}

MlirModule nvfp4ModuleParse(MlirContext context, MlirStringRef text,
                            MlirStringRef name, Nvfp4DiagnosticSink sink) {
  MLIRContext *owner = unwrap(context);
  if (!owner || (!text.data && text.length)) {
    reportError(sink, "expected a context and a text, but got null");
    return {nullptr};
  }
  DiagnosticScope scope(owner, sink);
  // A copy that ends in a zero, which the lexer relies on.
  std::string source = toString(text).str();
  std::string file = name.length ? toString(name).str() : "<text>";
  bool isBytecode = StringRef(source).starts_with("ML\xefR");
  if (!isBytecode)
    for (auto find : {tools::findUnprintable, tools::findExcessiveNesting})
      if (auto problem = find(source)) {
        emitError(locate(owner, source, file, problem->offset))
            << problem->message;
        return {nullptr};
      }
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(source, ParserConfig(owner), file);
  return wrap(module.release());
}

MlirModule nvfp4ModuleClone(MlirModule module) {
  if (!module.ptr)
    return {nullptr};
  return wrap(unwrap(module).clone());
}

void nvfp4ModuleDestroy(MlirModule module) {
  if (module.ptr)
    unwrap(module)->erase();
}

void nvfp4ModulePrint(MlirModule module, MlirStringCallback callback,
                      void *userData) {
  if (!module.ptr || !callback)
    return;
  mlir::detail::CallbackOstream stream(callback, userData);
  unwrap(module)->print(stream);
  stream << "\n";
}

MlirLogicalResult nvfp4ModuleRunPipeline(MlirModule module,
                                         MlirStringRef pipeline,
                                         Nvfp4DiagnosticSink sink) {
  if (!module.ptr || (!pipeline.data && pipeline.length))
    return reportError(sink, "expected a module and a pipeline, but got null");
  ModuleOp op = unwrap(module);
  DiagnosticScope scope(op->getContext(), sink);
  return wrap(tools::runPassPipeline(
      op, toString(pipeline),
      [sink](const std::string &message) { reportError(sink, message); }));
}
