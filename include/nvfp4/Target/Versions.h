//===- Versions.h - Code for several CPUs -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a module says which CPUs its code is for, and what is done already.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_VERSIONS_H
#define NVFP4_TARGET_VERSIONS_H

#include "llvm/ADT/StringRef.h"

namespace nvfp4::target {

/// An array of names of instruction sets (NativeTarget::forIsa) on a module
/// that is made for several CPUs: translation to LLVM IR compiles every
/// function that computes for each of them, and `nvfp4_cpu_isa` of the runtime
/// chooses where it is called.
inline constexpr llvm::StringLiteral kIsasAttr = "grouped_scaled_gemm.isas";

/// An attribute of LLVM IR on a function whose code is written as it should be
/// executed, vectors and all: the optimiser only cleans it up, in a third of
/// the time.
inline constexpr llvm::StringLiteral kLoweredAttr = "nvfp4-lowered";

/// The symbol by which the runtime finds the entries of kernels, which modules
/// that launch some have.
inline constexpr llvm::StringLiteral kKernelList = "nvfp4_kernels";

} // namespace nvfp4::target

#endif // NVFP4_TARGET_VERSIONS_H
