//===- ReferenceRun.h - The interpreter on tensors of files -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle behind --device=reference and --check: the interpreter of
// lib/Reference on tensors of files, and the comparison of results with it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_REFERENCERUN_H
#define NVFP4_TOOLS_REFERENCERUN_H

#include "nvfp4/Reference/Compare.h"
#include "nvfp4/Reference/Interpreter.h"
#include "nvfp4/Tools/Signature.h"

#include <optional>

namespace nvfp4::tools {

/// How `--check` is done.
struct CheckSpec {
  reference::SampleSpec sample;

  /// Reads `reference` or `reference:sampled=N` (N rows of each group and N
  /// columns).
  static tensorio::Expected<CheckSpec> parse(const std::string &text);
};

/// The interpreter's results for `arguments`, one value per result of the
/// function (a scaled result is one), with bounds for results of `target`.
tensorio::Expected<std::vector<reference::Value>>
interpret(mlir::ModuleOp module, const Signature &signature,
          const std::vector<tensorio::Tensor> &arguments,
          const reference::SampleSpec &sample, const std::string &target,
          int threads);

/// The tensors of interpreted results, scaled ones as values and scales.
tensorio::Expected<std::vector<tensorio::Tensor>>
flatten(const std::vector<reference::Value> &values);

/// Compares `results`, as `signature` lists them, with the interpreter's and
/// writes a line for each to `os`. Fails if one does not agree.
tensorio::Status checkResults(const Signature &signature,
                              const std::vector<tensorio::Tensor> &results,
                              const std::vector<reference::Value> &expected,
                              bool exact, llvm::raw_ostream &os);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_REFERENCERUN_H
