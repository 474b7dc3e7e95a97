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

#include "nvfp4/TensorIO/OutputFile.h"

#include <cstdio>
#include <cstring>

/// The exit status: what was printed must have been written.
static int finish(int status) {
  nvfp4::tensorio::Status written = nvfp4::tensorio::flushStandardOutput();
  if (written)
    return status;
  std::fprintf(stderr, "nvfp4-sim: error: %s\n", written.message().c_str());
  return status ? status : 1;
}

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
    return finish(0);
  }
  return finish(nvfp4::simtool::runSession(options));
}
