//===- KernelLibrary.h - CPU kernels compiled ahead -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner kernels of every instruction set and pair of formats do not depend
// on a program, so they are compiled once, when this project is built, and kept
// as compressed assembly. A module declares the ones it calls and gets their
// text as module-level assembly: the object stays one file, whose kernels are
// local to it, and the compiler has only to assemble them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELLIBRARY_KERNELLIBRARY_H
#define NVFP4_KERNELLIBRARY_KERNELLIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>
#include <vector>

namespace nvfp4::kernels {

/// Names of the kernels that the library holds (`KernelSpec::name`); none where
/// it was built for another processor than x86-64.
std::vector<std::string> listKernels();

/// The assembly of the functions of the kernel `name`, every symbol local and
/// no label shared with another kernel, or nothing.
std::optional<std::string> getAssembly(llvm::StringRef name);

/// Asks the lowering of `module` to CPUs to declare kernels instead of emitting
/// them, if there is a library.
void declareKernels(mlir::ModuleOp module);

/// Gives `module`, which is in the LLVM dialect, the assembly of the kernels
/// that it declares. Fails after a diagnostic if one is not in the library.
mlir::LogicalResult attachKernels(mlir::ModuleOp module);

} // namespace nvfp4::kernels

#endif // NVFP4_KERNELLIBRARY_KERNELLIBRARY_H
