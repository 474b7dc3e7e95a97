//===- PassPipeline.cpp - Passes that a user asks for -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that a user asks for by their names.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/PassPipeline.h"

#include "nvfp4/InitAll.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <mutex>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;

static void registerPassesOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::registerAllPasses();
    nvfp4::registerAllPasses();
  });
}

LogicalResult tools::runPassPipeline(ModuleOp module, StringRef text,
                                     const Report &report) {
  text = text.trim();
  if (text.empty())
    return success();
  registerPassesOnce();
  // The anchor may be left out.
  StringRef anchor = ModuleOp::getOperationName();
  if (text.starts_with((anchor + "(").str()) && text.ends_with(")"))
    text = text.drop_front(anchor.size() + 1).drop_back();
  auto fail = [&](StringRef problem) {
    report(("error: the pipeline '" + text + "' " + problem.trim()).str());
    return failure();
  };
  PassManager pm(module.getContext(), anchor);
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (failed(parsePassPipeline(text, pm, os)))
    return fail("could not be parsed: " + problem);
  if (failed(pm.run(module)))
    return fail("failed");
  return success();
}
