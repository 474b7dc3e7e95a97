//===- ProductChecks.h - Products that check their data ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block 0 checks offsets, global scale and factors, in the role that would only
// wait for its first tile meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PRODUCTCHECKS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PRODUCTCHECKS_H

#include "KernelContext.h"

namespace nvfp4::gsg::kernels {

/// Parameters of the kernel for the checks of `op`, if it has any.
void addDataChecks(Launch &launch, MatmulOp op, KernelParameters &p);

/// In a role of `threads` threads: the checks, in block 0.
void emitDataChecks(const KernelContext &context, int64_t threads);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PRODUCTCHECKS_H
