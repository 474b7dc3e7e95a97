//===- nvfp4-opt.cpp - The optimizer driver ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with our dialects, passes and pipelines, and with a look at the
// text before the parser sees it. Registration only.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/InitAll.h"
#include "nvfp4/Tools/SourceText.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  nvfp4::registerAllPasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  nvfp4::registerAllDialects(registry);

  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "NVFP4 grouped block-scaled GEMM compiler\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "reading MLIR from the terminal; end it with Ctrl-D\n";

  std::string problem;
  auto file = mlir::openInputFile(input, &problem);
  if (file)
    problem = nvfp4::tools::checkSource(file->getBuffer(), input);
  auto stream = problem.empty() ? mlir::openOutputFile(output, &problem)
                                : std::unique_ptr<llvm::ToolOutputFile>();
  if (!stream) {
    llvm::errs() << problem << "\n";
    return 1;
  }
  if (mlir::failed(
          mlir::MlirOptMain(stream->os(), std::move(file), registry, config)))
    return 1;
  stream->keep();
  return 0;
}
