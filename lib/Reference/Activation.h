//===- Activation.h - Activations with error bounds -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The activation functions of `matmul` and `glu` in f32, and their gradients.
// Strict mathematics allows 4 units in the last place for exp and tanh, fast
// mathematics 64.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_ACTIVATION_H
#define NVFP4_LIB_REFERENCE_ACTIVATION_H

#include "nvfp4/Reference/Value.h"

namespace nvfp4::reference {

/// An activation with the numbers that may differ from group to group.
struct ActivationParams {
  gsg::ActivationKind kind = gsg::ActivationKind::Identity;
  /// exp and tanh are off by up to this many units in the last place.
  double ulps = 4.0;
  Real alpha{1.0, 0.0};
  Real beta{0.0, 0.0};
  Real limit{std::numeric_limits<double>::infinity(), 0.0};
  bool roundBf16 = false;
};

/// The parameters that the attribute gives.
ActivationParams makeActivation(gsg::ActivationAttr attr, gsg::MathMode math);

/// y of the pre-activation z, or of the gate z and its `up`, which activations
/// of one value do not read. Not for `custom`, which has no formula.
Real activate(const ActivationParams &p, Real z, Real up);

/// The gradient of t times the activation with respect to z, or to gate and up.
struct ActivationGradient {
  Real z, up;
};
ActivationGradient activationGradient(const ActivationParams &p, Real z,
                                      Real up, Real t);

/// Where gate and up columns of a tensor of `columns` columns lie; fails when
/// the granularity does not divide them.
struct PairedColumns {
  llvm::SmallVector<int64_t> gate;
  llvm::SmallVector<int64_t> up;
};
llvm::Expected<PairedColumns> pairColumns(gsg::GateAttr gate, int64_t columns);

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_ACTIVATION_H
