//===- RoutingKeys.h - Scores of experts as integers ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of `route` become integer keys that order like them: -0 and +0 share a
// key, NaN has the lowest one that a score can have, and a key below that marks
// what has been taken.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_ROUTINGKEYS_H
#define NVFP4_CONVERSION_GSGARITHMETIC_ROUTINGKEYS_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg::arithmetic {

inline constexpr int64_t kTakenKey = INT32_MIN;

/// The keys (i32) of f32 scores, scalars or vectors, and back.
mlir::Value emitKey(MathBuilder &mb, mlir::Value score);
mlir::Value emitScore(MathBuilder &mb, mlir::Value key);

/// What experts are ranked by, but for a bias: the logit where the method is
/// monotone in it.
mlir::Value emitRankedScore(MathBuilder &mb, RoutingMethod method,
                            mlir::Value logit);

/// exp(x - largest).
mlir::Value emitExpDistance(MathBuilder &mb, mlir::Value x,
                            mlir::Value largest);

/// What the weight of an expert is a share of, in the methods that normalise
/// sigmoids: the sum of those of a token, and this.
inline constexpr float kSigmoidSumFloor = 1e-20f;

/// Whether the method is one of those.
bool normalizesSigmoids(RoutingMethod method);

/// Whether the method ranks by sigmoid and bias.
bool ranksBySigmoid(RoutingMethod method);

/// By what a normalised weight is multiplied.
float getRoutedScaling(RouteOp op);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_ROUTINGKEYS_H
