//===- UpstreamToGsg.h - From upstream's spelling to ours -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions of dequantised values become products of scaled values: the pass
// `raise-to-grouped-scaled-gemm`, its pattern for other passes, and the reason
// why an operation is left as it is.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_UPSTREAMTOGSG_UPSTREAMTOGSG_H
#define NVFP4_CONVERSION_UPSTREAMTOGSG_UPSTREAMTOGSG_H

#include "mlir/Pass/Pass.h"

#include <optional>
#include <string>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace nvfp4::gsg {

/// What `raise-to-grouped-scaled-gemm` may do.
struct RaiseOptions {
  /// A factor that is one number a matrix (the second-level scale of NVFP4)
  /// becomes `alpha`: applied once to each sum, and no longer rounded into each
  /// dequantised value.
  bool moveGlobalScales = false;
};

/// Adds the patterns of `raise-to-grouped-scaled-gemm`. They match operations
/// of linalg on tensors, and loops of them if the driver comes to a loop before
/// it comes to its body; what is dead afterwards is left to the driver.
void populateRaiseToGroupedScaledGemmPatterns(mlir::RewritePatternSet &patterns,
                                              const RaiseOptions &options = {});

/// Why the pattern leaves `op` as it is; nothing if it would match, or if `op`
/// is neither a sum over products of 4- or 8-bit floating point numbers nor
/// works on the elements of what a raised product computes.
std::optional<std::string> explainNotRaised(mlir::Operation *op,
                                            const RaiseOptions &options = {});

#define GEN_PASS_DECL
#include "nvfp4/Conversion/UpstreamToGsg/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/UpstreamToGsg/Passes.h.inc"

} // namespace nvfp4::gsg

#endif // NVFP4_CONVERSION_UPSTREAMTOGSG_UPSTREAMTOGSG_H
