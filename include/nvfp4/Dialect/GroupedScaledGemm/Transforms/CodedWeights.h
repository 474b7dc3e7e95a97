//===- CodedWeights.h - Weights that few targets decode ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What other targets say of weights that relayout_weights has coded, in one
// wording wherever it is found out.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_CODEDWEIGHTS_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_CODEDWEIGHTS_H

#include "mlir/IR/Operation.h"

#include <string>

namespace nvfp4::strategy {
class KernelTarget;
} // namespace nvfp4::strategy

namespace nvfp4::gsg {

/// target_c8: why `target` (null: a CPU) cannot execute the product `op`, in
/// either form, for its weights; empty for weights that are not coded, and for
/// other operations.
std::string explainCodedWeights(mlir::Operation *op,
                                const strategy::KernelTarget *target);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_CODEDWEIGHTS_H
