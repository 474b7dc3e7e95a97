//===- Activation.h - activations of epilogues ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the activations of the dialect on f32 scalars or vectors. One
// definition for fused epilogues and for the standalone operation, so both give
// the same bits; no library function is called and nothing may be contracted,
// so every instruction set gives the same bits, too.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_ACTIVATION_H
#define NVFP4_CONVERSION_GSGARITHMETIC_ACTIVATION_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::arithmetic {

/// e^x of an f32, within 0.51 ulp, subnormal results included: computed in f64
/// by a polynomial of degree 11 after reduction to |r| <= ln(2)/2, and rounded
/// once. NaN stays NaN, overflow gives infinity.
mlir::Value emitExp(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value x);

/// 1 / (1 + e^-x) of an f32, within 0.51 ulp; or of an f64, with a relative
/// error below 2^-40.
mlir::Value emitSigmoid(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value x);

/// The parameters of an activation as f32 scalars; limit is null if there is
/// none.
struct ActivationParams {
  mlir::Value alpha, beta, limit;
};

/// The parameters that the attribute gives, as constants.
ActivationParams emitActivationParams(mlir::OpBuilder &builder,
                                      mlir::Location loc,
                                      ActivationAttr activation);

/// y of the pre-activation z = {z} or {gate, up}, all of one f32 type, by the
/// formula of the activation (Gsg_Activations) from left to right, with each
/// sigmoid and each product rounded to f32. `(1 + tanh(..)) / 2` is computed in
/// f64 and rounded once. `round_bf16` rounds z before it is used. Not for
/// `custom`. `sigmoid` makes the sigmoid of an f32 or an f64 of the shape of z;
/// emitSigmoid if there is none.
mlir::Value emitActivation(
    mlir::OpBuilder &builder, mlir::Location loc, ActivationAttr activation,
    const ActivationParams &params, mlir::ValueRange z,
    llvm::function_ref<mlir::Value(mlir::Value x)> sigmoid = nullptr);

/// The gradient with respect to z of `t` times the activation, in the order of
/// z, by the formulas of docs/Spec.md: from left to right, with each product
/// rounded to f32. Slopes of `silu` and `gelu_tanh` are computed in f64 and
/// rounded once. Outside of a limit and below the bend of `relu` it is +0,
/// whatever `t` is; NaN in z propagates.
llvm::SmallVector<mlir::Value> emitActivationGradient(
    mlir::OpBuilder &builder, mlir::Location loc, ActivationAttr activation,
    const ActivationParams &params, mlir::ValueRange z, mlir::Value t);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_ACTIVATION_H
