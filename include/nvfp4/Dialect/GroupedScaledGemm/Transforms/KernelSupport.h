//===- KernelSupport.h - Products that have kernels -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convert-gsg-to-warpspec leaves out whatever the tile. The choice of a
// strategy asks as well, so that none is named for what gets no kernel.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include <string>

namespace nvfp4::gsg {

/// What kernels for `target` (sm_90a, or anything else for tcgen05) do not
/// support of `op`, and the nearest form that they do, to be put behind
/// "kernels for ... do not support "; empty if they can do all of it. Gate
/// layouts are those that gsg-assign-scale-layout left.
std::string findUnsupportedByKernels(MatmulOp op, llvm::StringRef target);

/// The same of a list that is one kernel, on sm_100a.
std::string findUnsupportedByKernels(MatmulListOp op);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H
