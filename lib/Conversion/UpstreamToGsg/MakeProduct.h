//===- MakeProduct.h - Operations of a product ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that a contraction becomes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MAKEPRODUCT_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MAKEPRODUCT_H

#include "ScaledContraction.h"

namespace nvfp4::gsg {

/// The product, with the offsets of its groups or null. `tokens`: the row of
/// `lhs` that each row is, or null if they are those of `lhs`.
mlir::Value makeProduct(mlir::OpBuilder &builder, mlir::Location loc,
                        const ScaledContraction &product, OffsetsKind offsets,
                        mlir::Value groups, mlir::Value out,
                        mlir::Value tokens = {});

/// The product of rows that have experts of their own: sorted by them,
/// multiplied, and put back where they were.
mlir::Value makeRoutedProduct(mlir::OpBuilder &builder, mlir::Location loc,
                              const ScaledContraction &product,
                              mlir::Value out);

/// Row `tokens[r]` of `matrix` as row r; any one where that is -1.
mlir::Value gatherRows(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value matrix, mlir::Value tokens);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MAKEPRODUCT_H
