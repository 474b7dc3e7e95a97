//===- Code.h - Code of a module --------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module to what machines run, and the options that decide what code is
// made: shared by nvfp4-compile, nvfp4-run and the C interface.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_CODE_H
#define NVFP4_TOOLS_CODE_H

#include "nvfp4/Target/Jit.h"
#include "nvfp4/Target/NativeTarget.h"
#include "nvfp4/Tools/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace nvfp4::tools {

/// The target of the code.
struct CodeOptions {
  /// `cpu`, or a GPU for products: `sm_90a`, `sm_100a`, `sm_103a`, `sm_100f`.
  std::string target = "cpu";
  /// `generic`, `avx2`, `avx512vnni`, `avx512bf16`, `amx`, or `native` for the
  /// fastest of this CPU that NVFP4_CPU_ISA allows; or several, separated by
  /// commas, among which the runtime chooses; `all` are these five.
  std::string isa = "native";
  /// Parallel loops run on OpenMP threads.
  bool threads = true;
  /// Data and dynamic extents are checked where the code runs.
  bool runtimeChecks = true;
  unsigned optLevel = 3;
  /// Where arguments and results of functions for a GPU are: `host`, or
  /// `device` for nvfp4_function_run, which copies nothing.
  std::string memory = "host";
  /// Kernels for few and for many rows of a product whose rows are known only
  /// where the code runs, at most.
  int64_t versions = 4;
  /// One launch for operations beside products where it is predicted to be
  /// faster, on memory of the device.
  bool fuseLaunches = true;
  /// Multiprocessors of the GPU to choose tiles for, 0 for those of the
  /// target's largest device.
  int64_t multiprocessors = 0;
  /// Artefacts for GPUs hold machine code by NVIDIA's ptxas beside the PTX.
  bool assemble = false;
  /// The inner kernels come from the library of this compiler, fully optimised:
  /// as assembly of the module, or as objects for createJit; or they are part
  /// of the IR.
  enum class Kernels { Assembly, Objects, Emitted };
  Kernels kernels = Kernels::Assembly;
  /// Passes that run on the module first, in MLIR's syntax; see PassPipeline.h.
  std::string passPipeline;
  /// Where errors and notes go. Must be set.
  Report report;
};

/// Reports an error; what is returned is both an exit code and a failure.
int reportError(const CodeOptions &options, const llvm::Twine &message);

/// Resolves `native` and rejects what is neither a target nor an instruction
/// set. On failure a message has been reported.
mlir::LogicalResult resolve(CodeOptions &options);

/// The CPU that LLVM generates code for: any that has the lowest of the
/// instruction sets. The options are resolved.
target::NativeTarget getNativeTarget(const CodeOptions &options);

/// Lowers `module` in place to the LLVM dialect. Fails after a diagnostic.
/// `configure` sees the pass manager before it runs.
mlir::LogicalResult
lowerToLLVM(mlir::ModuleOp module, const CodeOptions &options,
            llvm::function_ref<void(mlir::PassManager &)> configure = {});

/// Lowers `module` in place and compiles it into this process. Null after a
/// diagnostic.
std::unique_ptr<target::Jit> createJit(mlir::ModuleOp module,
                                       CodeOptions options);

/// Fails after a report, in which `owner` is what has the module, if nothing
/// can be called in what `module` compiles to.
mlir::LogicalResult checkFunctions(mlir::ModuleOp module,
                                   const CodeOptions &options,
                                   const llvm::Twine &owner);

/// Writes `module`, lowered to the LLVM dialect, as a shared object. Fails
/// after a diagnostic or a report.
mlir::LogicalResult emitSharedObject(mlir::ModuleOp module,
                                     const CodeOptions &options,
                                     const std::string &output);

/// The `ptx` or the `cubin` of the kernels of `module`, which is lowered in
/// place. For a cubin, messages of ptxas are reported. Fails after a diagnostic
/// or a report.
mlir::FailureOr<std::string> emitKernelCode(mlir::ModuleOp module,
                                            const CodeOptions &options,
                                            llvm::StringRef emit);

/// Prints, as a remark at each product, which strategies the cost model
/// considers for the GPU of `options`, their predicted times and why each lost;
/// with memory of the device also which other operations share a launch.
/// Nothing is printed but errors if a product gets no kernel.
mlir::LogicalResult explainStrategies(mlir::ModuleOp module,
                                      const CodeOptions &options);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_CODE_H
