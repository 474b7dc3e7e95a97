//===- TosaProduct.h - TOSA's block-scaled product --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tosa.matmul_t_block_scaled` as a contraction of linalg.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_TOSAPRODUCT_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_TOSAPRODUCT_H

#include "mlir/IR/PatternMatch.h"

#include <optional>
#include <string>

namespace nvfp4::gsg {

/// Adds the pattern that writes `tosa.matmul_t_block_scaled` out as a
/// `linalg.generic` which other patterns make a product of.
void populateWriteOutTosaProductPatterns(mlir::RewritePatternSet &patterns);

/// Why that pattern leaves `op` as it is; nothing if it would match, or if `op`
/// is another operation.
std::optional<std::string> explainTosaProduct(mlir::Operation *op);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_TOSAPRODUCT_H
