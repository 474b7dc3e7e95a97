//===- Arrange.h - Tensors in the order that a format wants -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What must be done with a tensor so that its element at given indices is found
// at others: nothing, a transposition or a reshape. First a plan, which makes
// no IR, then the operations.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ARRANGE_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ARRANGE_H

#include "ElementTrace.h"

namespace nvfp4::gsg {

/// A tensor of `shape` from `source`, in the same element type.
struct Arrangement {
  mlir::Value source;
  llvm::SmallVector<int64_t> shape;
  /// Dimension i of the result is this one of the source; empty if the order
  /// stays.
  llvm::SmallVector<int64_t> permutation;
};

/// How `source`, read at `indices`, is a tensor of `shape` read at `target`;
/// nothing if neither a transposition nor a reshape makes it one.
std::optional<Arrangement>
planArrangement(mlir::Value source, llvm::ArrayRef<mlir::AffineExpr> indices,
                llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<mlir::AffineExpr> target);

/// The operations of a plan.
mlir::Value arrange(mlir::OpBuilder &builder, mlir::Location loc,
                    const Arrangement &plan);

/// `source` with the elements in the same order and another shape; at most
/// dimension 0 is dynamic in either.
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value source, llvm::ArrayRef<int64_t> shape);

/// Bytes as elements of the 8-bit `type`.
mlir::Value bitcastElements(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value bytes, mlir::Type type);

/// [.., K] of f4E2M1FN as [.., K/2] bytes, the even index in the low nibble.
mlir::Value packNibbles(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value codes);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ARRANGE_H
