//===- StablehloToLinalg.h - Exporters' output as linalg --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_STABLEHLOTOLINALG_STABLEHLOTOLINALG_H
#define NVFP4_CONVERSION_STABLEHLOTOLINALG_STABLEHLOTOLINALG_H

#include "mlir/Pass/Pass.h"

namespace nvfp4 {

#define GEN_PASS_DECL
#include "nvfp4/Conversion/StablehloToLinalg/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/StablehloToLinalg/Passes.h.inc"

} // namespace nvfp4

#endif // NVFP4_CONVERSION_STABLEHLOTOLINALG_STABLEHLOTOLINALG_H
