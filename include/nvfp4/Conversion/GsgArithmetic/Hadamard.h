//===- Hadamard.h - 16-point transforms -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transform of `hadamard` on f32, which every code emits alike.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_HADAMARD_H
#define NVFP4_CONVERSION_GSGARITHMETIC_HADAMARD_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"

namespace nvfp4::gsg::arithmetic {

/// Transforms runs of 16 lanes of `x`, a vector<16n x f32>.
mlir::Value emitHadamard(MathBuilder &mb, mlir::Value x, bool normalized,
                         uint32_t signMask);

/// Transforms 16 values in place, numbers or vectors of them.
void emitHadamard(MathBuilder &mb, llvm::MutableArrayRef<mlir::Value> x,
                  bool normalized, uint32_t signMask);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_HADAMARD_H
