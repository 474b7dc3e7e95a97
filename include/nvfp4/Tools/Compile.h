//===- Compile.h - What nvfp4-compile does ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a file of MLIR to an artefact. Problems are reported on standard error.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_COMPILE_H
#define NVFP4_TOOLS_COMPILE_H

#include "nvfp4/Tools/Code.h"

#include <memory>
#include <string>
#include <vector>

namespace nvfp4::tools {

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
  /// A file of strategies that were measured, for products without one.
  std::string strategies;
  /// How many strategies of each product to measure first, for products of
  /// which the file knows nothing; empty: none.
  std::string tune;
  /// Options of the command line that decide what is written and how, as
  /// given: with `explain` there must be none.
  std::vector<std::string> forOutput;
};

/// A module and the context that it lives in, with every dialect registered.
class ParsedModule {
public:
  /// Reads `path`, `-` being standard input, and runs the passes that the
  /// options ask for. Null after a diagnostic or a report.
  static std::unique_ptr<ParsedModule> parse(const std::string &path,
                                             const CodeOptions &options);
  ~ParsedModule();

  /// The module; valid as long as this object.
  mlir::ModuleOp get();

private:
  struct State;
  explicit ParsedModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Does what the options say; the exit code of the process: 0, or 1 after a
/// report or a diagnostic.
int runCompile(CompileOptions options);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_COMPILE_H
