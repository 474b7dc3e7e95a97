//===- Session.h - the runs of one nvfp4-sim command ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the program, runs it for every seed, compares results between seeds,
// and prints reports.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_NVFP4_SIM_SESSION_H
#define NVFP4_TOOLS_NVFP4_SIM_SESSION_H

#include "Options.h"

namespace nvfp4::simtool {

/// Runs what `options` asks for; returns the exit status of the tool.
int runSession(Options &options);

} // namespace nvfp4::simtool

#endif // NVFP4_TOOLS_NVFP4_SIM_SESSION_H
