//===- WarpSpecToNVVM.h - warpspec to upstream dialects ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H
#define NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

namespace nvfp4::warpspec {

class KernelAnalysis;

/// Types of `warpspec` to those of LLVM: fills and drains become stages, a
/// buffer its address, a pipeline the addresses of its buffers, each i32;
/// tensor maps become pointers. A memref in global memory stays; as a parameter
/// of a kernel it is made from a pointer.
void populateWarpSpecToNVVMTypeConversions(mlir::TypeConverter &converter);

/// One pattern for each operation that kernels have after
/// `warpspec-lower-roles`. `converter` has the conversions above; `kernels`,
/// made before anything is converted, must outlive the patterns.
void populateWarpSpecToNVVMConversionPatterns(
    const mlir::TypeConverter &converter, const KernelAnalysis &kernels,
    mlir::RewritePatternSet &patterns);

/// No value of `warpspec` is legal, and no operation but `kernel_info`.
void configureWarpSpecToNVVMConversionTarget(
    const mlir::TypeConverter &converter, mlir::ConversionTarget &target);

/// The same patterns by family. Kernels themselves, and the operations of other
/// dialects that pass on values of `warpspec`:
void populateKernelToNVVMPatterns(const mlir::TypeConverter &converter,
                                  const KernelAnalysis &kernels,
                                  mlir::RewritePatternSet &patterns);
/// Buffers, loads and stores, flags:
void populateMemoryToNVVMPatterns(const mlir::TypeConverter &converter,
                                  const KernelAnalysis &kernels,
                                  mlir::RewritePatternSet &patterns);
/// Tensor maps and copies by TMA:
void populateTmaToNVVMPatterns(const mlir::TypeConverter &converter,
                               const KernelAnalysis &kernels,
                               mlir::RewritePatternSet &patterns);
/// Pipelines, hand-over and fences:
void populateHandOverToNVVMPatterns(const mlir::TypeConverter &converter,
                                    const KernelAnalysis &kernels,
                                    mlir::RewritePatternSet &patterns);
/// `tcgen05`:
void populateTensorCoreToNVVMPatterns(const mlir::TypeConverter &converter,
                                      const KernelAnalysis &kernels,
                                      mlir::RewritePatternSet &patterns);
/// Weights decoded for tensor memory:
void populateDecodeCodesToNVVMPatterns(const mlir::TypeConverter &converter,
                                       const KernelAnalysis &kernels,
                                       mlir::RewritePatternSet &patterns);
/// Weights decoded in registers, for `wgmma`:
void populateDecodedToNVVMPatterns(const mlir::TypeConverter &converter,
                                   const KernelAnalysis &kernels,
                                   mlir::RewritePatternSet &patterns);
/// The fragments that they leave:
void populateFragmentToNVVMPatterns(const mlir::TypeConverter &converter,
                                    const KernelAnalysis &kernels,
                                    mlir::RewritePatternSet &patterns);

#define GEN_PASS_DECL
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"

} // namespace nvfp4::warpspec

#endif // NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H
