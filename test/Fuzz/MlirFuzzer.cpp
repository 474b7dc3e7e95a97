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

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Upstream's parser recurses on nesting that it does not bound; deep input
  // says nothing about our dialect.
  constexpr size_t maxSize = 4096;
  if (size > maxSize)
    return 0;
  DialectRegistry registry;
  nvfp4::fuzz::registerDialects(registry);
  // A context for each input: an attribute of one must not help another.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](Diagnostic &) {});

  ParserConfig config(&context);
  // The lexer reads up to a terminating zero.
  std::string text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return 0;
  requireRoundTrip(*module, context);

  PassManager passes(&context);
  if (failed(parsePassPipeline(nvfp4::fuzz::getPipeline(), passes)))
    std::abort();
  if (succeeded(passes.run(*module)) && failed(verify(*module)))
    std::abort();
  return 0;
}
