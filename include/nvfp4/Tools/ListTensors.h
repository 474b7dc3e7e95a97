//===- ListTensors.h - What nvfp4-tensors does ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A look into .npy files and safetensors checkpoints: name, type, shape, bytes,
// range and special values of each tensor; or a copy of one.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_LISTTENSORS_H
#define NVFP4_TOOLS_LISTTENSORS_H

#include "nvfp4/Tools/Report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nvfp4::tools {

/// The options of nvfp4-tensors.
struct ListOptions {
  /// Files, tensors in files or folders, see TensorRef.
  std::vector<std::string> specs;
  /// Range and special values as well, for which all data is read.
  bool values = true;
  /// How many elements to print.
  int64_t print = 0;
  /// Where the tensor of the only specification is copied to, if not empty.
  std::string output;
  /// Where errors go. Must be set.
  Report report;
};

/// Does what the options say; the exit code of the process: 0, or 1 after a
/// report for each specification that failed.
int runListTensors(const ListOptions &options);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_LISTTENSORS_H
