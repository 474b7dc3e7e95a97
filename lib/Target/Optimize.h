//===- Optimize.h - LLVM's optimiser ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From LLVM IR as translated to LLVM IR for code generation.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TARGET_OPTIMIZE_H
#define NVFP4_LIB_TARGET_OPTIMIZE_H

#include "llvm/IR/Module.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace nvfp4::target {

/// Runs LLVM's pipeline of `level`, 0 to 3; functions with kLoweredAttr only
/// see the passes that clean up, and long ones of hosts without a loop none.
/// Code of hosts that launches kernels may lower the level of `machine`, so
/// that it is a machine for this module alone.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned level);

} // namespace nvfp4::target

#endif // NVFP4_LIB_TARGET_OPTIMIZE_H
