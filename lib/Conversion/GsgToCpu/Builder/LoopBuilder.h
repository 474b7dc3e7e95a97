//===- LoopBuilder.h - Small loops over memrefs -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short spellings for the loop nests of the lowerings: index constants,
// extents, loops and conversions of the real element types to and from f32.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_BUILDER_LOOPBUILDER_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_BUILDER_LOOPBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nvfp4::gsg::cpu {

struct LoopBuilder : mlir::ImplicitLocOpBuilder {
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Body = llvm::function_ref<void(Value)>;
  using Fold = llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)>;

  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(*this, value);
  }
  Value i32(int32_t value) {
    return mlir::arith::ConstantIntOp::create(*this, getI32Type(), value);
  }
  Value f32(float value) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value dim(Value memref, int64_t index) {
    return createOrFold<mlir::memref::DimOp>(memref, index);
  }
  Value load(Value memref, ValueRange indices) {
    return mlir::memref::LoadOp::create(*this, memref, indices);
  }
  void store(Value value, Value memref, ValueRange indices) {
    mlir::memref::StoreOp::create(*this, value, memref, indices);
  }
  /// An i32 or i64 as an index, sign extended.
  Value toIndex(Value value) {
    return mlir::arith::IndexCastOp::create(*this, getIndexType(), value);
  }
  Value toI32(Value value) {
    return mlir::arith::IndexCastOp::create(*this, getI32Type(), value);
  }
  /// Widens bf16 or f16 to f32, exactly.
  Value toF32(Value value) {
    if (value.getType().isF32())
      return value;
    return mlir::arith::ExtFOp::create(*this, getF32Type(), value);
  }
  /// Rounds f32 to `type` (to nearest even).
  Value fromF32(Value value, mlir::Type type) {
    if (type.isF32())
      return value;
    return mlir::arith::TruncFOp::create(*this, type, value);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpIOp::create(*this, predicate, lhs, rhs);
  }
  Value select(Value condition, Value then, Value otherwise) {
    return mlir::arith::SelectOp::create(*this, condition, then, otherwise);
  }

  /// for i in [0, size)
  void loop(Value size, Body body) {
    fold(size, {}, [&](Value i, ValueRange) {
      body(i);
      return llvm::SmallVector<Value>();
    });
  }
  /// for i in [0, size), carrying values.
  llvm::SmallVector<Value> fold(Value size, ValueRange inits, Fold body);
  /// parallel for i in [0, size)
  void parallel(Value size, Body body);
  void ifThen(Value condition, llvm::function_ref<void()> then);
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_BUILDER_LOOPBUILDER_H
