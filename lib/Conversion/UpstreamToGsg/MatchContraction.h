//===- MatchContraction.h - Products that contractions are ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MATCHCONTRACTION_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MATCHCONTRACTION_H

#include "GroupLoop.h"
#include "ScaledContraction.h"

#include "nvfp4/Conversion/UpstreamToGsg/UpstreamToGsg.h"

namespace nvfp4::gsg {

/// The contraction in `op`, a choice of its results by experts, that both are
/// one product of; null if there is none.
mlir::Operation *findChosen(mlir::linalg::LinalgOp op,
                            const RaiseOptions &options);

/// The product that `op` is. Without one, `reason` says why if an operand has
/// 4- or 8-bit floating point numbers, and is empty otherwise.
std::optional<ScaledContraction> matchContraction(mlir::linalg::LinalgOp op,
                                                  const RaiseOptions &options,
                                                  std::string &reason);

/// The operation of the same block that adds a bias to the results of `op`,
/// which has no other use; null if there is none.
mlir::linalg::LinalgOp findAdder(mlir::linalg::LinalgOp op);

/// The product that `op` and `adder` are.
std::optional<ScaledContraction> matchBiased(mlir::linalg::LinalgOp op,
                                             mlir::linalg::LinalgOp adder,
                                             const RaiseOptions &options);

/// The same of a loop over parts of K, as one product. The operands lie outside
/// the loop.
std::optional<ScaledContraction> matchContraction(const DepthLoop &depth,
                                                  const RaiseOptions &options,
                                                  std::string &reason);

/// The same of a loop over groups, as one product. The operands lie outside the
/// loop.
std::optional<ScaledContraction> matchContraction(const GroupLoop &groups,
                                                  const RaiseOptions &options,
                                                  std::string &reason);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_MATCHCONTRACTION_H
