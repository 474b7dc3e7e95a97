//===- Options.h - command line of nvfp4-sim --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsed options; `usage` is the help text.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_NVFP4_SIM_OPTIONS_H
#define NVFP4_TOOLS_NVFP4_SIM_OPTIONS_H

#include "nvfp4/Simulator/Machine/Launch.h"

#include <string>

namespace nvfp4::simtool {

/// What the command line asks for.
struct Options {
  std::string ptxFile;
  std::string kernel;
  std::string arguments;
  std::string traceFile;
  std::string timelineFile;
  sim::LaunchConfig launch;
  sim::RunOptions run;
  unsigned seeds = 1;
  /// All schedules, at most so many; 0 where seeds choose them.
  uint64_t schedules = 0;
  /// That run the kernel at the same time.
  unsigned devices = 1;
  bool list = false;
  bool statistics = false;
  bool allowDifferences = false;
  bool help = false;
  bool blockGiven = false;
};

/// Parses the arguments; returns an error message, or an empty string.
std::string parseOptions(int argc, char **argv, Options &options);

/// The help text.
const char *usage();

/// Parses "4", "4,2" or "4x2x1"; false when it is none of these.
bool parseDimensions(const std::string &text,
                     std::array<uint32_t, 3> &dimensions);

} // namespace nvfp4::simtool

#endif // NVFP4_TOOLS_NVFP4_SIM_OPTIONS_H
