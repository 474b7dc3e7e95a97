//===- LLVMIR.h - LLVM dialect to LLVM IR and machine code ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translation of a module in the LLVM dialect, and what can be written of it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_LLVMIR_H
#define NVFP4_TARGET_LLVMIR_H

#include "nvfp4/Target/NativeTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace llvm {
class LLVMContext;
class Module;
class raw_pwrite_stream;
} // namespace llvm

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace nvfp4::target {

/// Registers the translations that translateToLLVMIR needs.
void registerTranslations(mlir::DialectRegistry &registry);

/// Translates a module of the LLVM and OpenMP dialects for `machine` and
/// optimises it at `optLevel`. Null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::ModuleOp module,
                                                llvm::LLVMContext &context,
                                                llvm::TargetMachine &machine,
                                                unsigned optLevel);

/// Calls `generate`, which runs LLVM's code generator for `cpu`. That aborts
/// where it cannot select an instruction, which becomes a diagnostic at
/// `module` here; what `generate` had allocated is then lost.
mlir::LogicalResult runCodeGeneration(mlir::ModuleOp module,
                                      llvm::StringRef cpu,
                                      llvm::function_ref<void()> generate);

/// The output of emitModule.
enum class EmitKind {
  /// LLVM IR as text, optimised.
  LLVM,
  /// Assembly for the target.
  Assembly,
  /// A relocatable object file.
  Object,
};

/// Translates `module` for `target` and writes it to `os`. On failure a
/// diagnostic has been reported at the module.
mlir::LogicalResult emitModule(mlir::ModuleOp module,
                               const NativeTarget &target, EmitKind kind,
                               llvm::raw_pwrite_stream &os);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_LLVMIR_H
