//===- Exec.h - nvfp4-sim exec ----------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a CUDA program with stand-ins for the CUDA libraries, so that its
// kernels run on the simulator.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_NVFP4_SIM_EXEC_H
#define NVFP4_TOOLS_NVFP4_SIM_EXEC_H

namespace nvfp4::simtool {

/// Runs what follows `exec` on the command line; returns the exit status of
/// the tool.
int runExec(int argc, char **argv);

} // namespace nvfp4::simtool

#endif // NVFP4_TOOLS_NVFP4_SIM_EXEC_H
