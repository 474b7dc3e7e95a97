//===- Passes.h - Passes within warpspec ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_H
#define NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace nvfp4::warpspec {

#define GEN_PASS_DECL
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"

} // namespace nvfp4::warpspec

#endif // NVFP4_DIALECT_WARPSPEC_TRANSFORMS_PASSES_H
