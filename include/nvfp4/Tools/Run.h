//===- Run.h - What nvfp4-run does ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one function of a module on tensors from files, times it and checks it.
// The options are the members of RunOptions.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_RUN_H
#define NVFP4_TOOLS_RUN_H

#include "nvfp4/Tools/RunOptions.h"

namespace nvfp4::tools {

/// Does what the options say; the exit code of the process: 0, or 1 after a
/// message on standard error, which a failed check is as well.
int runRun(RunOptions options);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_RUN_H
