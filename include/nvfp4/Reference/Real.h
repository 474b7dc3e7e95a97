//===- Real.h - A number and how far off it may be --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of the interpreter. A Real is a value in f64 and a bound on
// what a correct implementation may differ by. The rule of every operation:
//  - operands with bound 0 are known to the bit, so an IEEE operation gives the
//    correctly rounded result, again with bound 0;
//  - otherwise the value is kept in f64 and the bound grows by the propagated
//    errors and half a unit in the last place of the result type;
//  - functions that IEEE does not define to the bit (exp, tanh) add a stated
//    number of units in the last place;
//  - NaN has bound 0: it must be NaN. NaN with an infinite bound is memory that
//    never written; any operation on it gives NaN with bound 0, so that a
//    program that depends on it shows. A number with an infinite bound was
//    left out by sampling.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_REAL_H
#define NVFP4_REFERENCE_REAL_H

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace mlir {
class Type;
} // namespace mlir

namespace nvfp4::reference {

/// Element types of tensors and scalars.
enum class Element : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  F4E2M1FN,
  F8E8M0FNU,
  I1,
  I4,
  I8,
  I16,
  I32,
  I64,
  Index,
};

/// `f32`, `i64`, `index`, ... as MLIR spells them.
const char *stringify(Element element);
/// The element type of an MLIR scalar type, or nothing.
std::optional<Element> elementOf(mlir::Type type);
/// True for the floating point types, those of a byte or less included.
constexpr bool isFloat(Element e) { return e <= Element::F8E8M0FNU; }
/// True for the types whose tensors are kept as raw bytes (floats of 4 and 8
/// bits, i8, i1).
constexpr bool isByte(Element e) {
  return (e >= Element::F8E4M3FN && e <= Element::F8E8M0FNU) ||
         e == Element::I1 || e == Element::I8;
}
/// Width in bits; 64 for `index`.
int bitWidth(Element element);
/// The number that a float of a byte or less has as `code`, in the low bits.
double decodeCode(Element element, uint8_t code);
/// The code of a number, by the rule of the type (saturating).
uint8_t encodeCode(Element element, double value);

/// A value and the largest difference that a correct implementation may show.
struct Real {
  double value = 0.0;
  double bound = 0.0;
};

/// Memory that was never written.
inline constexpr Real kUnwritten = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity()};
/// A result that sampling left out.
inline constexpr Real kLeftOut = {0.0, std::numeric_limits<double>::infinity()};

/// `x` rounded once, ties to even, to F64, F32, F16 or BF16 (overflow gives
/// infinity), or to an 8-bit type by its own rule (saturating).
double roundTo(Element element, double x);
/// The distance between neighbours of `element` (F64, F32, F16, BF16) around
/// magnitude `x`.
double spacing(Element element, double x);

/// The last step of an operation whose exact result is `r.value` and whose
/// operands account for `r.bound`.
Real finish(Element element, Real r);
/// The same for a function that is off by up to `ulps` units in the last place.
Real finishInexact(Element element, Real r, double ulps);

/// The operations of IEEE 754 in `e`.
Real add(Element e, Real a, Real b);
Real subtract(Element e, Real a, Real b);
Real multiply(Element e, Real a, Real b);
Real divide(Element e, Real a, Real b);
/// a * b + c with one rounding.
Real fusedMultiplyAdd(Element e, Real a, Real b, Real c);
/// Exact in every type.
Real negate(Real a);
Real absolute(Real a);
/// The larger and the smaller one; NaN of either operand wins.
Real maximum(Real a, Real b);
Real minimum(Real a, Real b);
/// `a` converted to `e`.
inline Real convert(Element e, Real a) { return finish(e, a); }

/// True when a and b may compare differently in a correct implementation.
bool isAmbiguous(Real a, Real b);

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_REAL_H
