//===- Opt.cpp - What nvfp4-opt and warpspec-opt do -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Opt.h.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Opt.h"

#include "nvfp4/TensorIO/OutputFile.h"
#include "nvfp4/Tools/SourceText.h"
#include "nvfp4/Tools/TextFiles.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace nvfp4;

static int fail(const std::string &message) {
  llvm::errs() << message << "\n";
  return 1;
}

int tools::runOpt(int argc, char **argv, llvm::StringRef title,
                  mlir::DialectRegistry &registry) {
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, title, registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  // Upstream splits at all but the last two characters, forever at none.
  if (size_t size = config.inputSplitMarker().size(); size == 1 || size == 2)
    return fail(("error: expected a marker for --split-input-file of three "
                 "characters or more, but got '" +
                 config.inputSplitMarker() + "'")
                    .str());
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "reading MLIR from the terminal; end it with Ctrl-D\n";

  auto text = readText(input);
  if (!text)
    return fail("error: " + text.message());
  if (std::string problem = checkSource((*text)->getBuffer(), input);
      !problem.empty())
    return fail(problem);
  if (output == "-") {
    bool failed = mlir::failed(
        mlir::MlirOptMain(llvm::outs(), std::move(*text), registry, config));
    tensorio::Status written = flushStandardOutput();
    return written ? failed : fail("error: " + written.message());
  }
  // Before the work: a place that cannot be written is an error at once.
  auto file = tensorio::OutputFile::create(output);
  if (!file)
    return fail("error: " + file.message());
  std::string result;
  llvm::raw_string_ostream os(result);
  if (mlir::failed(mlir::MlirOptMain(os, std::move(*text), registry, config)))
    return 1;
  tensorio::Status written = file->write(result);
  if (written)
    written = file->commit();
  return written ? 0 : fail("error: " + written.message());
}
