//===- KernelBuilder.cpp - short spellings for kernel IR --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation of arith, vector or llvm for each spelling of KernelBuilder.h,
// and the structured loops of kernels.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;

KernelBuilder::KernelBuilder(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc), i8(builder.getI8Type()),
      i16(builder.getI16Type()), i32(builder.getI32Type()),
      i64(builder.getI64Type()), f32(builder.getF32Type()),
      ptr(LLVM::LLVMPointerType::get(builder.getContext())),
      loopAnnotation(LLVM::LoopAnnotationAttr::get(
          builder.getContext(), /*disableNonforced=*/builder.getBoolAttr(true),
          {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})) {}

Value KernelBuilder::constant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = builder.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value KernelBuilder::constantF32(Type type, float value) {
  TypedAttr attr = builder.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value KernelBuilder::byteVector(ArrayRef<int8_t> bytes) {
  auto type = VectorType::get(static_cast<int64_t>(bytes.size()), i8);
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, bytes));
}

Value KernelBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}
Value KernelBuilder::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}
Value KernelBuilder::mul(Value a, Value b) {
  return arith::MulIOp::create(builder, loc, a, b);
}
Value KernelBuilder::bitAnd(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value KernelBuilder::bitOr(Value a, Value b) {
  return arith::OrIOp::create(builder, loc, a, b);
}
Value KernelBuilder::shl(Value a, Value b) {
  return arith::ShLIOp::create(builder, loc, a, b);
}
Value KernelBuilder::shr(Value a, Value b) {
  return arith::ShRUIOp::create(builder, loc, a, b);
}
Value KernelBuilder::minS(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}
Value KernelBuilder::maxS(Value a, Value b) {
  return arith::MaxSIOp::create(builder, loc, a, b);
}
Value KernelBuilder::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}
Value KernelBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value KernelBuilder::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value KernelBuilder::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}

Value KernelBuilder::fma(Value a, Value b, Value c, bool exact, bool hasFma) {
  // math.fma keeps its single rounding everywhere; vector.fma would become
  // llvm.fmuladd, which may be split.
  if (exact && !hasFma)
    return addF(mulF(a, b), c);
  return math::FmaOp::create(builder, loc, a, b, c);
}

Type KernelBuilder::withShapeOf(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value KernelBuilder::intToFloat(Value a) {
  return arith::SIToFPOp::create(builder, loc, withShapeOf(a.getType(), f32),
                                 a);
}

Value KernelBuilder::widenFloat(Value magnitude, int mantissaBits, int bias,
                                int exponent) {
  // With a hidden bit a subnormal x is n = (x + least) / 2, where least is the
  // smallest normal number. 2n - least is x for these and not below n for
  // others. No operand is subnormal in f32: for those some CPUs take over a
  // hundred cycles.
  Value shifted = shl(magnitude, 23 - mantissaBits);
  int64_t offset = int64_t(127 - bias + exponent) << 23;
  Value n = arith::BitcastOp::create(
      builder, loc, withShapeOf(shifted.getType(), f32), add(shifted, offset));
  Value minusLeast =
      constantF32(n.getType(), -std::ldexp(1.0f, 1 - bias + exponent));
  Value x = addF(addF(n, n), minusLeast);
  Value isSmaller =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, n);
  return select(isSmaller, x, n);
}

Value KernelBuilder::zeroExtend(Value a, Type elementType) {
  return arith::ExtUIOp::create(builder, loc,
                                withShapeOf(a.getType(), elementType), a);
}
Value KernelBuilder::signExtend(Value a, Type elementType) {
  return arith::ExtSIOp::create(builder, loc,
                                withShapeOf(a.getType(), elementType), a);
}

Value KernelBuilder::bitcast(Value a, Type element) {
  auto vector = dyn_cast<VectorType>(a.getType());
  if (!vector)
    return arith::BitcastOp::create(builder, loc, element, a);
  int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
  auto type = VectorType::get(bits / element.getIntOrFloatBitWidth(), element);
  if (type == vector)
    return a;
  return vector::BitCastOp::create(builder, loc, type, a);
}

Value KernelBuilder::upperBf16(Value pairs) {
  return bitcast(bitAnd(pairs, 0xFFFF0000), f32);
}

Value KernelBuilder::lowerBf16(Value pairs) {
  return bitcast(shl(pairs, 16), f32);
}

Value KernelBuilder::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(lanes, scalar.getType()), scalar);
}

Value KernelBuilder::shuffle(Value a, Value b, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(builder, loc, a, b, mask);
}

Value KernelBuilder::ptrAdd(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(
      builder, loc, ptr, i8, base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}
Value KernelBuilder::ptrAdd(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, ptr, i8, base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value KernelBuilder::load(Type type, Value base, int64_t bytes,
                          int64_t alignment) {
  return LLVM::LoadOp::create(builder, loc, type, ptrAdd(base, bytes),
                              alignment);
}
void KernelBuilder::store(Value value, Value base, int64_t bytes,
                          int64_t alignment) {
  LLVM::StoreOp::create(builder, loc, value, ptrAdd(base, bytes), alignment);
}
Value KernelBuilder::loadOffset(Value array, Value index) {
  return load(i64, ptrAdd(array, shl(index, 3)));
}

void KernelBuilder::prefetch(Value address, Level level) {
  // A read (0) of data (1), locality 3 being the first level.
  LLVM::Prefetch::create(builder, loc, address, 0u,
                         level == Level::First ? 3u : 2u, 1u);
}

Value KernelBuilder::intrinsic(StringRef name, Type result, ValueRange args) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result,
                                       builder.getStringAttr(name), args)
      .getResult(0);
}

void KernelBuilder::forLoop(Value from, Value to, int64_t step, Body body) {
  forLoop(from, to, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelBuilder::forLoop(Value from, Value to, int64_t step,
                                          ValueRange init, CarryBody body) {
  auto loop = scf::ForOp::create(
      builder, loc, from, to, i64Constant(step), init,
      [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        SmallVector<Value> results = body(iv, carried);
        scf::YieldOp::create(builder, loc, results);
      });
  // Hot loops are emitted in their final shape; unrolling and vectorising the
  // others would cost compilation time for nothing.
  loop->setAttr("llvm.loop_annotation", loopAnnotation);
  return SmallVector<Value>(loop.getResults());
}

void KernelBuilder::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  body();
}

void KernelBuilder::ifThenElse(Value condition, function_ref<void()> thenBody,
                               function_ref<void()> elseBody) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  thenBody();
  builder.setInsertionPointToStart(op.elseBlock());
  elseBody();
}

void KernelBuilder::call(LLVM::LLVMFuncOp callee, ValueRange args) {
  LLVM::CallOp::create(builder, loc, callee, args);
}
