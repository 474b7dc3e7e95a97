//===- MathBuilder.cpp - f32 and f64 arithmetic for emitters ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation each. Operands are scalars or vectors of one shape.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;

Type MathBuilder::like(Value like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value MathBuilder::real(Value like, double value) {
  Type element = getElementTypeOrSelf(like.getType());
  TypedAttr attr = builder.getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value MathBuilder::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value MathBuilder::divF(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}
Value MathBuilder::minF(Value a, Value b) {
  return arith::MinimumFOp::create(builder, loc, a, b);
}
Value MathBuilder::maxF(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b);
}
Value MathBuilder::negF(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}
Value MathBuilder::absF(Value a) {
  bool wide = getElementTypeOrSelf(a.getType()).isF64();
  Type integer = wide ? i64 : i32;
  Value bits = bitcastLike(a, integer);
  int64_t mask = wide ? std::numeric_limits<int64_t>::max()
                      : std::numeric_limits<int32_t>::max();
  return bitcastLike(bitAnd(bits, mask), wide ? f64 : f32);
}
Value MathBuilder::cmpF(FloatPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value MathBuilder::isNaN(Value a) { return cmpF(FloatPredicate::UNO, a, a); }
Value MathBuilder::widen(Value value) {
  return arith::ExtFOp::create(builder, loc, like(value, f64), value);
}
Value MathBuilder::narrow(Value value) {
  return arith::TruncFOp::create(builder, loc, like(value, f32), value);
}

Value MathBuilder::toIndex(Value integer) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    integer);
}
Value MathBuilder::toI64(Value index) {
  return builder.createOrFold<arith::IndexCastOp>(loc, i64, index);
}

Value MathBuilder::bitXor(Value a, Value b) {
  return arith::XOrIOp::create(builder, loc, a, b);
}
Value MathBuilder::logicalNot(Value a) {
  return bitXor(a, constant(a.getType(), -1));
}
Value MathBuilder::truncate(Value a, Type element) {
  return arith::TruncIOp::create(builder, loc, like(a, element), a);
}
Value MathBuilder::div(Value a, Value b) {
  return arith::DivUIOp::create(builder, loc, a, b);
}
Value MathBuilder::rem(Value a, Value b) {
  return arith::RemUIOp::create(builder, loc, a, b);
}
Value MathBuilder::roundUp(Value a, int64_t unit) {
  if (unit == 1)
    return a;
  Value unitValue = constant(a.getType(), unit);
  return mul(div(add(a, unit - 1), unitValue), unitValue);
}

Value MathBuilder::bitcastLike(Value a, Type element) {
  return arith::BitcastOp::create(builder, loc, like(a, element), a);
}
Value MathBuilder::spread(Value scalar, Value shape) {
  if (isa<VectorType>(scalar.getType()) || !isa<VectorType>(shape.getType()))
    return scalar;
  return vector::BroadcastOp::create(builder, loc,
                                     like(shape, scalar.getType()), scalar);
}
