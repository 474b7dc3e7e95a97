//===- Patterns.h - Operations as parallel loops ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each family of operations that CPUs and GPUs share the code
// of. The patterns match operations in storage form on memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_PATTERNS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_PATTERNS_H

namespace mlir {
class RewriterBase;
class RewritePatternSet;
} // namespace mlir

namespace nvfp4::gsg {
class OneLaunchOp;
} // namespace nvfp4::gsg

namespace nvfp4::gsg::loops {

/// `quantize`, `dequantize`: those on memory of a device, or of the host. With
/// `checksData` kernels check what they read (DataChecks.h).
void populateQuantizationPatterns(mlir::RewritePatternSet &patterns,
                                  bool onDevice, bool checksData = false);

/// Replaces a `one_launch` of `permute` and `quantize` on memory of a device.
void lowerPermuteAndQuantize(mlir::RewriterBase &rewriter, OneLaunchOp launch,
                             bool checksData);

/// Replaces a `one_launch` of two `quantize`, of the rows and the columns of a
/// matrix on a device.
void lowerBothDirections(mlir::RewriterBase &rewriter, OneLaunchOp launch,
                         bool checksData);

/// `relayout_scales`, `relayout_gate`: those on memory of a device, or of the
/// host.
void populateRelayoutPatterns(mlir::RewritePatternSet &patterns, bool onDevice,
                              bool checksData = false);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_PATTERNS_H
