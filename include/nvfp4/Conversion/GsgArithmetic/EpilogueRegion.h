//===- EpilogueRegion.h - Expanded epilogues on lanes -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the region of gsg-expand-epilogue on vectors of the elements that a
// target finishes together. The order of the steps is that of the region; how
// values are loaded and stored, and which elements a vector has, is the
// target's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUEREGION_H
#define NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUEREGION_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::arithmetic {

/// Loads and stores of one vector of elements. Vectors have one dimension.
class EpilogueLanes {
public:
  using Value = mlir::Value;
  virtual ~EpilogueLanes() = default;

  /// f32: the value of a clause for each lane of `like`, or a scalar if all
  /// have the same one.
  virtual Value load(LoadClauseOp op, Value like) = 0;
  virtual void storePreActivation(Value z) = 0;
  virtual void foldAmax(Value y) = 0;
  virtual void storeResult(Value y) = 0;
  /// The sigmoid of a vector; exact unless a target overrides it.
  virtual Value sigmoid(mlir::OpBuilder &builder, SigmoidOp op, Value x);
  /// The number of lanes on which consecutive operations of arithmetic are
  /// emitted at a time, a divisor of `lanes`, which is the default.
  virtual int64_t
  getLanesAtOnce(mlir::ArrayRef<mlir::Operation *> /*operations*/,
                 int64_t lanes) {
    return lanes;
  }
};

/// Emits the operations of `epilogue` up to pair_columns and returns its z, or
/// without pairs all of them, and returns null. `acc` is a vector of f32.
mlir::Value emitColumnsOfProduct(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::Block &epilogue, EpilogueLanes &lanes,
                                 mlir::Value acc);

/// Emits the operations after pair_columns.
void emitColumnsOfResult(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Block &epilogue, EpilogueLanes &lanes,
                         mlir::Value gate, mlir::Value up);

/// Whether both can emit the operations of a region.
bool isVectorizable(mlir::Block &region);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_EPILOGUEREGION_H
