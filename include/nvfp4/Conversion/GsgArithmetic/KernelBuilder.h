//===- KernelBuilder.h - short spellings for kernel IR ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over OpBuilder for code on raw pointers, 64-bit integers and
// vectors. Constants take the type of the value they meet, so one helper serves
// scalars and vectors.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_KERNELBUILDER_H
#define NVFP4_CONVERSION_GSGARITHMETIC_KERNELBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nvfp4::gsg::arithmetic {

class KernelBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using VectorType = mlir::VectorType;

  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc);
  virtual ~KernelBuilder() = default;

  /// True if the code is for threads of a GPU.
  virtual bool isOnDevice() const { return false; }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Type i8, i16, i32, i64, f32, ptr;

  /// A constant of `type`; vectors get it in every lane.
  Value constant(Type type, int64_t value);
  Value constantF32(Type type, float value);
  Value i64Constant(int64_t value) { return constant(i64, value); }
  /// A constant byte vector.
  Value byteVector(llvm::ArrayRef<int8_t> bytes);

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value shl(Value a, Value b);
  Value shr(Value a, Value b);
  Value minS(Value a, Value b);
  Value maxS(Value a, Value b);
  Value add(Value a, int64_t c) { return add(a, constant(a.getType(), c)); }
  Value mul(Value a, int64_t c) { return mul(a, constant(a.getType(), c)); }
  Value bitAnd(Value a, int64_t c) {
    return bitAnd(a, constant(a.getType(), c));
  }
  Value shl(Value a, int64_t c) { return shl(a, constant(a.getType(), c)); }
  Value shr(Value a, int64_t c) { return shr(a, constant(a.getType(), c)); }
  Value minS(Value a, int64_t c) { return minS(a, constant(a.getType(), c)); }
  Value maxS(Value a, int64_t c) { return maxS(a, constant(a.getType(), c)); }
  /// a / 2^shift rounded up, a >= 0.
  Value ceilShift(Value a, int64_t shift) {
    return shr(add(a, (int64_t(1) << shift) - 1), shift);
  }

  Value cmp(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value cmp(mlir::arith::CmpIPredicate predicate, Value a, int64_t c) {
    return cmp(predicate, a, constant(a.getType(), c));
  }
  Value select(Value condition, Value a, Value b);

  Value mulF(Value a, Value b);
  Value addF(Value a, Value b);
  /// One rounding. `exact` says that a * b has no rounding error, and then
  /// mul and add give the same bits without a fused instruction.
  Value fma(Value a, Value b, Value c, bool exact, bool hasFma);
  Value intToFloat(Value a);
  /// The f32 of the magnitude bits (i32) of a float with fewer exponent bits
  /// and that bias, times 2^exponent. Exact; infinities and NaN are not known.
  Value widenFloat(Value magnitude, int mantissaBits, int bias,
                   int exponent = 0);

  Value zeroExtend(Value a, Type elementType);
  Value signExtend(Value a, Type elementType);
  /// `a` as `element` lanes, of the same total width.
  Value bitcast(Value a, Type element);
  /// The halves of pairs of bf16, lanes of i32, as f32: exact.
  Value upperBf16(Value pairs);
  Value lowerBf16(Value pairs);
  Value splat(Value scalar, int64_t lanes);
  Value shuffle(Value a, Value b, llvm::ArrayRef<int64_t> mask);

  Value ptrAdd(Value base, int64_t bytes);
  Value ptrAdd(Value base, Value bytes);
  /// Loads and stores assume no alignment unless one is given, in bytes.
  Value load(Type type, Value base, int64_t bytes = 0, int64_t alignment = 1);
  void store(Value value, Value base, int64_t bytes = 0, int64_t alignment = 1);
  /// Element `index` of an array of i64.
  Value loadOffset(Value array, Value index);
  enum class Level { First, Second };
  /// Hints that the line at `address` will be read soon, and into which cache
  /// it should go; never faults.
  void prefetch(Value address, Level level = Level::Second);
  Value intrinsic(llvm::StringRef name, Type result, mlir::ValueRange args);

  using Body = llvm::function_ref<void(Value)>;
  using CarryBody =
      llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  void forLoop(Value from, Value to, int64_t step, Body body);
  llvm::SmallVector<Value> forLoop(Value from, Value to, int64_t step,
                                   mlir::ValueRange init, CarryBody body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifThenElse(Value condition, llvm::function_ref<void()> thenBody,
                  llvm::function_ref<void()> elseBody);
  void call(mlir::LLVM::LLVMFuncOp callee, mlir::ValueRange args);

private:
  mlir::LLVM::LoopAnnotationAttr loopAnnotation;
  Type withShapeOf(Type like, Type element);
};

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_KERNELBUILDER_H
