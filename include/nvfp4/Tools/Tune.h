//===- Tune.h - Measuring strategies ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of nvfp4-compile --tune before it compiles.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_TUNE_H
#define NVFP4_TOOLS_TUNE_H

#include "nvfp4/Tools/Code.h"
#include "nvfp4/Tools/TunedStrategies.h"

namespace nvfp4::tools {

/// Runs the functions of `module` that hold products of which `tuned` knows
/// nothing, on the device that NVFP4_DEVICE names, with made-up operands: with
/// each of the `count` strategies that the model ranks first for a product, and
/// adds the one whose kernels take the least time. Each result is reported.
/// Fails after a report.
mlir::LogicalResult tune(mlir::ModuleOp module, const CodeOptions &options,
                         unsigned count, TunedStrategies &tuned);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_TUNE_H
