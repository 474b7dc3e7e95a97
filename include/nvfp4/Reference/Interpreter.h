//===- Interpreter.h - Executes the dialect in exact arithmetic -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of every numerical test: runs a function of a module that uses
// `grouped_scaled_gemm` on tensors, with the upstream operations that surround
// it (func, arith, math, tensor, linalg, affine.apply, scf.for, scf.if). It
// shares no lowering with any target. Results carry error bounds (see Real.h).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_INTERPRETER_H
#define NVFP4_REFERENCE_INTERPRETER_H

#include "nvfp4/Reference/InterpreterOptions.h"
#include "nvfp4/Reference/Value.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace nvfp4::reference {

/// Runs functions of one module.
class Interpreter {
public:
  explicit Interpreter(mlir::ModuleOp module, InterpreterOptions options = {})
      : module(module), options(options) {}

  /// Calls `function`. An argument of type `scaled` is given as one
  /// ScaledValue or as two tensors, values and scales. Shapes and element types
  /// are checked. Fails, with the location of the operation, on data that the
  /// operation does not allow.
  llvm::Expected<std::vector<Value>> run(llvm::StringRef function,
                                         llvm::ArrayRef<Value> args);

private:
  mlir::ModuleOp module;
  InterpreterOptions options;
};

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_INTERPRETER_H
