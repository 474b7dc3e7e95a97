//===- ScalarRules.h - Rules for scalar operations --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule computes the result of one operation of `arith` or `math` from its
// operands. Rules are found by the name of the operation; each family of them
// adds its own to the table of Arithmetic.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_SCALARRULES_H
#define NVFP4_LIB_REFERENCE_SCALARRULES_H

#include "Evaluator.h"

#include "llvm/ADT/StringMap.h"

namespace nvfp4::reference {

using Args = llvm::ArrayRef<Scalar>;
/// Sets `error`, and returns anything, where the operation has no result.
using Rule = Scalar (*)(mlir::Operation *, Args, std::string &error);
using RuleTable = llvm::StringMap<Rule>;

/// Arithmetic, comparison and tests of floating point numbers.
void addFloatRules(RuleTable &table);
/// Functions of `math`.
void addFunctionRules(RuleTable &table);
/// Arithmetic and comparison of integers.
void addIntegerRules(RuleTable &table);
/// From one type to another, and `arith.select`.
void addConversionRules(RuleTable &table);

/// The type of an element of the result; f64 if the interpreter has none.
inline Element resultElement(mlir::Operation *op) {
  mlir::Type type = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  return elementOf(type).value_or(Element::F64);
}

inline Scalar real(Element e, Real r) { return Scalar::ofReal(e, r); }

/// Wraps to the width of `e`.
inline Scalar whole(Element e, int64_t value) {
  if (e == Element::I1)
    return Scalar::ofInteger(e, value & 1);
  int unused = 64 - bitWidth(e);
  return Scalar::ofInteger(
      e,
      static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused);
}

/// The operand as an unsigned number of its width.
inline uint64_t bits(const Scalar &s) {
  uint64_t value = static_cast<uint64_t>(s.integer);
  int width = bitWidth(s.element);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_SCALARRULES_H
