//===- GsgToGpu.h - Operations that are no products to kernels --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOGPU_GSGTOGPU_H
#define NVFP4_CONVERSION_GSGTOGPU_GSGTOGPU_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace nvfp4::gsg {

#define GEN_PASS_DECL
#include "nvfp4/Conversion/GsgToGpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Conversion/GsgToGpu/Passes.h.inc"

} // namespace nvfp4::gsg

#endif // NVFP4_CONVERSION_GSGTOGPU_GSGTOGPU_H
