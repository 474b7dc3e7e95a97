//===- KernelContext.h - What a kernel is built from ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builder, the product and the parameters of one kernel. Nothing here
// changes while the kernel is built: what differs from tile to tile is passed,
// as a TileState.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELCONTEXT_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELCONTEXT_H

#include "KernelMath.h"
#include "KernelParameters.h"

namespace nvfp4::gsg::kernels {

class KernelContext : public KernelMath {
public:
  /// Groups along K begin at multiples of `groupStage` elements.
  KernelContext(Launch &launch, MatmulOp op, const KernelParameters &parameters,
                int64_t groupStage)
      : KernelMath(launch.device, op.getLoc()), parameters(parameters),
        groupStage(groupStage), op(op), kernel(launch.getKernel()) {}

  MatmulOp getOp() const { return op; }
  warpspec::KernelOp getKernel() const { return kernel; }

  const KernelParameters &parameters;
  const int64_t groupStage;

private:
  MatmulOp op;
  warpspec::KernelOp kernel;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELCONTEXT_H
