//===- CodedWeights.h - Weights that only sm_90a decodes --------*- C++ -*-===//
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

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_CODEDWEIGHTS_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_CODEDWEIGHTS_H

#include "nvfp4/Strategy/GpuNames.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace nvfp4::gsg {

/// target_c8: why `target` (none: a CPU) cannot execute the product `op`, in
/// either form, for its weights; empty for weights that are not coded, and for
/// other operations.
std::string explainCodedWeights(mlir::Operation *op,
                                std::optional<strategy::KernelTarget> target);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_CODEDWEIGHTS_H
