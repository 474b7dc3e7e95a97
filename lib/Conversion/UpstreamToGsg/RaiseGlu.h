//===- RaiseGlu.h - SwiGLU after a product ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU that is written out on the columns of a product becomes `glu`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_RAISEGLU_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_RAISEGLU_H

#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {

/// Whether `value` is what a product computes, perhaps in another shape.
bool isOfProduct(mlir::Value value);

void populateRaiseGluPatterns(mlir::RewritePatternSet &patterns);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_RAISEGLU_H
