//===- Real.cpp - A number and how far off it may be ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding and error propagation of the interpreter's numbers.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/Real.h"

#include "nvfp4/Format/E2M1.h"
#include "nvfp4/Format/Float8.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>

namespace nvfp4::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Significand bits (with the hidden one), least normal exponent, largest
/// exponent. Of types whose numbers are codes or integers, those of the f64 in
/// which their values are held.
struct FloatShape {
  int precision;
  int minExponent;
  int maxExponent;
};

FloatShape shapeOf(Element element) {
  switch (element) {
  case Element::F32:
    return {24, -126, 127};
  case Element::F16:
    return {11, -14, 15};
  case Element::BF16:
    return {8, -126, 127};
  case Element::F64:
  case Element::F8E4M3FN:
  case Element::F8E5M2:
  case Element::F4E2M1FN:
  case Element::F8E8M0FNU:
  case Element::I1:
  case Element::I4:
  case Element::I8:
  case Element::I16:
  case Element::I32:
  case Element::I64:
  case Element::Index:
    return {53, -1022, 1023};
  }
  llvm_unreachable("covered switch");
}

/// Restores the invariants on NaN.
Real normalise(Real r) {
  if (std::isnan(r.value))
    return {r.value, 0.0};
  if (std::isnan(r.bound))
    return {r.value, kInfinity};
  return r;
}

} // namespace

const char *stringify(Element element) {
  static constexpr const char *names[] = {
      "f64",    "f32",      "f16",       "bf16", "f8E4M3FN",
      "f8E5M2", "f4E2M1FN", "f8E8M0FNU", "i1",   "i4",
      "i8",     "i16",      "i32",       "i64",  "index"};
  return names[static_cast<int>(element)];
}

std::optional<Element> elementOf(mlir::Type type) {
  using namespace mlir;
  return llvm::TypeSwitch<Type, std::optional<Element>>(type)
      .Case<Float64Type>([](auto) { return Element::F64; })
      .Case<Float32Type>([](auto) { return Element::F32; })
      .Case<Float16Type>([](auto) { return Element::F16; })
      .Case<BFloat16Type>([](auto) { return Element::BF16; })
      .Case<Float8E4M3FNType>([](auto) { return Element::F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return Element::F8E5M2; })
      .Case<Float4E2M1FNType>([](auto) { return Element::F4E2M1FN; })
      .Case<Float8E8M0FNUType>([](auto) { return Element::F8E8M0FNU; })
      .Case<IndexType>([](auto) { return Element::Index; })
      .Case<IntegerType>([](IntegerType t) -> std::optional<Element> {
        switch (t.getWidth()) {
        case 1:
          return Element::I1;
        case 4:
          return Element::I4;
        case 8:
          return Element::I8;
        case 16:
          return Element::I16;
        case 32:
          return Element::I32;
        case 64:
          return Element::I64;
        default:
          return std::nullopt;
        }
      })
      .Default(std::nullopt);
}

int bitWidth(Element element) {
  static constexpr int widths[] = {64, 32, 16, 16, 8,  8,  4, 8,
                                   1,  4,  8,  16, 32, 64, 64};
  return widths[static_cast<int>(element)];
}

double decodeCode(Element element, uint8_t code) {
  switch (element) {
  case Element::F8E4M3FN:
    return format::decodeE4M3(code);
  case Element::F8E5M2:
    return format::decodeE5M2(code);
  case Element::F4E2M1FN:
    return format::decodeE2M1(code & 15);
  case Element::F8E8M0FNU:
    return format::decodeE8M0(code);
  case Element::F64:
  case Element::F32:
  case Element::F16:
  case Element::BF16:
  case Element::I1:
  case Element::I4:
  case Element::I8:
  case Element::I16:
  case Element::I32:
  case Element::I64:
  case Element::Index:
    break;
  }
  llvm_unreachable("expected a float of a byte or less");
}

uint8_t encodeCode(Element element, double value) {
  auto x = static_cast<float>(value);
  switch (element) {
  case Element::F8E4M3FN:
    return format::encodeE4M3(x);
  case Element::F8E5M2:
    return format::encodeE5M2(x);
  case Element::F4E2M1FN:
    return format::encodeE2M1(x);
  case Element::F8E8M0FNU:
    return format::encodeE8M0(x, format::RoundE8M0::Down);
  case Element::F64:
  case Element::F32:
  case Element::F16:
  case Element::BF16:
  case Element::I1:
  case Element::I4:
  case Element::I8:
  case Element::I16:
  case Element::I32:
  case Element::I64:
  case Element::Index:
    break;
  }
  llvm_unreachable("expected a float of a byte or less");
}

