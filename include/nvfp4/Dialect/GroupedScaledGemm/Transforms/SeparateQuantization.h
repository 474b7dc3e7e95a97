//===- SeparateQuantization.h - Results that are quantised later *- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gsg-separate-quantization does to one product, for lowerings that leave
// other quantisations beside a product than kernels do.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SEPARATEQUANTIZATION_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SEPARATEQUANTIZATION_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace mlir {
class OpBuilder;
class RewriterBase;
} // namespace mlir

namespace nvfp4::gsg {

/// Sets every element of `destination` to bytes of zero, memory in place;
/// returns the destination, or the tensor that takes its place.
mlir::Value clearMemory(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value destination);

/// The groups of a `quantize` of the result of `op`; null if each matrix is
/// one.
GroupingAttr getResultGrouping(MatmulOp op, bool isTransposed);

/// Makes the quantisation of the result of `op`, which is in storage form on
/// memrefs, and of its copies a `quantize` each after it: of the result, or of
/// y in f32 in memory that is freed after them. `keeps` says which copies stay
/// with a product whose result is not quantised. The rewriter stands before
/// `op`.
void separateQuantization(
    mlir::RewriterBase &rewriter, MatmulOp op,
    llvm::function_ref<bool(const ProductCopy &)> keeps = nullptr);

/// Makes the first copy of rows without a transform the result of a product
/// that has none.
void promoteCopy(mlir::RewriterBase &rewriter, MatmulOp op);

/// Bytes of zero for every value and scale of a copy.
void clearCopy(mlir::OpBuilder &builder, mlir::Location loc,
               const ProductCopy &copy);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SEPARATEQUANTIZATION_H
