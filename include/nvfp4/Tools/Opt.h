//===- Opt.h - What nvfp4-opt and warpspec-opt do ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with a look at the text before the parser sees it, and an output
// that replaces what was there only if all went well.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_OPT_H
#define NVFP4_TOOLS_OPT_H

#include "mlir/IR/DialectRegistry.h"

namespace nvfp4::tools {

/// Runs the passes that the command line names. Passes are registered before;
/// `title` begins the help text. Returns the exit status.
int runOpt(int argc, char **argv, llvm::StringRef title,
           mlir::DialectRegistry &registry);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_OPT_H
