//===- HostMath.cpp - Numbers that the host knows ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known while compiling is folded here; the rest becomes i64 of arith.
//
//===----------------------------------------------------------------------===//

#include "HostMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::gsg::kernels;

HostNumber HostMath::dim(Value memref, int64_t index) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(index))
    return constant(type.getDimSize(index));
  Value size = memref::DimOp::create(builder, loc, memref, index);
  return {std::nullopt,
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size)};
}

Value HostMath::toI64(HostNumber number) {
  return number.known ? Value(arith::ConstantIntOp::create(builder, loc,
                                                           *number.known, 64))
                      : number.value;
}

Value HostMath::toIndex(HostNumber number) {
  if (number.known)
    return arith::ConstantIndexOp::create(builder, loc, *number.known);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    number.value);
}

OpFoldResult HostMath::toFoldResult(HostNumber number) {
  if (number.known)
    return builder.getIndexAttr(*number.known);
  return toIndex(number);
}

HostNumber HostMath::add(HostNumber a, HostNumber b) {
  if (a.known && b.known)
    return constant(*a.known + *b.known);
  return {std::nullopt,
          arith::AddIOp::create(builder, loc, toI64(a), toI64(b))};
}

HostNumber HostMath::mul(HostNumber a, HostNumber b) {
  if (a.known && b.known)
    return constant(*a.known * *b.known);
  return {std::nullopt,
          arith::MulIOp::create(builder, loc, toI64(a), toI64(b))};
}

HostNumber HostMath::ceilDiv(HostNumber a, int64_t b) {
  if (a.known)
    return constant(llvm::divideCeil(*a.known, b));
  return {std::nullopt, arith::CeilDivSIOp::create(builder, loc, a.value,
                                                   toI64(constant(b)))};
}

HostNumber HostMath::ceilDiv(HostNumber a, HostNumber b) {
  if (b.known)
    return ceilDiv(a, *b.known);
  return {std::nullopt,
          arith::CeilDivSIOp::create(builder, loc, toI64(a), b.value)};
}

HostNumber HostMath::atLeastOne(HostNumber a) {
  if (a.known)
    return constant(std::max<int64_t>(*a.known, 1));
  return {std::nullopt,
          arith::MaxSIOp::create(builder, loc, a.value, toI64(constant(1)))};
}

HostNumber HostMath::atMost(HostNumber a, int64_t most) {
  if (a.known)
    return constant(std::min(*a.known, most));
  return {std::nullopt,
          arith::MinSIOp::create(builder, loc, a.value, toI64(constant(most)))};
}

HostNumber HostMath::choose(HostNumber number, int64_t most, HostNumber a,
                            HostNumber b) {
  if (number.known)
    return *number.known <= most ? a : b;
  Value is = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                   number.value, toI64(constant(most)));
  return {std::nullopt,
          arith::SelectOp::create(builder, loc, is, toI64(a), toI64(b))};
}
