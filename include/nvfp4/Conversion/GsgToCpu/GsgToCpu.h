//===- GsgToCpu.h - convert-gsg-to-cpu --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of the pass, for other passes to use.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOCPU_GSGTOCPU_H
#define NVFP4_CONVERSION_GSGTOCPU_GSGTOCPU_H

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace nvfp4::gsg::cpu {

/// Adds the lowerings of all operations. They match operations in storage form
/// on memrefs and add functions to the module; code is made for each of `isas`
/// (not empty), chosen at run time if there are several. Apply
/// populateSeparateMatmulPatterns first.
void populateGsgToCpuPatterns(mlir::RewritePatternSet &patterns,
                              llvm::ArrayRef<Isa> isas);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_CONVERSION_GSGTOCPU_GSGTOCPU_H
