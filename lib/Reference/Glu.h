//===- Glu.h - The gradient of an activation --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of one row, for glu_backward and for products with gradient_of.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_GLU_H
#define NVFP4_LIB_REFERENCE_GLU_H

#include "Activation.h"

#include <optional>

namespace nvfp4::reference {

/// Writes the gradient dz of an activation with respect to its input z, both in
/// the columns of z: gate and up where `pairs` says, which is empty for
/// activations of one value. `dy`, f32, has a number for each column of the
/// activation; `prob` is a factor of the row. Returns the gradient of this
/// factor, the sum of dy times the activation in f64, rounded once.
Real computeGradientOfRow(const ActivationParams &params,
                          const PairedColumns &pairs, llvm::ArrayRef<Real> z,
                          llvm::ArrayRef<Real> dy, std::optional<Real> prob,
                          llvm::MutableArrayRef<Real> dz);

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_GLU_H
