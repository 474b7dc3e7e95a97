//===- InlineCalls.h - device functions into kernels ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls are expanded before decoding, so that control flow, liveness and
// divergence never see one. Arguments and results in .param space become
// variables of the kernel's local frame, shared by both sides.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_INLINECALLS_H
#define NVFP4_SIMULATOR_PTX_INLINECALLS_H

#include "nvfp4/Simulator/Ptx/Ast.h"

namespace nvfp4::sim {

/// Expands all calls in the kernels of `module`. Recursive and indirect calls
/// and calls of functions without a body are errors, except for
/// `__assertfail`, which traps, and `vprintf`, which prints nothing.
/// Returns false when `diagnostics` got errors.
bool inlineCalls(Module &module, Diagnostics &diagnostics);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_INLINECALLS_H
