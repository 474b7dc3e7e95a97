//===- CompiledFunction.h - Functions that can be called --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code as a function on tensors, be it made here or loaded.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_COMPILEDFUNCTION_H
#define NVFP4_TOOLS_COMPILEDFUNCTION_H

#include "nvfp4/Target/Jit.h"
#include "nvfp4/Tools/Code.h"
#include "nvfp4/Tools/Signature.h"

namespace nvfp4::tools {

/// A loaded function of an artefact or of a module compiled in this process.
class CompiledFunction {
public:
  /// Compiles `module`, which it lowers in place.
  static tensorio::Expected<std::unique_ptr<CompiledFunction>>
  compile(mlir::ModuleOp module, const CodeOptions &options,
          const std::string &entry);
  /// Loads a shared object.
  static tensorio::Expected<std::unique_ptr<CompiledFunction>>
  load(const std::string &path, const std::string &entry);
  ~CompiledFunction();

  const nvfp4_function *get() const { return function; }
  /// The target of its products; empty if the artefact is older than
  /// descriptions of targets.
  std::string getTarget() const;

  /// Calls the function. Results are its results; tensors passed for memrefs
  /// are written in place. Kernels run on `device`; where that is empty, on the
  /// one that $NVFP4_DEVICE says.
  tensorio::Expected<std::vector<tensorio::Tensor>>
  call(const std::vector<tensorio::Tensor> &arguments,
       const Signature &signature, const std::string &device = {}) const;

private:
  CompiledFunction() = default;
  tensorio::Status select(const std::string &entry);

  std::unique_ptr<target::Jit> jit;
  nvfp4_module *module = nullptr;
  const nvfp4_function *function = nullptr;
};

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_COMPILEDFUNCTION_H
