//===- VersionFunctions.h - One function, several CPUs ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are written once for each instruction set. Other computations, such
// as quantisers, are written once and compiled for each.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TARGET_VERSIONFUNCTIONS_H
#define NVFP4_LIB_TARGET_VERSIONFUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace nvfp4::target {

/// Gives every function that computes with floats or vectors, and is not made
/// for a CPU already, a version for each of `isas` (NativeTarget::forIsa)
/// beside the one it has. The function itself then asks the runtime's
/// `nvfp4_cpu_isa` and calls one of them; versions call versions for the same
/// CPU. `generic` among the names is the version that a function has.
llvm::Error versionFunctions(llvm::Module &module,
                             llvm::ArrayRef<llvm::StringRef> isas);

} // namespace nvfp4::target

#endif // NVFP4_LIB_TARGET_VERSIONFUNCTIONS_H
