//===- Activation.cpp - Activations with error bounds -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are computed in f64; bounds follow the derivative and the f32 steps of
// the formulas.
//
//===----------------------------------------------------------------------===//

#include "Activation.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "nvfp4/Format/GateLayout.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>

namespace nvfp4::reference {
namespace {

constexpr Element F32 = Element::F32;

/// 1 / (1 + exp(-x)) without overflow.
double sigmoid(double x) {
  if (x >= 0)
    return 1.0 / (1.0 + std::exp(-x));
  double e = std::exp(x);
  return e / (1.0 + e);
}

/// min(x, limit) and clamp: past the limit for certain, the bound is zero.
Real clampAbove(Real x, Real limit) {
  if (std::isinf(limit.value))
    return x;
  return minimum(x, limit);
}

Real clampBoth(Real x, Real limit) {
  if (std::isinf(limit.value))
    return x;
  return maximum(negate(limit), minimum(x, limit));
}

/// x * sigmoid(a * x). The derivative is s + t s (1 - s) with t = a x and the
/// second one is at most |a| / 2. In f32 the argument, exp, the sum, the
/// quotient and the product round; what exp and its argument are off by reaches
/// the result times 1 - s. Fast mathematics may also form the sigmoid from
/// tanh, which is accurate to its unit at 1 only.
Real scaledSilu(const ActivationParams &p, Real a, Real x) {
  if (std::isnan(x.value) || std::isnan(a.value))
    return {std::numeric_limits<double>::quiet_NaN(), 0.0};
  if (std::isinf(x.value))
    return {x.value > 0 ? x.value : std::nan(""), 0.0};
  double t = a.value * x.value;
  double s = sigmoid(t);
  double y = x.value * s;
  double slope = std::fabs(s + t * s * (1.0 - s));
  double bound = slope * x.bound;
  if (x.bound != 0)
    bound += 0.25 * std::fabs(a.value) * x.bound * x.bound;
  if (a.bound != 0)
    bound += x.value * x.value * 0.25 * a.bound;
  double relative = ((1.0 - s) * (std::fabs(t) + 2.0 * p.ulps) + 4.0) * 0x1p-24;
  bound += std::fabs(y) * relative + 0x1p-126;
  if (p.ulps > 4.0)
    bound += std::fabs(x.value) * p.ulps * 0x1p-25;
  return finishInexact(F32, {y, bound}, 1.0);
}

Real tanhReal(const ActivationParams &p, Real x) {
  double t = std::tanh(x.value);
  double slope = 1.0 - t * t;
  // |tanh''| <= 0.77.
  double bound = slope * x.bound;
  if (x.bound != 0)
    bound += 0.39 * x.bound * x.bound;
  return finishInexact(F32, {t, bound}, p.ulps);
}

/// 0.5 g (1 + tanh(sqrt(2/pi) (g + 0.044715 g^3))).
Real geluTanh(const ActivationParams &p, Real g) {
  if (std::isnan(g.value))
    return {g.value, 0.0};
  // The three occurrences of g move together: its own bound enters once, by
  // the derivative, and the steps start from an exact g.
  double v = g.value;
  Real exact{v, 0.0};
  Real cube = multiply(F32, exact, multiply(F32, exact, exact));
  Real inner =
      add(F32, exact, multiply(F32, {roundTo(F32, 0.044715), 0}, cube));
  // Any grouping of these products is accepted.
  inner = finishInexact(F32, {v + 0.044715 * v * v * v, inner.bound}, 4.0);
  Real argument = finishInexact(
      F32, {0.7978845608028654 * inner.value, 0.7978845608028654 * inner.bound},
      2.0);
  Real t = tanhReal(p, argument);
  Real y =
      multiply(F32, multiply(F32, {0.5, 0.0}, exact), add(F32, {1.0, 0.0}, t));
  if (g.bound == 0 || std::isinf(v))
    return y;
  double slope = 0.5 * (1.0 + t.value) + 0.5 * v * (1.0 - t.value * t.value) *
                                             0.7978845608028654 *
                                             (1.0 + 3 * 0.044715 * v * v);
  // The second derivative of gelu is at most 1 in magnitude.
  return {y.value,
          y.bound + std::fabs(slope) * g.bound + 0.5 * g.bound * g.bound};
}

Real swiGLU(const ActivationParams &p, Real gate, Real up) {
  Real g = clampAbove(gate, p.limit);
  Real u = clampBoth(up, p.limit);
  Real y = multiply(F32, scaledSilu(p, p.alpha, g), add(F32, u, p.beta));
  // The three factors may be multiplied in any order.
  return finishInexact(F32, y, 1.0);
}

/// A slope that f64 computes with some error and that is rounded to f32 once.
Real finishSlope(double value, double bound) {
  return finishInexact(F32, {value, bound + 0x1p-38}, 1.0);
}

/// The derivative of x sigmoid(a x), whose own derivative is at most |a| / 2.
Real scaledSiluSlope(Real a, Real x) {
  double t = roundTo(F32, a.value * x.value);
  if (std::isnan(t))
    return {t, 0.0};
  // Past these the exponential leaves nothing of the other term.
  if (std::fabs(t) > 700.0)
    return {t > 0 ? 1.0 : 0.0, 0.0};
  double s = sigmoid(t);
  double sensitivity = s * (1.0 - s) * (2.0 + t * (1.0 - 2.0 * s));
  return finishSlope(s * (1.0 + t * (1.0 - s)),
                     0.5 * std::fabs(a.value) * x.bound +
                         std::fabs(t * sensitivity) * 0x1p-24);
}

/// The derivative of geluTanh, whose own derivative is at most 1.
Real geluTanhSlope(Real x) {
  double v = x.value;
  if (std::isnan(v))
    return {v, 0.0};
  if (std::fabs(v) > 100.0)
    return {v > 0 ? 1.0 : 0.0, 0.0};
  constexpr double c = 0.7978845608028654;
  double t = std::tanh(c * (v + 0.044715 * v * v * v));
  double inner = c * (1.0 + 3 * 0.044715 * v * v);
  return finishSlope(0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * inner,
                     x.bound);
}

/// `gradient` if `holds`, else 0; either one if that is not certain.
Real keepIf(bool holds, bool isUncertain, Real gradient) {
  Real kept = holds ? gradient : Real{0.0, 0.0};
  if (isUncertain)
    kept.bound = std::fabs(gradient.value) + gradient.bound;
  return kept;
}

Real keepPositive(Real z, Real gradient) {
  if (std::isnan(z.value))
    return z;
  return keepIf(z.value > 0, isAmbiguous(z, {0.0, 0.0}), gradient);
}

Real keepUpTo(Real limit, Real z, Real gradient) {
  if (std::isnan(z.value))
    return gradient;
  return keepIf(z.value <= limit.value, isAmbiguous(z, limit), gradient);
}

ActivationGradient swiGLUGradient(const ActivationParams &p, Real gate, Real up,
                                  Real t) {
  Real g = clampAbove(gate, p.limit), u = clampBoth(up, p.limit);
  Real factor = multiply(F32, t, add(F32, u, p.beta));
  Real ofGate = multiply(F32, factor, scaledSiluSlope(p.alpha, g));
  Real ofUp = multiply(F32, t, scaledSilu(p, p.alpha, g));
  return {keepUpTo(p.limit, gate, ofGate),
          keepUpTo(p.limit, absolute(up), ofUp)};
}

} // namespace

ActivationGradient activationGradient(const ActivationParams &p, Real z,
                                      Real up, Real t) {
  switch (p.kind) {
  case gsg::ActivationKind::Identity:
    return {t, {}};
  case gsg::ActivationKind::ReLU:
    return {keepPositive(z, t), {}};
  case gsg::ActivationKind::ReLU2:
    return {keepPositive(z, multiply(F32, t, multiply(F32, {2.0, 0.0}, z))),
            {}};
  case gsg::ActivationKind::SiLU:
    return {multiply(F32, t, scaledSiluSlope({1.0, 0.0}, z)), {}};
  case gsg::ActivationKind::SwiGLU:
    return swiGLUGradient(p, z, up, t);
  case gsg::ActivationKind::GeGLUTanh:
    return {multiply(F32, multiply(F32, t, up), geluTanhSlope(z)),
            multiply(F32, t, geluTanh(p, z))};
  case gsg::ActivationKind::GELUTanh:
    return {multiply(F32, t, geluTanhSlope(z)), {}};
  case gsg::ActivationKind::ReGLU:
    return {keepPositive(z, multiply(F32, t, up)),
            multiply(F32, t, maximum(z, {0.0, 0.0}))};
  case gsg::ActivationKind::Custom:
    break;
  }
  llvm_unreachable("expected an activation with a formula");
}

ActivationParams makeActivation(gsg::ActivationAttr attr, gsg::MathMode math) {
  ActivationParams p;
  p.kind = attr.getKind();
  p.ulps = math == gsg::MathMode::Strict ? 4.0 : 64.0;
  p.alpha.value = attr.getAlphaValue();
  p.beta.value = attr.getBetaValue();
  p.limit.value = attr.getLimitValue();
  p.roundBf16 = attr.getRoundBf16();
  return p;
}

Real activate(const ActivationParams &p, Real z, Real up) {
  switch (p.kind) {
  case gsg::ActivationKind::Identity:
    return z;
  case gsg::ActivationKind::ReLU:
    return maximum(z, {0.0, 0.0});
  case gsg::ActivationKind::ReLU2: {
    Real r = maximum(z, {0.0, 0.0});
    return multiply(F32, r, r);
  }
  case gsg::ActivationKind::SiLU:
    return scaledSilu(p, {1.0, 0.0}, z);
  case gsg::ActivationKind::SwiGLU:
    return swiGLU(p, z, up);
  case gsg::ActivationKind::GeGLUTanh:
    return multiply(F32, up, geluTanh(p, z));
  case gsg::ActivationKind::GELUTanh:
    return geluTanh(p, z);
  case gsg::ActivationKind::ReGLU:
    return multiply(F32, maximum(z, {0.0, 0.0}), up);
  case gsg::ActivationKind::Custom:
    break;
  }
  llvm_unreachable("expected an activation with a formula");
}

llvm::Expected<PairedColumns> pairColumns(gsg::GateAttr gate, int64_t columns) {
  format::GateLayout layout;
  layout.granularity = gate.getGranularity() != 0
                           ? gate.getGranularity()
                           : std::max<int64_t>(columns / 2, 1);
  layout.order = toFormat(gate.getOrder());
  // gate_c2
  if (!layout.divides(columns))
    return makeError("expected a number of columns that is a multiple of " +
                     llvm::Twine(2 * layout.granularity) + ", but got " +
                     llvm::Twine(columns));
  PairedColumns pairs;
  for (int64_t c = 0; c < columns / 2; ++c) {
    pairs.gate.push_back(layout.gateRow(c));
    pairs.up.push_back(layout.upRow(c));
  }
  return pairs;
}

} // namespace nvfp4::reference
