//===- Parameters.h - What a kernel for tcgen05 is given --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maps by which TMA loads the operands, beside the common parameters.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PARAMETERS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PARAMETERS_H

#include "../Common/KernelParameters.h"
#include "Plan.h"

namespace nvfp4::gsg::tcgen05 {

/// Tensor maps of values and of scales; null where problems have their own.
struct OperandMaps {
  mlir::Value a, b, aScales, bScales;
};

struct Parameters {
  kernels::KernelParameters common;
  OperandMaps maps;
};

/// Gives the kernel of `op` its parameters. `blocks` becomes a bound of the
/// number of tiles.
Parameters addParameters(kernels::Launch &launch, const Plan &plan, MatmulOp op,
                         kernels::HostNumber &blocks);

/// The same of all problems of a list. `op` is its first problem, with the
/// factors of all.
Parameters addListParameters(kernels::Launch &launch, const Plan &plan,
                             MatmulListOp list, MatmulOp op,
                             kernels::HostNumber &blocks);

/// The maps of one problem, whose groups may lie along K.
OperandMaps addOperandMaps(kernels::Launch &launch, const Plan &plan,
                           kernels::HostNumber k, bool isAlongK = false);

/// Memory for the sums of parts of so many tiles, if K is cut. Returns a bound
/// of the number of blocks.
kernels::HostNumber addPartials(kernels::Launch &launch, const Plan &plan,
                                kernels::HostNumber tiles,
                                kernels::KernelParameters &p);

} // namespace nvfp4::gsg::tcgen05

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PARAMETERS_H
