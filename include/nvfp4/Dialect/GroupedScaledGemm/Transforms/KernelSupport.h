//===- KernelSupport.h - Products that have kernels -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convert-gsg-to-warpspec leaves out whatever the tile, of products that
// gsg-verify-target, gsg-split-list, gsg-separate-quantization and
// gsg-assign-scale-layout have passed.
// The choice of a strategy asks as well, so that none is named for what gets no
// kernel.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Strategy/GpuNames.h"

#include <string>

namespace nvfp4::gsg {

using strategy::KernelTarget;

/// The one that the GPU `target` runs; an error at `op` that lists the GPUs if
/// it is none of them.
mlir::FailureOr<KernelTarget> getKernelTarget(mlir::Operation *op,
                                              llvm::StringRef target);

/// Whether GPU targets execute `op` on the device: operations that become
/// kernels. The others run on the host.
bool hasDeviceCode(mlir::Operation *op);

/// Kernels do not quantise the result of `op`: its blocks cross the rows or the
/// tiles of threads, or its scales lie as no kernel stores them.
bool needsSeparateQuantization(MatmulOp op);

/// What kernels do not support of `op`, and the nearest form that they do;
/// empty if they can do all of it. Gate layouts are those that
/// gsg-assign-scale-layout left.
std::string findUnsupportedByKernels(MatmulOp op, KernelTarget target);

/// The same of a list that is one kernel, on sm_100a.
std::string findUnsupportedByKernels(MatmulListOp op);

/// An error at `op`: that kernels do not support `what`.
mlir::InFlightDiagnostic refuseKernel(mlir::Operation *op, KernelTarget target,
                                      const llvm::Twine &what);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H
