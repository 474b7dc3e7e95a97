//===- Passes.h - Conversions -----------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes from the dialect to a target. Constructors and options are generated
// from Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_PASSES_H
#define NVFP4_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace nvfp4 {

#define GEN_PASS_DECL
#include "nvfp4/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/Passes.h.inc"

} // namespace nvfp4

#endif // NVFP4_CONVERSION_PASSES_H
