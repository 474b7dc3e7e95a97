//===- RunPlan.h - What the options of nvfp4-run ask for --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options are read as far as they can be without a file, so that a mistake
// does not cost the time of a compilation or of a product.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_RUNPLAN_H
#define NVFP4_TOOLS_RUNPLAN_H

#include "nvfp4/Reference/InterpreterOptions.h"
#include "nvfp4/TensorIO/Expected.h"
#include "nvfp4/Tools/RunOptions.h"

namespace nvfp4::tools {

/// The work of nvfp4-run, from options that agree with each other.
struct RunPlan {
  /// The outputs that `--check` compares.
  reference::SampleSpec sample;
  /// How many calls to time; 0 for none.
  unsigned repeats = 0;

  /// Rejects options that no input could make right. `notes` are for those
  /// that do nothing.
  static tensorio::Expected<RunPlan> get(const RunOptions &options,
                                         std::vector<std::string> &notes);
};

/// True for devices that run kernels.
bool isGpuDevice(const std::string &device);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_RUNPLAN_H
