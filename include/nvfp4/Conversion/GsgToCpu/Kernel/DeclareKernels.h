//===- DeclareKernels.h - kernels that somebody else gives ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a module asks for declarations of kernels in place of their bodies.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOCPU_KERNEL_DECLAREKERNELS_H
#define NVFP4_CONVERSION_GSGTOCPU_KERNEL_DECLAREKERNELS_H

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

namespace nvfp4::gsg::cpu {

/// A unit attribute of a module in which getOrEmitKernels only declares, as
/// hidden functions, what it is asked for.
inline constexpr llvm::StringLiteral kDeclareKernels =
    "grouped_scaled_gemm.declare_kernels";

/// Whether the library has a kernel: for all pairs of formats, and for rows of
/// bf16 or f16 by NVFP4 and MXFP4. Others are emitted all the same.
inline bool isCompiledAhead(const KernelSpec &spec) {
  return spec.rows == PlainRows::None || spec.hasCommonWeights();
}

/// What the names of all kernels and of their functions begin with.
inline constexpr llvm::StringLiteral kKernelPrefix = "nvfp4_cpu_";

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_CONVERSION_GSGTOCPU_KERNEL_DECLAREKERNELS_H
