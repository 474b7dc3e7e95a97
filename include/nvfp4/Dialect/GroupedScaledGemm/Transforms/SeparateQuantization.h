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
class RewriterBase;
} // namespace mlir

namespace nvfp4::gsg {

/// Makes the quantisation of the result of `op`, which is in storage form on
/// memrefs, a `quantize` after it, of y in f32 in memory that is freed after
/// both. The rewriter stands before `op`.
void separateQuantization(mlir::RewriterBase &rewriter, MatmulOp op);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SEPARATEQUANTIZATION_H
