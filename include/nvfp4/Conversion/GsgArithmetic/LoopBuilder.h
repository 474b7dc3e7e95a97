//===- LoopBuilder.h - Small loops over memrefs -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MathBuilder with what code at the operations needs: memrefs, indices, plain
// loops, and conversions of the real element types to and from f32.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_LOOPBUILDER_H
#define NVFP4_CONVERSION_GSGARITHMETIC_LOOPBUILDER_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"

namespace nvfp4::gsg::arithmetic {

class LoopBuilder : public MathBuilder {
public:
  using MathBuilder::load;
  using MathBuilder::MathBuilder;
  using MathBuilder::store;

  Value index(int64_t value);
  Value dim(Value memref, int64_t index);
  Value load(Value memref, mlir::ValueRange indices);
  void store(Value value, Value memref, mlir::ValueRange indices);

  /// An index as i32, its low bits.
  Value toI32(Value index);
  /// Widens bf16 or f16 to f32, exactly.
  Value toF32(Value value);
  /// Rounds f32 to `type` (to nearest even).
  Value fromF32(Value value, Type type);

  /// for i in [0, size), of type index; unlike those of forLoop, LLVM may
  /// unroll and vectorise these.
  void loop(Value size, Body body);
  /// for i in [0, size), carrying values.
  llvm::SmallVector<Value> fold(Value size, mlir::ValueRange init,
                                CarryBody body);
  /// parallel for i in [0, size)
  virtual void parallel(Value size, Body body);
  /// The value of the branch that is taken; both have one type.
  Value branch(Value condition, llvm::function_ref<Value()> thenValue,
               llvm::function_ref<Value()> elseValue);
};

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_LOOPBUILDER_H
