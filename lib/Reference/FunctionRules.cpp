//===- FunctionRules.cpp - Rules for functions of math ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of libm in f64, taken to be at most 4 units in the last place of
// the result off, and what the error of their operand makes of that.
//
//===----------------------------------------------------------------------===//

#include "ScalarRules.h"

#include <cmath>

namespace nvfp4::reference {
namespace {

using mlir::Operation;

constexpr double kUlps = 4.0;

using Function = double (*)(double);
double rsqrt(double x) { return 1.0 / std::sqrt(x); }

/// A function with its largest slope on the interval of the operand, estimated
/// at both ends and the middle and doubled against what lies between.
template <Function fn> Scalar function(Operation *, Args a, std::string &) {
  Real x = a[0].real;
  double y = fn(x.value);
  double bound = 0.0;
  if (x.bound != 0)
    bound = 2.0 * std::max(std::fabs(fn(x.value + x.bound) - y),
                           std::fabs(fn(x.value - x.bound) - y));
  return real(a[0].element,
              finishInexact(a[0].element, {y, bound}, kUlps + 0.5));
}

/// Functions with integer results: exact unless the interval has a step.
template <Function fn> Scalar step(Operation *, Args a, std::string &) {
  Real x = a[0].real;
  double y = fn(x.value);
  double bound = x.bound == 0 ? 0.0
                              : std::max(std::fabs(fn(x.value + x.bound) - y),
                                         std::fabs(fn(x.value - x.bound) - y));
  return real(a[0].element, {y, bound});
}

Scalar squareRoot(Operation *op, Args a, std::string &error) {
  if (a[0].real.bound != 0)
    return function<std::sqrt>(op, a, error);
  return real(a[0].element,
              finish(a[0].element, {std::sqrt(a[0].real.value), 0.0}));
}

/// Powers, by their logarithm's error.
Scalar power(Operation *, Args a, std::string &) {
  Real x = a[0].real, y = a[1].real;
  double p = std::pow(x.value, y.value);
  double bound = 0.0;
  for (double dx : {-x.bound, x.bound})
    for (double dy : {-y.bound, y.bound})
      bound = std::max(
          bound, 2.0 * std::fabs(std::pow(x.value + dx, y.value + dy) - p));
  return real(a[0].element, finishInexact(a[0].element, {p, bound}, 16.0));
}

} // namespace

void addFunctionRules(RuleTable &table) {
  static constexpr std::pair<const char *, Rule> kRules[] = {
      {"math.powf", power},
      {"math.trunc", step<std::trunc>},
      {"math.round", step<std::round>},
      {"math.log10", function<std::log10>},
      {"math.cbrt", function<std::cbrt>},
      {"math.tan", function<std::tan>},
      {"math.atan", function<std::atan>},
      {"math.asin", function<std::asin>},
      {"math.acos", function<std::acos>},
      {"math.sinh", function<std::sinh>},
      {"math.cosh", function<std::cosh>},
      {"math.erfc", function<std::erfc>},
      {"math.exp", function<std::exp>},
      {"math.exp2", function<std::exp2>},
      {"math.expm1", function<std::expm1>},
      {"math.log", function<std::log>},
      {"math.log2", function<std::log2>},
      {"math.log1p", function<std::log1p>},
      {"math.tanh", function<std::tanh>},
      {"math.erf", function<std::erf>},
      {"math.sin", function<std::sin>},
      {"math.cos", function<std::cos>},
      {"math.sqrt", squareRoot},
      {"math.rsqrt", function<rsqrt>},
      {"math.floor", step<std::floor>},
      {"math.ceil", step<std::ceil>},
      {"math.roundeven", step<std::nearbyint>},
  };
  for (auto [name, rule] : kRules)
    table[name] = rule;
}

} // namespace nvfp4::reference
