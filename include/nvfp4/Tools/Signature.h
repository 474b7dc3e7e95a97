//===- Signature.h - What a function takes and returns ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of a function as files can hold them: a block-scaled argument
// is two, values and scales.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_SIGNATURE_H
#define NVFP4_TOOLS_SIGNATURE_H

#include "nvfp4/Runtime/nvfp4_runtime.h"
#include "nvfp4/TensorIO/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace nvfp4::tools {

/// One argument or result.
struct ValueType {
  tensorio::DType dtype = tensorio::DType::F32;
  /// As MLIR spells it: `f32`, `i8`, `index`.
  std::string elementType;
  bool isScalar = false;
  /// True for memrefs, which the function may write to.
  bool isMutable = false;
  /// -1 where any extent is accepted.
  std::vector<int64_t> shape;
  nvfp4_role role = NVFP4_ROLE_PLAIN;
  /// The block-scaled type that this is a part of, or empty.
  std::string scaledType;

  /// `[?, 3584] i8 (values of !grouped_scaled_gemm.scaled<...>)`.
  std::string describe() const;
};

/// A function in terms of files: what it takes and what it returns, in order.
struct Signature {
  std::string name;
  std::vector<ValueType> arguments;
  std::vector<ValueType> results;

  /// The signature of a public function of `module`: `entry`, or if that is
  /// empty the only one.
  static tensorio::Expected<Signature> get(mlir::ModuleOp module,
                                           const std::string &entry);
  /// The signature of a compiled function.
  static tensorio::Expected<Signature> get(const nvfp4_function *function);

  /// One line for each argument and result.
  std::string describe() const;
};

/// The type of MLIR elements called `name`, or nothing.
std::optional<tensorio::DType> dtypeOfElement(std::string_view name);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_SIGNATURE_H
