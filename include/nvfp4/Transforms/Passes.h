//===- Passes.h - Passes on upstream dialects -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that the pipelines need between upstream passes. They do not depend on
// grouped_scaled_gemm.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TRANSFORMS_PASSES_H
#define NVFP4_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace nvfp4 {

#define GEN_PASS_DECL
#include "nvfp4/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Transforms/Passes.h.inc"

} // namespace nvfp4

#endif // NVFP4_TRANSFORMS_PASSES_H
