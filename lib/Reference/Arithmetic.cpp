//===- Arithmetic.cpp - Scalar operations of arith and math -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of functions by operation name. Floating point operations round
// once to the type of their result; functions of math may be 4 units in the
// last place off. Integers wrap.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"

#include <bit>
#include <cmath>

namespace nvfp4::reference {
namespace {

using Args = llvm::ArrayRef<Scalar>;
using Rule = Scalar (*)(mlir::Operation *, Args, std::string &error);
using mlir::Operation;

constexpr double kUlps = 4.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Element resultElement(Operation *op) {
  mlir::Type type = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  return elementOf(type).value_or(Element::F64);
}

Scalar real(Element e, Real r) { return Scalar::ofReal(e, r); }

/// Wraps to the width of `e`.
Scalar whole(Element e, int64_t value) {
  if (e == Element::I1)
    return Scalar::ofInteger(e, value & 1);
  int unused = 64 - bitWidth(e);
  return Scalar::ofInteger(
      e,
      static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused);
}

/// The operand as an unsigned number of its width.
uint64_t bits(const Scalar &s) {
  uint64_t value = static_cast<uint64_t>(s.integer);
  int width = bitWidth(s.element);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

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

template <int64_t (*fn)(int64_t, int64_t)>
Scalar integerBinary(Operation *, Args a, std::string &) {
  return whole(a[0].element, fn(a[0].integer, a[1].integer));
}
template <uint64_t (*fn)(uint64_t, uint64_t)>
Scalar unsignedBinary(Operation *, Args a, std::string &) {
  return whole(a[0].element, static_cast<int64_t>(fn(bits(a[0]), bits(a[1]))));
}

int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(b));
}
int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}
/// Division: zero is an error; the one overflow wraps.
template <int64_t (*fn)(int64_t, int64_t)>
Scalar signedDivision(Operation *, Args a, std::string &error) {
  int64_t x = a[0].integer, y = a[1].integer;
  if (y == 0) {
    error = "expected a divisor that is not zero";
    return a[0];
  }
  // By -1 a quotient is the negative and a remainder is zero.
  if (y == -1)
    return whole(a[0].element, fn(1, -1) == 0 ? 0 : wrapSub(0, x));
  return whole(a[0].element, fn(x, y));
}
template <uint64_t (*fn)(uint64_t, uint64_t)>
Scalar unsignedDivision(Operation *, Args a, std::string &error) {
  if (bits(a[1]) == 0) {
    error = "expected a divisor that is not zero";
    return a[0];
  }
  return whole(a[0].element, static_cast<int64_t>(fn(bits(a[0]), bits(a[1]))));
}

