//===- RunOptions.h - The options of nvfp4-run ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_RUNOPTIONS_H
#define NVFP4_TOOLS_RUNOPTIONS_H

#include "nvfp4/Tools/Code.h"

#include <string>
#include <vector>

namespace nvfp4::tools {

/// The options of nvfp4-run.
struct RunOptions : CodeOptions {
  /// An empty target is that of the device. Code that runs once has one
  /// version.
  RunOptions() {
    target.clear();
    versions = 1;
  }

  /// A module in MLIR, or a shared object (by its first bytes).
  std::string input = "-";
  /// The function; empty if there is only one.
  std::string entry;
  /// One for each argument, see Inputs.h.
  std::vector<std::string> inputs;
  /// A .npy file for each result and then for each argument that the function
  /// writes; `-` skips one. May be shorter.
  std::vector<std::string> outputs;
  /// `cpu`; `cuda`, `cuda:N` or `sim`, where products become kernels for the
  /// target, which is not `cpu`; or `reference` for the interpreter. Empty for
  /// `cpu`, but kernels of an artefact run where $NVFP4_DEVICE says.
  std::string device;
  /// Whether the target was given rather than that of the device; set by
  /// runRun.
  bool isTargetGiven = false;
  /// Empty, `reference` or `reference:sampled=N`.
  std::string check;
  /// The module that is interpreted; empty for `input`. Needed to check a
  /// shared object.
  std::string reference;
  /// Results must equal the interpreter's to the bit.
  bool exact = false;
  /// How many calls to time; empty for none.
  std::string time;
  /// `--threads`; 0 for the default of the runtime.
  int numThreads = 0;
  bool printSignature = false;
};

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_RUNOPTIONS_H
