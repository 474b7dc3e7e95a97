//===- GroupLoop.h - A loop over groups of rows -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises a loop that multiplies the rows of one group after the other and
// puts the results side by side. Makes no IR but the ends of groups.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_GROUPLOOP_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_GROUPLOOP_H

#include "DepthLoop.h"
#include "ElementTrace.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nvfp4::gsg {

/// A loop over `count` groups, each rows `[start, start + length)` of a result.
struct GroupLoop {
  mutable mlir::scf::ForOp loop;
  int64_t count = 0;
  /// Gives the rows of a group.
  mlir::linalg::LinalgOp contraction;
  /// The loop over parts of K that `contraction` is in, if it is in one.
  std::optional<DepthLoop> depth;
  bool readsDestination = false;
  mlir::Value start, length;
  /// One-dimensional: offsets as `kind` says, or the rows of each group.
  mlir::Value groups;
  OffsetsKind kind = OffsetsKind::Ends;
  bool areSizes = false;
  /// The result of the loop; no other is used.
  unsigned result = 0;

  /// True if the slice is the rows of the group of this step.
  bool isRows(const Slice &slice) const;
  /// True if the slice is the element with the number of the group.
  bool isGroup(const Slice &slice) const;
  /// True if the value is that number, as an integer or index.
  bool isNumber(mlir::Value value) const;
};

/// The loop over groups that `loop` is.
std::optional<GroupLoop> matchGroupLoop(mlir::scf::ForOp loop);

/// The operand `groups` of the product, made before the loop.
mlir::Value makeGroups(mlir::OpBuilder &builder, mlir::Location loc,
                       const GroupLoop &groups);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_GROUPLOOP_H
