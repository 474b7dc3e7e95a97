//===- MathBuilder.h - f32 and f64 arithmetic for emitters ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// KernelBuilder with the floating-point operations that epilogues need. Nothing
// here carries fast-math flags: each operation rounds once, everywhere alike.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_MATHBUILDER_H
#define NVFP4_CONVERSION_GSGARITHMETIC_MATHBUILDER_H

#include "nvfp4/Conversion/GsgArithmetic/KernelBuilder.h"

namespace nvfp4::gsg::arithmetic {

class MathBuilder : public KernelBuilder {
public:
  MathBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : KernelBuilder(builder, loc), f64(builder.getF64Type()) {}

  Type f64;

  using IntPredicate = mlir::arith::CmpIPredicate;
  using FloatPredicate = mlir::arith::CmpFPredicate;

  /// `element`, with the shape of `like`.
  Type like(Value like, Type element);
  /// A constant of the type of `like`, f32 or f64.
  Value real(Value like, double value);

  Value subF(Value a, Value b);
  Value divF(Value a, Value b);
  Value mulF(Value a, double b) { return KernelBuilder::mulF(a, real(a, b)); }
  Value addF(Value a, double b) { return KernelBuilder::addF(a, real(a, b)); }
  using KernelBuilder::addF;
  using KernelBuilder::mulF;
  /// Minimum and maximum that are NaN if either operand is.
  Value minF(Value a, Value b);
  Value maxF(Value a, Value b);
  Value negF(Value a);
  /// |a|, by its sign bit.
  Value absF(Value a);
  Value cmpF(FloatPredicate predicate, Value a, Value b);
  Value cmpF(FloatPredicate predicate, Value a, double b) {
    return cmpF(predicate, a, real(a, b));
  }
  Value isNaN(Value a);
  Value widen(Value f32);
  Value narrow(Value f64);

  /// An integer as an index, sign extended, and an index as i64.
  Value toIndex(Value integer);
  Value toI64(Value index);

  Value bitXor(Value a, Value b);
  Value logicalNot(Value a);
  /// The low bits of an integer.
  Value truncate(Value a, Type element);
  /// Non-negative a / b and a % b.
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value div(Value a, int64_t b) { return div(a, constant(a.getType(), b)); }
  Value rem(Value a, int64_t b) { return rem(a, constant(a.getType(), b)); }
  /// The smallest multiple of `unit` that is not below `a`.
  Value roundUp(Value a, int64_t unit);

  /// The bits of f32 values as i32, and back.
  Value toBits(Value f32Value) { return bitcastLike(f32Value, i32); }
  Value fromBits(Value i32Value) { return bitcastLike(i32Value, f32); }
  /// Bits of each element as another type of the same width.
  Value bitcastLike(Value a, Type element);
  /// Scalars spread over the shape of `like`; others as they are.
  Value spread(Value scalar, Value like);
};

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_MATHBUILDER_H
