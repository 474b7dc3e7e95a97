//===- nvfp4-sim.cpp - run PTX on the CPU -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command-line front of the simulator library; see --help.
//
//===----------------------------------------------------------------------===//

#include "Exec.h"
#include "Session.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "exec") == 0)
    return nvfp4::simtool::runExec(argc - 2, argv + 2);
  nvfp4::simtool::Options options;
  std::string error = nvfp4::simtool::parseOptions(argc, argv, options);
  if (!error.empty()) {
    std::fprintf(stderr, "nvfp4-sim: error: %s (see --help)\n", error.c_str());
    return 2;
  }
  if (options.help) {
    std::fputs(nvfp4::simtool::usage(), stdout);
    return 0;
  }
  return nvfp4::simtool::runSession(options);
}
