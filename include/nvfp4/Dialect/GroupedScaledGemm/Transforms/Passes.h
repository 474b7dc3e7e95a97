//===- Passes.h - Passes of the tensor level --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes of the tensor level, by their generated constructors and options,
// and their patterns for compilers that mix them with others.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace nvfp4::gsg {

class MatmulOp;
class MatmulListOp;

#define GEN_PASS_DECL
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"

/// Adds the 1:N conversion of `scaled` to the tensors of its storage.
void populateDecomposeScaledTypeConversion(mlir::TypeConverter &converter);

/// Adds the patterns that put the dialect's ops into storage form.
void populateDecomposeScaledPatterns(const mlir::TypeConverter &converter,
                                     mlir::RewritePatternSet &patterns);

/// Adds the patterns of gsg-fuse-epilogue.
void populateFuseEpiloguePatterns(mlir::RewritePatternSet &patterns);

/// Applies gsg-expand-epilogue to one product; does nothing if it is expanded.
void expandEpilogue(MatmulOp op);
void expandEpilogue(MatmulListOp op);
/// An error if `op` is a product whose epilogue is not expanded.
mlir::LogicalResult verifyExpanded(mlir::Operation *op);

#define GEN_PASS_REGISTRATION
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_H