double spacing(Element element, double x) {
  FloatShape shape = shapeOf(element);
  double magnitude = std::fabs(x);
  int exponent = shape.minExponent;
  if (magnitude > 0 && std::isfinite(magnitude))
    exponent = std::max(std::ilogb(magnitude), shape.minExponent);
  return std::ldexp(1.0, std::min(exponent, shape.maxExponent) -
                             shape.precision + 1);
}

double roundTo(Element element, double x) {
  switch (element) {
  case Element::F64:
    return x;
  case Element::F32:
    return static_cast<float>(x);
  case Element::F8E4M3FN:
  case Element::F8E5M2:
  case Element::F4E2M1FN:
  case Element::F8E8M0FNU:
    return decodeCode(element, encodeCode(element, x));
  case Element::F16:
  case Element::BF16:
  case Element::I1:
  case Element::I4:
  case Element::I8:
  case Element::I16:
  case Element::I32:
  case Element::I64:
  case Element::Index:
    break;
  }
  if (!std::isfinite(x) || x == 0)
    return x;
  FloatShape shape = shapeOf(element);
  double unit = spacing(element, x);
  // The quotient has few enough bits for nearbyint to be the only rounding.
  double rounded = std::nearbyint(x / unit) * unit;
  double limit = std::ldexp(1.0, shape.maxExponent + 1);
  return std::fabs(rounded) >= limit ? std::copysign(kInfinity, x) : rounded;
}

Real finish(Element element, Real r) {
  r = normalise(r);
  if (r.bound == 0)
    return {roundTo(element, r.value), 0.0};
  // Numbers past the largest one become infinite, of which half a step says
  // nothing.
  double low = roundTo(element, r.value - r.bound);
  double high = roundTo(element, r.value + r.bound);
  if (std::isinf(low) && low == high)
    return {low, 0.0};
  if (std::isinf(low) || std::isinf(high))
    return normalise({r.value, kInfinity});
  return normalise(
      {r.value,
       r.bound + 0.5 * spacing(element, std::fabs(r.value) + r.bound)});
}

Real finishInexact(Element element, Real r, double ulps) {
  r = normalise(r);
  if (std::isnan(r.value) || std::isinf(r.value))
    return r;
  double largest = std::fabs(r.value) + r.bound;
  return normalise({r.value, r.bound + ulps * spacing(element, largest)});
}

Real add(Element e, Real a, Real b) {
  return finish(e, {a.value + b.value, a.bound + b.bound});
}

Real subtract(Element e, Real a, Real b) {
  return finish(e, {a.value - b.value, a.bound + b.bound});
}

static double productBound(Real a, Real b) {
  if (a.bound == 0 && b.bound == 0)
    return 0.0;
  return std::fabs(a.value) * b.bound + std::fabs(b.value) * a.bound +
         a.bound * b.bound;
}

Real multiply(Element e, Real a, Real b) {
  return finish(e, {a.value * b.value, productBound(a, b)});
}

Real divide(Element e, Real a, Real b) {
  double quotient = a.value / b.value;
  double bound = 0.0;
  if (a.bound != 0 || b.bound != 0) {
    double room = std::fabs(b.value) - b.bound;
    bound =
        room > 0 ? (a.bound + std::fabs(quotient) * b.bound) / room : kInfinity;
  }
  return finish(e, {quotient, bound});
}

Real fusedMultiplyAdd(Element e, Real a, Real b, Real c) {
  double bound = productBound(a, b) + c.bound;
  if (bound == 0 && e == Element::F32)
    // In f64 the product is exact but the sum may round twice; std::fma on f32
    // rounds once.
    return {std::fma(static_cast<float>(a.value), static_cast<float>(b.value),
                     static_cast<float>(c.value)),
            0.0};
  return finish(e, {std::fma(a.value, b.value, c.value), bound});
}

Real negate(Real a) { return normalise({-a.value, a.bound}); }

Real absolute(Real a) { return normalise({std::fabs(a.value), a.bound}); }

/// The bound of min and max: when one operand wins for certain, its own.
static double selectBound(Real winner, Real loser) {
  if (std::fabs(winner.value - loser.value) > winner.bound + loser.bound)
    return winner.bound;
  return std::max(winner.bound, loser.bound);
}

Real maximum(Real a, Real b) {
  if (std::isnan(a.value) || std::isnan(b.value))
    return {std::numeric_limits<double>::quiet_NaN(), 0.0};
  if (a.value == b.value && std::signbit(a.value) != std::signbit(b.value))
    return {0.0, std::max(a.bound, b.bound)};
  return a.value >= b.value ? Real{a.value, selectBound(a, b)}
                            : Real{b.value, selectBound(b, a)};
}

Real minimum(Real a, Real b) { return negate(maximum(negate(a), negate(b))); }

bool isAmbiguous(Real a, Real b) {
  double slack = a.bound + b.bound;
  return slack > 0 && !(std::fabs(a.value - b.value) > slack);
}

} // namespace nvfp4::reference
