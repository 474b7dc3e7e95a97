//===- Arithmetic.cpp - Scalar operations of arith and math -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of rules by operation name. Floating point operations round
// once to the type of their result; functions of math may be 4 units in the
// last place off. Integers wrap.
//
//===----------------------------------------------------------------------===//

#include "ScalarRules.h"

namespace nvfp4::reference {

static const RuleTable &rules() {
  static const RuleTable table = [] {
    RuleTable all;
    addFloatRules(all);
    addFunctionRules(all);
    addIntegerRules(all);
    addConversionRules(all);
    return all;
  }();
  return table;
}

bool isScalarOp(mlir::Operation *op) {
  return rules().contains(op->getName().getStringRef());
}

std::optional<Scalar> evaluateScalarOp(mlir::Operation *op,
                                       llvm::ArrayRef<Scalar> operands,
                                       std::string &error) {
  auto rule = rules().find(op->getName().getStringRef());
  if (rule == rules().end()) {
    error = "is not a scalar operation";
    return std::nullopt;
  }
  error.clear();
  Scalar result = rule->second(op, operands, error);
  if (!error.empty())
    return std::nullopt;
  return result;
}

} // namespace nvfp4::reference
