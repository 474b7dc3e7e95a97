//===- MlirFuzzer.cpp - Fuzzes the reader of .mlir text ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and verifies text as a module. A valid module must survive printing
// and parsing again, and then goes through the pipeline.
//
//===----------------------------------------------------------------------===//

#include "RegisterDialects.h"

#include "nvfp4/Tools/SourceText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <cstdlib>
#include <string>

using namespace mlir;

/// Stops at the first module that its own printed form does not reproduce.
static void requireRoundTrip(ModuleOp module, MLIRContext &context) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  ParserConfig config(&context);
  if (!parseSourceString<ModuleOp>(text, config)) {
    llvm::errs() << "the printed module does not parse:\n" << text << "\n";
    std::abort();
  }
}

/// True if all operations are of dialects that the fuzzer is about.
static bool isOfInterest(ModuleOp module) {
  WalkResult result = module->walk([](Operation *op) {
    return llvm::is_contained(nvfp4::fuzz::getInputDialects(),
                              op->getName().getDialectNamespace())
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Runs the pipeline; what it makes must be valid and print, and a failure
/// must have a reason.
static void requireLowering(ModuleOp module, MLIRContext &context,
                            const int &numErrors) {
  PassManager passes(&context);
  if (failed(parsePassPipeline(nvfp4::fuzz::getPipeline(), passes)))
    std::abort();
  int before = numErrors;
  if (failed(passes.run(module))) {
    if (numErrors != before)
      return;
    llvm::errs() << "the pipeline failed without a diagnostic\n";
    std::abort();
  }
  if (failed(verify(module)))
    std::abort();
  module.print(llvm::nulls());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t maxSize = 8192;
  if (size > maxSize)
    return 0;
  static const DialectRegistry registry = [] {
    DialectRegistry registry;
    nvfp4::fuzz::registerDialects(registry);
    return registry;
  }();
  // A context for each input: an attribute of one must not help another.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  int numErrors = 0;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    numErrors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  });

  ParserConfig config(&context);
  // The lexer reads up to a terminating zero.
  std::string text(reinterpret_cast<const char *>(data), size);
  if (nvfp4::tools::findExcessiveNesting(text))
    return 0;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module) {
    if (numErrors)
      return 0;
    llvm::errs() << "the parser failed without a diagnostic\n";
    std::abort();
  }
  if (!isOfInterest(*module))
    return 0;
  requireRoundTrip(*module, context);
  requireLowering(*module, context, numErrors);
  return 0;
}
