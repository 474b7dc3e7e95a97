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

/// A tensor of `shape` from `source`, or from a part of it, in the same element
/// type.
struct Arrangement {
  mlir::Value source;
  /// The part: one of each for each dimension; empty if it is all of `source`.
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
  llvm::SmallVector<int64_t> shape;
  /// Dimension i of the result is this one of the source; empty if the order
  /// stays.
  llvm::SmallVector<int64_t> permutation;
};

/// How the source of `factor`, read at its indices, is a tensor of `shape` read
/// at `target`; nothing if neither a transposition nor a reshape makes it one.
/// `slices` are the symbols of the indices.
std::optional<Arrangement>
planArrangement(const Factor &factor, llvm::ArrayRef<Slice> slices,
                llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<mlir::AffineExpr> target);

/// The slice whose element `index` is, and the index within; slice -1 if there
/// is none, nothing if `index` is no element of one slice.
std::optional<std::pair<int64_t, mlir::AffineExpr>>
splitSlice(mlir::AffineExpr index, size_t numSlices);

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
