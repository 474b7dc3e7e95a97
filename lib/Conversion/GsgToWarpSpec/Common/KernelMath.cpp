//===- KernelMath.cpp - Numbers of 32 bits in a kernel ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation of arith for each spelling of KernelMath.h.
//
//===----------------------------------------------------------------------===//

#include "KernelMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg::kernels;

Value KernelMath::i32(int64_t value) const {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}
Value KernelMath::add(Value a, Value other) const {
  return arith::AddIOp::create(b, loc, a, other);
}
Value KernelMath::sub(Value a, Value other) const {
  return arith::SubIOp::create(b, loc, a, other);
}
Value KernelMath::mul(Value a, Value other) const {
  return arith::MulIOp::create(b, loc, a, other);
}
Value KernelMath::div(Value a, int64_t by) const {
  return by == 1 ? a : Value(arith::DivUIOp::create(b, loc, a, i32(by)));
}
Value KernelMath::ceilDiv(Value a, int64_t by) const {
  return by == 1 ? a : div(add(a, i32(by - 1)), by);
}
Value KernelMath::ceilDiv(Value a, Value by) const {
  return arith::DivUIOp::create(b, loc, add(a, sub(by, i32(1))), by);
}
Value KernelMath::atLeastOne(Value a) const {
  return arith::MaxUIOp::create(b, loc, a, i32(1));
}
Value KernelMath::atMost(Value a, int64_t most) const {
  return arith::MinSIOp::create(b, loc, a, i32(most));
}
Value KernelMath::choose(Value number, int64_t most, Value a,
                         Value other) const {
  Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, number,
                                   i32(most));
  return arith::SelectOp::create(b, loc, is, a, other);
}
Value KernelMath::clamp(Value a, Value low, Value high) const {
  return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, a, low),
                                high);
}
Value KernelMath::less(Value a, Value other) const {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, a, other);
}
Value KernelMath::toIndex(Value value) const {
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}
Value KernelMath::index(int64_t value) const {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value KernelMath::flatten(Value row, Value stride, Value column) const {
  Value start = arith::MulIOp::create(b, loc, toIndex(row), toIndex(stride));
  return arith::AddIOp::create(b, loc, start, toIndex(column));
}
Value KernelMath::broadcast(Value scalar, Value like) const {
  return vector::BroadcastOp::create(b, loc, like.getType(), scalar);
}
