//===- RoutingKeys.cpp - Scores of experts as integers ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits of a float, but for the order of negative ones, are such keys.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/RoutingKeys.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;

static constexpr int64_t kNaNKey = INT32_MIN + 1;

/// Bits and keys of numbers; its own inverse.
static Value flipNegative(MathBuilder &mb, Value bits) {
  Value sign = arith::ShRSIOp::create(mb.builder, mb.loc, bits,
                                      mb.constant(bits.getType(), 31));
  return mb.bitXor(bits, mb.bitAnd(sign, INT32_MAX));
}

Value arithmetic::emitKey(MathBuilder &mb, Value score) {
  // Adding +0 turns -0 into +0 and changes nothing else.
  Value key = flipNegative(mb, mb.toBits(mb.addF(score, 0.0)));
  return mb.select(mb.isNaN(score), mb.constant(key.getType(), kNaNKey), key);
}

Value arithmetic::emitScore(MathBuilder &mb, Value key) {
  Value score = mb.fromBits(flipNegative(mb, key));
  return mb.select(mb.cmp(arith::CmpIPredicate::sle, key, kNaNKey),
                   mb.real(score, std::nan("")), score);
}

bool arithmetic::ranksBySigmoid(RoutingMethod method) {
  return method == RoutingMethod::DeepSeekV3 ||
         method == RoutingMethod::MiniMax2;
}

bool arithmetic::normalizesSigmoids(RoutingMethod method) {
  return ranksBySigmoid(method) || method == RoutingMethod::SigmoidRenorm;
}

float arithmetic::getRoutedScaling(RouteOp op) {
  return op.getMethod() == RoutingMethod::DeepSeekV3
             ? op.getRoutedScaling().convertToFloat()
             : 1.0f;
}

Value arithmetic::emitRankedScore(MathBuilder &mb, RoutingMethod method,
                                  Value logit) {
  return ranksBySigmoid(method) ? emitSigmoid(mb.builder, mb.loc, logit)
                                : logit;
}

Value arithmetic::emitExpDistance(MathBuilder &mb, Value x, Value largest) {
  return emitExp(mb.builder, mb.loc, mb.subF(x, mb.spread(largest, x)));
}
