//===- OpLowerings.h - Patterns of convert-gsg-to-cpu -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each family of operations; convert-gsg-to-cpu adds them
// all. The patterns match operations in storage form on memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOCPU_LOWER_OPLOWERINGS_H
#define NVFP4_CONVERSION_GSGTOCPU_LOWER_OPLOWERINGS_H

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace nvfp4::gsg::cpu {

/// `matmul`, and `matmul_list` by itself, for the instruction sets `isas`.
void populateMatmulToCpuPatterns(mlir::RewritePatternSet &patterns,
                                 llvm::ArrayRef<Isa> isas);
void populateMatmulListToCpuPatterns(mlir::RewritePatternSet &patterns,
                                     llvm::ArrayRef<Isa> isas);

/// Moves what tiles do not do from a `matmul` into operations beside it: blocks
/// along rows of the result, and groups along K that start within four tiled
/// scales. Its lowering refuses both.
void populateSeparateMatmulPatterns(mlir::RewritePatternSet &patterns);

/// `sort_tokens`, `permute`, `combine`.
void populatePermutationToCpuPatterns(mlir::RewritePatternSet &patterns);

/// `relayout_weights`.
void populateRelayoutWeightsToCpuPatterns(mlir::RewritePatternSet &patterns);

/// `glu`, `hadamard`.
void populateActivationToCpuPatterns(mlir::RewritePatternSet &patterns);

/// `amax`.
void populateAmaxToCpuPatterns(mlir::RewritePatternSet &patterns);

/// `sum_rows`.
void populateSumRowsToCpuPatterns(mlir::RewritePatternSet &patterns);

/// `route`.
void populateRoutingToCpuPatterns(mlir::RewritePatternSet &patterns);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_CONVERSION_GSGTOCPU_LOWER_OPLOWERINGS_H
