//===- Activation.cpp - activations of epilogues ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transcendental functions run in f64, where products and sums without fma are
// accurate enough that the only error that matters is the last rounding to f32.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using FloatPredicate = arith::CmpFPredicate;

/// e^x of an f64 in [-700, 700], relative error below 2^-40; NaN stays NaN.
static Value expF64(MathBuilder &mb, Value x) {
  // Adding 1.5 * 2^52 rounds to an integer n, which then stands in the low
  // bits.
  Value magic = mb.real(x, 0x1.8p52);
  Value shifted = mb.addF(mb.mulF(x, 0x1.71547652b82fep+0), magic);
  Value n = mb.subF(shifted, magic);
  // ln 2 in two parts; the product with the first, of 32 bits, is exact.
  Value r = mb.subF(x, mb.mulF(n, 0x1.62e42feep-1));
  r = mb.subF(r, mb.mulF(n, 0x1.a39ef35793c76p-33));
  constexpr int degree = 11;
  double factorial = 1.0;
  for (int i = 2; i <= degree; ++i)
    factorial *= i;
  Value sum = mb.real(x, 1.0 / factorial);
  for (int i = degree; i > 0; --i) {
    factorial /= i;
    sum = mb.addF(mb.mulF(sum, r), 1.0 / factorial);
  }
  Value field = mb.shl(mb.bitcastLike(shifted, mb.i64), 52);
  Value power = mb.add(field, int64_t(1023) << 52);
  return mb.mulF(sum, mb.bitcastLike(power, mb.f64));
}

/// 1 / (1 + e^-x) of an f64, by the side on which e^-|x| cannot overflow.
static Value sigmoidF64(MathBuilder &mb, Value x) {
  Value limit = mb.real(x, -700.0);
  Value e = expF64(mb, mb.maxF(mb.negF(mb.absF(x)), limit));
  Value one = mb.real(x, 1.0);
  Value negative = mb.cmpF(FloatPredicate::OLT, x, 0.0);
  return mb.divF(mb.select(negative, e, one), mb.addF(e, one));
}

Value arithmetic::emitExp(OpBuilder &builder, Location loc, Value x) {
  MathBuilder mb(builder, loc);
  Value wide = mb.widen(x);
  Value limited =
      mb.minF(mb.maxF(wide, mb.real(wide, -700.0)), mb.real(wide, 700.0));
  return mb.narrow(expF64(mb, limited));
}

Value arithmetic::emitSigmoid(OpBuilder &builder, Location loc, Value x) {
  MathBuilder mb(builder, loc);
  if (getElementTypeOrSelf(x.getType()).isF64())
    return sigmoidF64(mb, x);
  return mb.narrow(sigmoidF64(mb, mb.widen(x)));
}

ActivationParams arithmetic::emitActivationParams(OpBuilder &builder,
                                                  Location loc,
                                                  ActivationAttr activation) {
  MathBuilder mb(builder, loc);
  ActivationParams params;
  params.alpha = mb.constantF32(mb.f32, activation.getAlphaValue());
  params.beta = mb.constantF32(mb.f32, activation.getBetaValue());
  if (activation.getLimit())
    params.limit = mb.constantF32(mb.f32, activation.getLimitValue());
  return params;
}

/// Makes the sigmoid of an f32 or an f64.
using SigmoidFn = llvm::function_ref<Value(Value x)>;

static Value emitSwiGLU(MathBuilder &mb, const ActivationParams &params,
                        Value gate, Value up, SigmoidFn sigmoid) {
  if (params.limit) {
    Value limit = mb.spread(params.limit, gate);
    gate = mb.minF(gate, limit);
    up = mb.minF(up, limit);
    up = mb.maxF(up, mb.negF(limit));
  }
  Value scaled = mb.mulF(mb.spread(params.alpha, gate), gate);
  Value activated = mb.mulF(gate, sigmoid(scaled));
  return mb.mulF(activated, mb.addF(up, mb.spread(params.beta, up)));
}

/// z * s with s = (1 + tanh(c (z + 0.044715 z^3))) / 2, computed in f64.
static Value emitGELUTanh(MathBuilder &mb, Value z, SigmoidFn sigmoid) {
  Value g = mb.widen(z);
  Value cube = mb.mulF(mb.mulF(g, g), g);
  Value inner = mb.addF(g, mb.mulF(cube, 0.044715));
  // (1 + tanh(w)) / 2 = sigmoid(2w), without cancellation.
  Value s = sigmoid(mb.mulF(inner, 2.0 * 0.7978845608028654));
  return mb.mulF(z, mb.narrow(s));
}

/// z as the activation takes it.
static SmallVector<Value> roundArguments(OpBuilder &builder, Location loc,
                                         ActivationAttr activation,
                                         ValueRange z) {
  SmallVector<Value> in(z);
  if (activation.getRoundBf16())
    for (Value &value : in)
      value = emitRoundToBF16(builder, loc, value);
  return in;
}

