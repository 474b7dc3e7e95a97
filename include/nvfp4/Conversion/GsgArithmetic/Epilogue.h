//===- Epilogue.h - The order of an epilogue --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps from accumulator to result in the order that the description of
// `matmul` states, once for CPUs and kernels. A target says how it reads and
// writes the values of a clause; every product and sum is rounded on its own.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUE_H
#define NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUE_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::arithmetic {

/// The values of the clauses of one product, at the elements that a target
/// finishes together. Each method gives f32 of the shape of `like`, or null if
/// the product lacks the clause.
class EpilogueAccess {
public:
  using Value = mlir::Value;
  virtual ~EpilogueAccess() = default;

  virtual Value alpha(Value like) = 0;
  virtual Value prob(Value like) = 0;
  virtual Value addend(Value like) = 0;
  virtual Value beta(Value like) = 0;
  virtual Value bias(Value like) = 0;
  /// Stores the pre-activation if the product has a place for it.
  virtual void storePreActivation(Value z) = 0;
  /// The operands row, column and group, in the order of the region.
  virtual mlir::SmallVector<Value> regionOperands(Value like) = 0;
  /// y of an activation with a formula, or z without one; {z} or {gate, up}.
  virtual Value activate(mlir::ArrayRef<Value> z) = 0;
};

/// The clauses that change the order and not the values.
struct EpilogueOrder {
  ProbPosition prob = ProbPosition::PostActivation;
  /// Whether the region sees z rounded to bf16.
  bool roundsBf16 = false;
  /// The region of a custom activation, or null.
  mlir::Block *region = nullptr;
};

/// Steps 2 to 7, from accumulator to pre-activation.
mlir::Value emitPreActivation(mlir::OpBuilder &builder, mlir::Location loc,
                              const EpilogueOrder &order,
                              EpilogueAccess &access, mlir::Value acc);

/// Steps 8 to 10, from pre-activation, {z} or {gate, up}, to y.
mlir::Value emitResult(mlir::OpBuilder &builder, mlir::Location loc,
                       const EpilogueOrder &order, EpilogueAccess &access,
                       mlir::ArrayRef<mlir::Value> z);

/// Whether emitResult can clone a region on vectors.
bool isVectorizable(mlir::Block &region);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUE_H
