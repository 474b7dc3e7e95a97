//===- ScaledContraction.h - A contraction that is a product ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises a sum over products of block-scaled values and describes it as a
// `matmul` of the dialect. Makes no IR.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_SCALEDCONTRACTION_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_SCALEDCONTRACTION_H

#include "Arrange.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// One operand of the product.
struct RaisedOperand {
  /// Null for rows of bf16 or f16, which are `data` alone.
  ScaledType type;
  Arrangement data;
  /// Element type of codes; those of f4E2M1FN are packed if the arranged tensor
  /// holds them whole.
  mlir::Type codeType;
  bool isPacked = false;
  Arrangement scales;
  mlir::Type scaleType;
  /// How many matrices of a batch have these rows, which `data` and `scales`
  /// hold once; 0 if there is one for each.
  int64_t repeat = 0;
};

/// Rows that are multiplied by the weights of an expert of their own.
struct Routing {
  /// The expert, where dimension 0 is the row and 1 the slot.
  ExpressionRef expert;
  /// Products of each row.
  int64_t slots = 1;
  /// True if other numbers than those of experts are no expert.
  bool dropsOthers = false;
};

/// A contraction as product of one of the forms `dense`, `batched` and
/// `ragged_rows`.
struct ScaledContraction {
  RaisedOperand lhs, rhs;
  GroupingKind kind = GroupingKind::Dense;
  /// Of a sum over groups with masked rows: where they lie. A loop over groups
  /// knows that itself.
  mlir::Value offsets;
  OffsetsKind offsetsKind = OffsetsKind::Ends;
  /// If set, rows are in the order of tokens, and results [rows * slots, N].
  std::optional<Routing> routing;
  /// Matrices of weights.
  int64_t count = 1;
  /// [M, N] or [L, M, N].
  llvm::SmallVector<int64_t> outShape;
  /// The destination is `[N, M]` or `[L, N, M]`, of known extents.
  bool isTransposed = false;
  /// Numbers that become `alpha`, read at indices in which dimension 0 is the
  /// number of the matrix.
  llvm::SmallVector<Factor> globals;
  /// If set, [N] or [count, N], which are added to each row.
  std::optional<Arrangement> bias;
  /// False if the destination is filled with zero.
  bool readsDestination = true;
};

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_SCALEDCONTRACTION_H