Value arithmetic::emitActivation(OpBuilder &builder, Location loc,
                                 ActivationAttr activation,
                                 const ActivationParams &params, ValueRange z,
                                 SigmoidFn sigmoid) {
  MathBuilder mb(builder, loc);
  auto exact = [&](Value x) { return emitSigmoid(builder, loc, x); };
  if (!sigmoid)
    sigmoid = exact;
  SmallVector<Value> in = roundArguments(builder, loc, activation, z);
  Value first = in.front();
  switch (activation.getKind()) {
  case ActivationKind::Identity:
  case ActivationKind::Custom:
    return first;
  case ActivationKind::ReLU:
    return mb.maxF(first, mb.real(first, 0.0));
  case ActivationKind::ReLU2: {
    Value positive = mb.maxF(first, mb.real(first, 0.0));
    return mb.mulF(positive, positive);
  }
  case ActivationKind::SiLU:
    return mb.mulF(first, sigmoid(first));
  case ActivationKind::SwiGLU:
    return emitSwiGLU(mb, params, first, in.back(), sigmoid);
  case ActivationKind::GeGLUTanh:
    return mb.mulF(emitGELUTanh(mb, first, sigmoid), in.back());
  case ActivationKind::ReGLU:
    return mb.mulF(mb.maxF(first, mb.real(first, 0.0)), in.back());
  case ActivationKind::GELUTanh:
    return emitGELUTanh(mb, first, sigmoid);
  }
  llvm_unreachable("expected an activation");
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// x in [-limit, limit], past which a factor of it is zero: infinity times zero
/// would be NaN.
static Value bound(MathBuilder &mb, Value x, double limit) {
  return mb.minF(mb.maxF(x, mb.real(x, -limit)), mb.real(x, limit));
}

/// d/dz of z sigmoid(alpha z) from scaled = alpha z: s (1 + scaled (1 - s)).
static Value emitSiLUSlope(MathBuilder &mb, Value scaled) {
  Value a = mb.widen(scaled);
  Value s = sigmoidF64(mb, a);
  Value rest = mb.subF(mb.real(s, 1.0), s);
  Value factor = mb.addF(mb.mulF(bound(mb, a, 700.0), rest), 1.0);
  return mb.narrow(mb.mulF(s, factor));
}

/// d/dz of z s with s = sigmoid(2 w), w = c (z + 0.044715 z^3):
/// s + z s (1 - s) 2 c (1 + 3 * 0.044715 z^2).
static Value emitGELUTanhSlope(MathBuilder &mb, Value z) {
  constexpr double c = 2.0 * 0.7978845608028654;
  // From |z| = 100 on the second term is zero.
  Value g = bound(mb, mb.widen(z), 100.0);
  Value square = mb.mulF(g, g);
  Value inner = mb.addF(g, mb.mulF(mb.mulF(square, g), 0.044715));
  Value s = sigmoidF64(mb, mb.mulF(inner, c));
  Value slope = mb.mulF(s, mb.subF(mb.real(s, 1.0), s));
  Value chain = mb.mulF(mb.addF(mb.mulF(square, 3 * 0.044715), 1.0), c);
  return mb.narrow(mb.addF(s, mb.mulF(mb.mulF(g, slope), chain)));
}

/// `gradient` where z is positive or NaN, else +0.
static Value keepPositive(MathBuilder &mb, Value z, Value gradient) {
  Value kept = mb.select(mb.isNaN(z), z, gradient);
  return mb.select(mb.cmpF(FloatPredicate::UGT, z, 0.0), kept,
                   mb.real(gradient, 0.0));
}

static SmallVector<Value> emitSwiGLUGradient(MathBuilder &mb,
                                             const ActivationParams &params,
                                             Value gate, Value up, Value t) {
  Value g = gate, u = up, limit;
  if (params.limit) {
    limit = mb.spread(params.limit, gate);
    g = mb.minF(gate, limit);
    u = mb.minF(up, limit);
    u = mb.maxF(u, mb.negF(limit));
  }
  Value scaled = mb.mulF(mb.spread(params.alpha, g), g);
  Value slope = emitSiLUSlope(mb, scaled);
  Value activated = mb.mulF(g, emitSigmoid(mb.builder, mb.loc, scaled));
  Value factor = mb.mulF(t, mb.addF(u, mb.spread(params.beta, u)));
  Value ofGate = mb.mulF(factor, slope), ofUp = mb.mulF(t, activated);
  if (limit) {
    Value zero = mb.real(t, 0.0);
    ofGate = mb.select(mb.cmpF(FloatPredicate::ULE, gate, limit), ofGate, zero);
    ofUp =
        mb.select(mb.cmpF(FloatPredicate::ULE, mb.absF(up), limit), ofUp, zero);
  }
  return {ofGate, ofUp};
}

SmallVector<Value> arithmetic::emitActivationGradient(
    OpBuilder &builder, Location loc, ActivationAttr activation,
    const ActivationParams &params, ValueRange z, Value t) {
  MathBuilder mb(builder, loc);
  SmallVector<Value> in = roundArguments(builder, loc, activation, z);
  Value first = in.front(), up = in.back();
  switch (activation.getKind()) {
  case ActivationKind::Identity:
  case ActivationKind::Custom:
    return {t};
  case ActivationKind::ReLU:
    return {keepPositive(mb, first, t)};
  case ActivationKind::ReLU2:
    return {keepPositive(mb, first, mb.mulF(t, mb.mulF(first, 2.0)))};
  case ActivationKind::SiLU:
    return {mb.mulF(t, emitSiLUSlope(mb, first))};
  case ActivationKind::SwiGLU:
    return emitSwiGLUGradient(mb, params, first, up, t);
  case ActivationKind::GeGLUTanh:
    return {mb.mulF(mb.mulF(t, up), emitGELUTanhSlope(mb, first)),
            mb.mulF(t, emitGELUTanh(mb, first, [&](Value x) {
                      return emitSigmoid(builder, loc, x);
                    }))};
  case ActivationKind::ReGLU:
    return {keepPositive(mb, first, mb.mulF(t, up)),
            mb.mulF(t, mb.maxF(first, mb.real(first, 0.0)))};
  case ActivationKind::GELUTanh:
    return {mb.mulF(t, emitGELUTanhSlope(mb, first))};
  }
  llvm_unreachable("expected an activation");
}
