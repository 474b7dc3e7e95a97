//===- KernelTargets.h - The targets of this compiler -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes and tools know targets by KernelTarget.h alone.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_KERNELTARGETS_H
#define NVFP4_STRATEGY_KERNELTARGETS_H

namespace nvfp4::strategy {

/// Registers all targets, once for the process; thread-safe.
void registerKernelTargets();

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_KERNELTARGETS_H
