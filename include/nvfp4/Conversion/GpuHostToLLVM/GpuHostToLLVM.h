//===- GpuHostToLLVM.h - The host's side of kernels to LLVM -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GPUHOSTTOLLVM_GPUHOSTTOLLVM_H
#define NVFP4_CONVERSION_GPUHOSTTOLLVM_GPUHOSTTOLLVM_H

#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"

#include "mlir/Pass/Pass.h"

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace nvfp4 {

/// The patterns of convert-gpu-host-to-llvm that upstream lacks, to stand
/// beside populateGpuToLLVMConversionPatterns. Texts are added to `texts`,
/// which lives as long as the patterns do. Memrefs of the host's functions have
/// no memory space any more.
void populateGpuHostToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns,
                                   gsg::checks::CheckModule &texts);

#define GEN_PASS_DECL
#include "nvfp4/Conversion/GpuHostToLLVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/GpuHostToLLVM/Passes.h.inc"

} // namespace nvfp4

#endif // NVFP4_CONVERSION_GPUHOSTTOLLVM_GPUHOSTTOLLVM_H
