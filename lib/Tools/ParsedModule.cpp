//===- ParsedModule.cpp - A module of a file --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module with all dialects registered, after a check of the text for
// what MLIR does not survive.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/InitAll.h"
#include "nvfp4/Tools/Compile.h"
#include "nvfp4/Tools/PassPipeline.h"
#include "nvfp4/Tools/SourceText.h"
#include "nvfp4/Tools/TextFiles.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace nvfp4::tools;

struct ParsedModule::State {
  llvm::SourceMgr sources;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::unique_ptr<SourceMgrDiagnosticHandler> handler;
  OwningOpRef<ModuleOp> module;
};

ParsedModule::ParsedModule(std::unique_ptr<State> state)
    : state(std::move(state)) {}
ParsedModule::~ParsedModule() = default;
ModuleOp ParsedModule::get() { return *state->module; }

std::unique_ptr<ParsedModule> ParsedModule::parse(const std::string &path,
                                                  const CodeOptions &options) {
  if (path == "-" && llvm::sys::Process::StandardInIsUserInput())
    options.report("reading MLIR from the terminal; end it with Ctrl-D");
  auto buffer = readText(path);
  if (!buffer) {
    options.report("error: " + buffer.message());
    return nullptr;
  }
  std::string problem = checkSource((*buffer)->getBuffer(), path);
  if (!problem.empty()) {
    options.report(problem);
    return nullptr;
  }
  bool isStablehlo = (*buffer)->getBuffer().contains("stablehlo.");
  auto state = std::make_unique<State>();
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  nvfp4::registerAllDialects(registry);
  state->context.appendDialectRegistry(registry);
  // A diagnostic names the place and the constraint; the text of the operation
  // in generic form helps no user.
  state->context.printOpOnDiagnostic(false);
  state->sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  state->handler = std::make_unique<SourceMgrDiagnosticHandler>(
      state->sources, &state->context);
  // Passes may know operations of dialects that are not here (StableHLO), and
  // none may be left by them.
  state->context.allowUnregisteredDialects(!options.passPipeline.empty());
  state->module = parseSourceFile<ModuleOp>(state->sources, &state->context);
  if (!state->module && isStablehlo && options.passPipeline.empty())
    options.report("StableHLO is read, in MLIR's generic form, with "
                   "--pass-pipeline='builtin.module(stablehlo-to-gsg)'");
  if (!state->module ||
      failed(runPassPipeline(*state->module, options.passPipeline,
                             options.report)))
    return nullptr;
  state->context.allowUnregisteredDialects(false);
  if (!options.passPipeline.empty() && failed(verify(*state->module)))
    return nullptr;
  return std::unique_ptr<ParsedModule>(new ParsedModule(std::move(state)));
}
