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
#include "nvfp4/KernelTarget/KernelTarget.h"

#include <string>

namespace nvfp4::gsg {

using strategy::KernelTarget;

/// The target called `name`; an error at `op` that lists the targets if there
/// is none.
mlir::FailureOr<const KernelTarget *> getKernelTarget(mlir::Operation *op,
                                                      llvm::StringRef name);

/// The gpu.module of all kernels of a module.
inline constexpr llvm::StringLiteral kKernelModule = "nvfp4_kernels";

/// Whether kernels can compute `op`, which is on scalars, and for messages all
/// that they can.
bool runsInKernels(mlir::Operation &op);
inline constexpr llvm::StringLiteral kOperationsOfKernels =
    "operations of arith other than remf, maxnumf and minnumf on f16, bf16, "
    "f32, f64 and integers of at most 64 bits, or exp, exp2, log, tanh, erf, "
    "sqrt, rsqrt, absf, floor, ceil and fma of math on f32";

/// Why GPU targets have no kernel for `op`, as the text of an error; empty if
/// they have one. The kernels of operations that are no products run on
/// operands that are on the device already.
std::string explainNoDeviceCode(mlir::Operation *op);

/// Why kernels do not quantise the result of `op`: its blocks cross the rows or
/// the tiles of threads, or its scales lie as no kernel stores them. Empty if
/// they do, or if it is not quantised.
std::string explainSeparateResult(MatmulOp op);

/// Why kernels do not make `copy` of the result of `op`; empty if they do.
std::string explainSeparateCopy(MatmulOp op, const ProductCopy &copy);

/// The rows that a tile begins at a multiple of within its group: those of the
/// largest block of a copy of `op` that lies along rows; 1 without.
int64_t getRowBlock(MatmulOp op);

/// Gate layouts in runs of powers of two, for messages: `1, 2, 4 or 8`.
std::string listGateRuns(int64_t least, int64_t most);

/// What kernels do not support of `op`, and the nearest form that they do;
/// empty if they can do all of it. Gate layouts are those that
/// gsg-assign-scale-layout left.
std::string findUnsupportedByKernels(MatmulOp op, const KernelTarget &target);

/// The same of a list that is one kernel.
std::string findUnsupportedByKernels(MatmulListOp op);

/// An error at `op`: that kernels do not support `what`.
mlir::InFlightDiagnostic refuseKernel(mlir::Operation *op,
                                      const KernelTarget &target,
                                      const llvm::Twine &what);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_KERNELSUPPORT_H
