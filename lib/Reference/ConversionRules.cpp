//===- ConversionRules.cpp - Rules from type to type ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts round once. A number that does not fit its integer type is an error,
// and a choice by an ambiguous condition widens the bound to the other branch.
//
//===----------------------------------------------------------------------===//

#include "ScalarRules.h"

#include <bit>
#include <cmath>
#include <limits>

namespace nvfp4::reference {
namespace {

using mlir::Operation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Scalar select(Operation *, Args a, std::string &) {
  const Scalar &chosen = a[0].integer != 0 ? a[1] : a[2];
  const Scalar &other = a[0].integer != 0 ? a[2] : a[1];
  if (!a[0].ambiguous)
    return chosen;
  Scalar s = chosen;
  if (!isFloat(s.element)) {
    s.ambiguous = true;
    return s;
  }
  double gap = std::fabs(chosen.real.value - other.real.value);
  s.real.bound = std::isnan(gap)
                     ? kInfinity
                     : std::max(chosen.real.bound, gap + other.real.bound);
  return s;
}

Scalar convertFloat(Operation *op, Args a, std::string &) {
  Element e = resultElement(op);
  return real(e, convert(e, a[0].real));
}
Scalar signedToFloat(Operation *op, Args a, std::string &) {
  Element e = resultElement(op);
  return real(e, finish(e, {static_cast<double>(a[0].integer), 0.0}));
}
Scalar unsignedToFloat(Operation *op, Args a, std::string &) {
  Element e = resultElement(op);
  return real(e, finish(e, {static_cast<double>(bits(a[0])), 0.0}));
}
Scalar floatToInteger(Operation *op, Args a, std::string &error) {
  double x = std::trunc(a[0].real.value);
  if (!(std::fabs(x) < 0x1p63)) {
    error = "expected a number that fits the integer type";
    return Scalar::ofInteger(Element::I64, 0);
  }
  Scalar s = whole(resultElement(op), static_cast<int64_t>(x));
  s.ambiguous = a[0].real.bound != 0;
  return s;
}
Scalar convertSigned(Operation *op, Args a, std::string &) {
  int64_t value = a[0].integer;
  if (a[0].element == Element::I1)
    value = -value;
  return whole(resultElement(op), value);
}
Scalar convertUnsigned(Operation *op, Args a, std::string &) {
  return whole(resultElement(op), static_cast<int64_t>(bits(a[0])));
}
bool isSmallFloat(Element e) { return isFloat(e) && isByte(e); }

/// Between the formats of 32 bits, and floats of 8 and 4 bits and integers;
/// uncertain numbers have no bits.
Scalar bitcast(Operation *op, Args a, std::string &error) {
  Element to = resultElement(op);
  if (to == a[0].element)
    return a[0];
  if (a[0].element == Element::F32 && to == Element::I32 &&
      a[0].real.bound == 0)
    return whole(to,
                 std::bit_cast<int32_t>(static_cast<float>(a[0].real.value)));
  if (a[0].element == Element::I32 && to == Element::F32)
    return real(
        to, {std::bit_cast<float>(static_cast<int32_t>(a[0].integer)), 0.0});
  Element from = a[0].element;
  if (isSmallFloat(to) && bitWidth(from) == bitWidth(to) && !isFloat(from))
    return real(to, {decodeCode(to, static_cast<uint8_t>(bits(a[0]))), 0.0});
  if (isSmallFloat(from) && bitWidth(from) == bitWidth(to) && !isFloat(to) &&
      a[0].real.bound == 0)
    return whole(to, encodeCode(from, a[0].real.value));
  error = "expected a bitcast between f32, known to the bit, and i32, or of 8 "
          "or 4 bits";
  return a[0];
}

} // namespace

void addConversionRules(RuleTable &table) {
  static constexpr std::pair<const char *, Rule> kRules[] = {
      {"arith.select", select},
      {"arith.extf", convertFloat},
      {"arith.truncf", convertFloat},
      {"arith.sitofp", signedToFloat},
      {"arith.uitofp", unsignedToFloat},
      {"arith.fptosi", floatToInteger},
      {"arith.fptoui", floatToInteger},
      {"arith.extsi", convertSigned},
      {"arith.extui", convertUnsigned},
      {"arith.trunci", convertSigned},
      {"arith.index_cast", convertSigned},
      {"arith.index_castui", convertUnsigned},
      {"arith.bitcast", bitcast},
  };
  for (auto [name, rule] : kRules)
    table[name] = rule;
}

} // namespace nvfp4::reference
