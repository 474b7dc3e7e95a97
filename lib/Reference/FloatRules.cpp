//===- FloatRules.cpp - Rules for floating point ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation rounds once to the type of its result and carries the bound on
// its error along. A comparison that the bound could turn is ambiguous.
//
//===----------------------------------------------------------------------===//

#include "ScalarRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

namespace nvfp4::reference {
namespace {

using mlir::Operation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <Real (*fn)(Element, Real, Real)>
Scalar binary(Operation *, Args a, std::string &) {
  return real(a[0].element, fn(a[0].element, a[0].real, a[1].real));
}
template <Real (*fn)(Real, Real)>
Scalar choice(Operation *, Args a, std::string &) {
  return real(a[0].element, fn(a[0].real, a[1].real));
}
/// The other operand wins over NaN.
template <Real (*fn)(Real, Real)>
Scalar choiceOfNumbers(Operation *, Args a, std::string &) {
  if (std::isnan(a[0].real.value))
    return a[1];
  return std::isnan(a[1].real.value)
             ? a[0]
             : real(a[0].element, fn(a[0].real, a[1].real));
}

Scalar compareFloats(Operation *op, Args a, std::string &) {
  using P = mlir::arith::CmpFPredicate;
  double x = a[0].real.value, y = a[1].real.value;
  bool unordered = std::isnan(x) || std::isnan(y);
  P predicate = mlir::cast<mlir::arith::CmpFOp>(op).getPredicate();
  auto code = static_cast<uint64_t>(predicate);
  bool result = false;
  // The codes are a truth table: bit 0 equal, 1 greater, 2 less, 3 unordered.
  if (predicate == P::AlwaysTrue)
    result = true;
  else if (unordered)
    result = (code & 8) != 0;
  else
    result = (x == y && (code & 1)) || (x > y && (code & 2)) ||
             (x < y && (code & 4));
  Scalar s = Scalar::ofInteger(Element::I1, result);
  s.ambiguous = isAmbiguous(a[0].real, a[1].real);
  return s;
}

Scalar negateFloat(Operation *, Args a, std::string &) {
  return real(a[0].element, negate(a[0].real));
}
Scalar absoluteFloat(Operation *, Args a, std::string &) {
  return real(a[0].element, absolute(a[0].real));
}
Scalar fusedFloat(Operation *, Args a, std::string &) {
  return real(a[0].element,
              fusedMultiplyAdd(a[0].element, a[0].real, a[1].real, a[2].real));
}

Scalar remainderFloat(Operation *, Args a, std::string &) {
  Real x = a[0].real, y = a[1].real;
  bool exact = x.bound == 0 && y.bound == 0;
  return real(a[0].element,
              {std::fmod(x.value, y.value), exact ? 0.0 : kInfinity});
}

Scalar copySign(Operation *, Args a, std::string &) {
  Real x = a[0].real;
  return real(a[0].element,
              {std::copysign(x.value, a[1].real.value),
               isAmbiguous(a[1].real, {}) ? 2 * (std::fabs(x.value) + x.bound)
                                          : x.bound});
}

template <bool (*fn)(double)> Scalar test(Operation *, Args a, std::string &) {
  return Scalar::ofInteger(Element::I1, fn(a[0].real.value));
}
bool isNotANumber(double x) { return std::isnan(x); }
bool isInfinite(double x) { return std::isinf(x); }
bool isFinite(double x) { return std::isfinite(x); }

} // namespace

void addFloatRules(RuleTable &table) {
  static constexpr std::pair<const char *, Rule> kRules[] = {
      {"arith.addf", binary<add>},
      {"arith.subf", binary<subtract>},
      {"arith.mulf", binary<multiply>},
      {"arith.divf", binary<divide>},
      {"arith.negf", negateFloat},
      {"arith.maximumf", choice<maximum>},
      {"arith.minimumf", choice<minimum>},
      {"arith.maxnumf", choiceOfNumbers<maximum>},
      {"arith.minnumf", choiceOfNumbers<minimum>},
      {"arith.cmpf", compareFloats},
      {"arith.remf", remainderFloat},
      {"math.copysign", copySign},
      {"math.isnan", test<isNotANumber>},
      {"math.isinf", test<isInfinite>},
      {"math.isfinite", test<isFinite>},
      {"math.absf", absoluteFloat},
      {"math.fma", fusedFloat},
  };
  for (auto [name, rule] : kRules)
    table[name] = rule;
}

} // namespace nvfp4::reference
