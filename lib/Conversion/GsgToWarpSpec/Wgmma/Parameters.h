//===- Parameters.h - What a kernel for wgmma is given ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows and weights in the forms that the host brings them to, beside the common
// parameters.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PARAMETERS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PARAMETERS_H

#include "../Common/KernelParameters.h"
#include "Plan.h"

namespace nvfp4::gsg::wgmma {

struct Parameters {
  kernels::KernelParameters common;
  /// Empty where problems have their own.
  llvm::SmallVector<mlir::Value> tokenMaps;
  /// Bytes of coded weights; f32 by which the products of each matrix are to be
  /// multiplied, null if it is 128 for all. Those of the first problem where
  /// problems have their own.
  mlir::Value weights, factors;
};

/// Gives the kernel of `op` its parameters. `blocks` becomes a bound of the
/// number of tiles.
Parameters addParameters(kernels::Launch &launch, const Plan &plan, MatmulOp op,
                         kernels::HostNumber &blocks);

/// The same for the problems of `list`, of which `op` is the first.
Parameters addListParameters(kernels::Launch &launch, const Plan &plan,
                             MatmulListOp list, MatmulOp op,
                             kernels::HostNumber &blocks);

/// Pointers to packed weights.
void addWeights(kernels::Launch &launch, const Plan &plan,
                const kernels::Launch::CodedWeights &weights,
                Parameters &parameters);

} // namespace nvfp4::gsg::wgmma

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PARAMETERS_H
