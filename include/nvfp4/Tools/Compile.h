//===- Compile.h - What nvfp4-compile does ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a file of MLIR to an artefact. Problems are reported on standard error.
// nvfp4-run shares the options that decide what code is made.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_COMPILE_H
#define NVFP4_TOOLS_COMPILE_H

#include "nvfp4/Target/NativeTarget.h"
#include "nvfp4/Tools/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace nvfp4::tools {

/// What code is made for.
struct CodeOptions {
  /// `cpu`, or a GPU for products: `sm_90a`, `sm_100a`, `sm_103a`, `sm_100f`.
  std::string target = "cpu";
  /// `generic`, `avx2`, `avx512vnni`, or `native` for the best that this CPU
  /// has and NVFP4_CPU_ISA allows; or several, separated by commas, among which
  /// the runtime chooses; `all` are these three.
  std::string isa = "native";
  /// Parallel loops run on OpenMP threads.
  bool threads = true;
  /// Data and dynamic extents are checked where the code runs.
  bool runtimeChecks = true;
  unsigned optLevel = 3;
  /// The inner kernels come from the library of this compiler, as assembly and
  /// fully optimised; otherwise they are part of the IR.
  bool kernelLibrary = true;
  /// Where errors and notes go. Must be set.
  Report report;
};

/// The options of nvfp4-compile.
struct CompileOptions : CodeOptions {
  /// `isa` is empty, which means `all` for `so` and `obj`, else `native`.
  CompileOptions() { isa.clear(); }
  std::string input = "-";
  /// Empty: standard output for text, and for `so` and `obj` the name of the
  /// input with another ending.
  std::string output;
  /// `mlir` (LLVM dialect), `llvm`, `asm`, `obj` or `so`; of kernels for a GPU
  /// `ptx` or `cubin`.
  std::string emit = "so";
  /// Print the candidate strategies of each product for `target`, a GPU, and
  /// stop.
  bool explain = false;
  /// Options of the command line that decide what is written and how, as
  /// given: with `explain` there must be none.
  std::vector<std::string> forOutput;
};

/// A module and the context that it lives in, with every dialect registered.
class ParsedModule {
public:
  /// Reads `path`, `-` being standard input. Null after a diagnostic or a
  /// report.
  static std::unique_ptr<ParsedModule> parse(const std::string &path,
                                             const Report &report);
  ~ParsedModule();

  /// The module; valid as long as this object.
  mlir::ModuleOp get();

private:
  struct State;
  explicit ParsedModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Resolves `native` and rejects what is neither a target nor an instruction
/// set. On failure a message has been reported.
mlir::LogicalResult resolve(CodeOptions &options);

/// What LLVM generates code for: every CPU that has the lowest of the
/// instruction sets. The options are resolved.
target::NativeTarget getNativeTarget(const CodeOptions &options);

/// Lowers `module` in place to the LLVM dialect. Fails after a diagnostic.
/// `configure` sees the pass manager before it runs.
mlir::LogicalResult
lowerToLLVM(mlir::ModuleOp module, const CodeOptions &options,
            llvm::function_ref<void(mlir::PassManager &)> configure = {});

/// True if something can be called in what `module` compiles to.
bool hasFunctions(mlir::ModuleOp module);

/// Writes `module`, lowered to the LLVM dialect, as a shared object. Fails
/// after a diagnostic or a report.
mlir::LogicalResult emitSharedObject(mlir::ModuleOp module,
                                     const CodeOptions &options,
                                     const std::string &output);

/// The `ptx` or the `cubin` of the kernels of `module`, which is lowered in
/// place. Of a cubin what ptxas says about it is reported. Fails after a
/// diagnostic or a report.
mlir::FailureOr<std::string> emitKernelCode(mlir::ModuleOp module,
                                            const CodeOptions &options,
                                            llvm::StringRef emit);

/// Prints, as a remark at each product, which strategies the cost model
/// considers for the GPU `target`, their predicted times and why each lost.
mlir::LogicalResult explainStrategies(mlir::ModuleOp module,
                                      const std::string &target);

/// Does what the options say; the exit code of the process: 0, or 1 after a
/// report or a diagnostic.
int runCompile(CompileOptions options);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_COMPILE_H
