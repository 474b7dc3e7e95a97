//===- KernelLibrary.h - CPU kernels compiled ahead -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner kernels of every instruction set and pair of formats do not depend
// on a program, so they are compiled once, when this project is built, and kept
// compressed, as assembly and as objects. A module declares the ones it calls.
// One that becomes a file gets their text as module-level assembly: the file
// stays one, and its kernels are local to it. Code in memory is linked with the
// objects, so that nothing is assembled.
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

/// The same functions as an ELF object, which defines them as global symbols.
std::optional<std::string> getObject(llvm::StringRef name);

/// Asks the lowering of `module` to CPUs to declare kernels instead of emitting
/// them, if there is a library.
void declareKernels(mlir::ModuleOp module);

/// Gives `module`, which is in the LLVM dialect, the assembly of the kernels
/// that it declares. Fails after a diagnostic if one is not in the library.
mlir::LogicalResult attachKernels(mlir::ModuleOp module);

/// The objects of the kernels that `module`, which is in the LLVM dialect,
/// declares. Fails after a diagnostic if one is not in the library.
mlir::FailureOr<std::vector<std::string>> takeObjects(mlir::ModuleOp module);

} // namespace nvfp4::kernels

#endif // NVFP4_KERNELLIBRARY_KERNELLIBRARY_H
