//===- DepthLoop.h - A loop over parts of K ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises a loop that adds the products of one part of K after the other.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_DEPTHLOOP_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_DEPTHLOOP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace nvfp4::gsg {

/// A loop of `count` steps, each of which adds to what the loop carries.
struct DepthLoop {
  mutable mlir::scf::ForOp loop;
  int64_t first = 0, step = 1, count = 0;
  /// What a step adds.
  mlir::linalg::LinalgOp contraction;
  /// Null, or where the loop carries more, what puts the sums into it.
  mutable mlir::tensor::InsertSliceOp insert;

  /// What the loop adds to.
  mlir::Value getDestination() const { return loop.getInitArgs()[0]; }
  /// `offset`, which depends on the step, as an expression of its number; null
  /// if it is none.
  mlir::AffineExpr getOffset(mlir::OpFoldResult offset,
                             mlir::AffineExpr number) const;
};

/// The loop over parts of K that `loop` is.
std::optional<DepthLoop> matchDepthLoop(mlir::scf::ForOp loop);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_DEPTHLOOP_H
