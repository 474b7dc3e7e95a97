//===- DeviceFunction.h - What calls on device memory need ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size of the workspace and the shapes of the results in one answer, for
// callers in this library that need both.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICEFUNCTION_H
#define NVFP4_LIB_RUNTIME_DEVICEFUNCTION_H

#include "Module.h"

namespace nvfp4::runtime {

/// What a call needs beside its arguments.
struct CallNeeds {
  uint64_t workspace = 0;
  /// Of the results; empty for scalars.
  std::vector<std::vector<int64_t>> shapes;
};

/// nvfp4_function_workspace and nvfp4_function_result_shapes at once. There are
/// as many arguments as the function has.
nvfp4_status measureCall(const nvfp4_function &function,
                         const DLTensor *const *arguments, CallNeeds &needs);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICEFUNCTION_H
