//===- OuterGate.h - Gate layout of columns that stay -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gsg-assign-scale-layout moves weights and bias to another gate layout, and
// leaves the columns of `addend` and `preact_outs` where they are. The product
// then says so by an attribute, which convert-gsg-to-warpspec reads. The
// verifier of `matmul` checks it (matmul_c41); what does not know it must
// refuse it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OUTERGATE_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OUTERGATE_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// Names the gate layout of `addend` and `preact_outs` of a `matmul` where it
/// is not that of the activation: a `gate` attribute.
inline constexpr llvm::StringLiteral kOuterGateAttrName =
    "grouped_scaled_gemm.outer_gate";

/// That layout of a verified product; null if it has no other.
inline GateAttr getOuterGate(MatmulOp op) {
  return op->getAttrOfType<GateAttr>(kOuterGateAttrName);
}

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OUTERGATE_H
