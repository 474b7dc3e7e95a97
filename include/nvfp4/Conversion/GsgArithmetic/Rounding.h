//===- Rounding.h - casts between f32 and small floats ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the casts of nvfp4/Format as branch-free integer arithmetic, so the
// result depends neither on the instruction set nor on how the code generator
// expands a cast. Every function takes scalars or vectors and returns the same
// shape.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_ROUNDING_H
#define NVFP4_CONVERSION_GSGARITHMETIC_ROUNDING_H

#include "nvfp4/Format/BlockFormat.h"

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::arithmetic {

/// f32 to the bits (i16) of the nearest bf16 or f16, ties to even; f16 from
/// 65520 on is infinity. NaN stays NaN.
mlir::Value emitF32ToBF16(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x);
mlir::Value emitF32ToF16(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x);

/// The exact f32 of bf16 or f16 bits (i16).
mlir::Value emitBF16ToF32(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value bits);
mlir::Value emitF16ToF32(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value bits);

/// f32 to a value of `element` (f32, bf16 or f16), and back.
mlir::Value emitToReal(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, mlir::Type element);
mlir::Value emitFromReal(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x);

/// x rounded to bf16, as f32.
mlir::Value emitRoundToBF16(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value x);

/// f32 to element codes (i8), nearest even and saturating, as
/// format::encodeE2M1, encodeE4M3 and encodeE5M2Saturating.
mlir::Value emitEncodeElement(
    mlir::OpBuilder &builder, mlir::Location loc, format::ElementKind kind,
    mlir::Value x,
    format::NegativeZero negativeZero = format::NegativeZero::Keep);

/// format::encodeE2M1Stochastic; `u` is f32 in [0, 1).
mlir::Value emitEncodeE2M1Stochastic(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value u,
    format::NegativeZero negativeZero = format::NegativeZero::Keep);

/// format::encodeUE4M3 and encodeE8M0 (f32 to i8).
mlir::Value emitEncodeUE4M3(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value x);
mlir::Value emitEncodeE8M0Up(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value x);

/// The exact f32 of a scale byte or of an element code (i8).
mlir::Value emitDecodeScale(mlir::OpBuilder &builder, mlir::Location loc,
                            format::ScaleKind kind, mlir::Value code);
mlir::Value emitDecodeElement(mlir::OpBuilder &builder, mlir::Location loc,
                              format::ElementKind kind, mlir::Value code);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_ROUNDING_H
