//===- WarpSpecToNVVM.h - warpspec to upstream dialects ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H
#define NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace nvfp4::warpspec {

#define GEN_PASS_DECL
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"

} // namespace nvfp4::warpspec

#endif // NVFP4_CONVERSION_WARPSPECTONVVM_WARPSPECTONVVM_H
