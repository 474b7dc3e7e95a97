//===- RealRows.h - Rows of real tensors, by vectors ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that activations read and write. Columns of pairs whose runs divide
// sixteen are split by a shuffle of 32 neighbours; longer runs are read where
// they start.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_LOWER_REALROWS_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_LOWER_REALROWS_H

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg::cpu {

using arithmetic::LoopBuilder;
using arithmetic::MathBuilder;
using loops::MemRefParts;

constexpr int64_t kLanes = 16;

/// Calls `body(row)` for all rows of a tensor, in parallel.
void forRows(LoopBuilder &mb, const MemRefParts &parts,
             llvm::function_ref<void(mlir::Value)> body);

/// A number for each row, as rows of one column; none for a null value.
std::optional<MemRefParts> getColumn(MathBuilder &mb, mlir::Value memref);

/// One row of a tensor, by column. Values are vectors of f32.
struct Row {
  MathBuilder &mb;
  const MemRefParts &parts;
  mlir::Value base;

  mlir::Value load(mlir::Value column, int64_t lanes) const;
  void store(mlir::Value values, mlir::Value column) const;

private:
  mlir::Value at(mlir::Value column) const;
};

/// Whether kLanes columns of an activation make up whole vectors of rows
/// without gaps.
bool hasVectorRuns(ActivationAttr activation);

/// {z} or {gate, up} of columns c .. c + lanes of the result of an activation,
/// which has `columns` of them.
llvm::SmallVector<mlir::Value> loadArguments(MathBuilder &mb,
                                             ActivationAttr activation,
                                             mlir::Value columns, const Row &in,
                                             mlir::Value c, int64_t lanes);
/// Stores them to where loadArguments has them from.
void storeArguments(MathBuilder &mb, ActivationAttr activation,
                    mlir::Value columns, const Row &out,
                    mlir::ValueRange values, mlir::Value c);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_LOWER_REALROWS_H