int64_t quotient(int64_t a, int64_t b) { return a / b; }
int64_t remainder(int64_t a, int64_t b) { return a % b; }
int64_t floorQuotient(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t ceilQuotient(int64_t a, int64_t b) {
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}
uint64_t udiv(uint64_t a, uint64_t b) { return a / b; }
uint64_t urem(uint64_t a, uint64_t b) { return a % b; }
uint64_t uceil(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
int64_t smin(int64_t a, int64_t b) { return std::min(a, b); }
int64_t smax(int64_t a, int64_t b) { return std::max(a, b); }
uint64_t umin(uint64_t a, uint64_t b) { return std::min(a, b); }
uint64_t umax(uint64_t a, uint64_t b) { return std::max(a, b); }
int64_t bitAnd(int64_t a, int64_t b) { return a & b; }
int64_t bitOr(int64_t a, int64_t b) { return a | b; }
int64_t bitXor(int64_t a, int64_t b) { return a ^ b; }
uint64_t shl(uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; }
uint64_t shrU(uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; }
int64_t shrS(int64_t a, int64_t b) { return a >> (b >= 0 && b < 64 ? b : 63); }

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

Scalar compareIntegers(Operation *op, Args a, std::string &) {
  using P = mlir::arith::CmpIPredicate;
  int64_t x = a[0].integer, y = a[1].integer;
  uint64_t u = bits(a[0]), v = bits(a[1]);
  auto evaluate = [&]() -> bool {
    switch (mlir::cast<mlir::arith::CmpIOp>(op).getPredicate()) {
    case P::eq:
      return x == y;
    case P::ne:
      return x != y;
    case P::slt:
      return x < y;
    case P::sle:
      return x <= y;
    case P::sgt:
      return x > y;
    case P::sge:
      return x >= y;
    case P::ult:
      return u < v;
    case P::ule:
      return u <= v;
    case P::ugt:
      return u > v;
    case P::uge:
      return u >= v;
    }
    return false;
  };
  return Scalar::ofInteger(Element::I1, evaluate());
}

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

Scalar copySign(Operation *, Args a, std::string &) {
  Real x = a[0].real;
  return real(a[0].element,
              {std::copysign(x.value, a[1].real.value),
               isAmbiguous(a[1].real, {}) ? 2 * (std::fabs(x.value) + x.bound)
                                          : x.bound});
}

Scalar absoluteInteger(Operation *, Args a, std::string &) {
  return whole(a[0].element,
               a[0].integer < 0 ? wrapSub(0, a[0].integer) : a[0].integer);
}

template <bool (*fn)(double)> Scalar test(Operation *, Args a, std::string &) {
  return Scalar::ofInteger(Element::I1, fn(a[0].real.value));
}
bool isNotANumber(double x) { return std::isnan(x); }
bool isInfinite(double x) { return std::isinf(x); }
bool isFinite(double x) { return std::isfinite(x); }

/// Between the formats of 32 bits; uncertain numbers have no bits.
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
  error = "expected a bitcast between f32, known to the bit, and i32";
  return a[0];
}

const llvm::StringMap<Rule> &rules() {
  static const llvm::StringMap<Rule> table = {
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
      {"arith.cmpi", compareIntegers},
      {"arith.select", select},
      {"arith.extf", convertFloat},
      {"arith.truncf", convertFloat},
      {"arith.sitofp", signedToFloat},
      {"arith.uitofp", unsignedToFloat},
      {"arith.fptosi", floatToInteger},
      {"arith.fptoui", floatToInteger},
      {"arith.addi", integerBinary<wrapAdd>},
      {"arith.subi", integerBinary<wrapSub>},
      {"arith.muli", integerBinary<wrapMul>},
      {"arith.divsi", signedDivision<quotient>},
      {"arith.remsi", signedDivision<remainder>},
      {"arith.floordivsi", signedDivision<floorQuotient>},
      {"arith.ceildivsi", signedDivision<ceilQuotient>},
      {"arith.divui", unsignedDivision<udiv>},
      {"arith.remui", unsignedDivision<urem>},
      {"arith.ceildivui", unsignedDivision<uceil>},
      {"arith.minsi", integerBinary<smin>},
      {"arith.maxsi", integerBinary<smax>},
      {"arith.minui", unsignedBinary<umin>},
      {"arith.maxui", unsignedBinary<umax>},
      {"arith.andi", integerBinary<bitAnd>},
      {"arith.ori", integerBinary<bitOr>},
      {"arith.xori", integerBinary<bitXor>},
      {"arith.shli", unsignedBinary<shl>},
      {"arith.shrui", unsignedBinary<shrU>},
      {"arith.shrsi", integerBinary<shrS>},
      {"arith.extsi", convertSigned},
      {"arith.extui", convertUnsigned},
      {"arith.trunci", convertSigned},
      {"arith.index_cast", convertSigned},
      {"arith.index_castui", convertUnsigned},
      {"arith.remf", remainderFloat},
      {"arith.bitcast", bitcast},
      {"math.absi", absoluteInteger},
      {"math.powf", power},
      {"math.copysign", copySign},
      {"math.isnan", test<isNotANumber>},
      {"math.isinf", test<isInfinite>},
      {"math.isfinite", test<isFinite>},
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
      {"math.absf", absoluteFloat},
      {"math.fma", fusedFloat},
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
  return table;
}

} // namespace

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
