//===- Versions.h - Code for several CPUs -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a module says which CPUs its code is for.
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

} // namespace nvfp4::target

#endif // NVFP4_TARGET_VERSIONS_H
