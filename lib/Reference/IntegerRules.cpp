//===- IntegerRules.cpp - Rules for integers --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers wrap to their width. Division by zero is an error.
// Signed operands are kept sign-extended, unsigned ones are read off their
// bits.
//
//===----------------------------------------------------------------------===//

#include "ScalarRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace nvfp4::reference {
namespace {

using mlir::Operation;

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

Scalar absoluteInteger(Operation *, Args a, std::string &) {
  return whole(a[0].element,
               a[0].integer < 0 ? wrapSub(0, a[0].integer) : a[0].integer);
}

} // namespace

void addIntegerRules(RuleTable &table) {
  static constexpr std::pair<const char *, Rule> kRules[] = {
      {"arith.cmpi", compareIntegers},
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
      {"math.absi", absoluteInteger},
  };
  for (auto [name, rule] : kRules)
    table[name] = rule;
}

} // namespace nvfp4::reference
