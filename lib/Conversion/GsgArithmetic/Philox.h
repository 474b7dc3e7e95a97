//===- Philox.h - counter-based random numbers in vectors -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// format::Philox for consecutive elements, one per lane. The words equal those
// of the formats library for the same seed and element.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGARITHMETIC_PHILOX_H
#define NVFP4_LIB_CONVERSION_GSGARITHMETIC_PHILOX_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"

namespace nvfp4::gsg::arithmetic {

/// Philox{seed, 0}.uniform(first + lane) as vector<lanes x f32>; seed and first
/// are i64 scalars.
mlir::Value emitPhiloxUniform(MathBuilder &mb, mlir::Value seed,
                              mlir::Value first, int64_t lanes);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_LIB_CONVERSION_GSGARITHMETIC_PHILOX_H
