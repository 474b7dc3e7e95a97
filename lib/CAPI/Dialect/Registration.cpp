//===- Registration.cpp - Dialects and passes for C -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dialect handles, and everything that InitAll registers.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/Registration.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/InitAll.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(GroupedScaledGemm, grouped_scaled_gemm,
                                      nvfp4::gsg::GroupedScaledGemmDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(WarpSpec, warpspec,
                                      nvfp4::warpspec::WarpSpecDialect)

void nvfp4RegisterAllDialects(MlirDialectRegistry registry) {
  nvfp4::registerAllDialects(*unwrap(registry));
}

void nvfp4RegisterAllPasses(void) {
  [[maybe_unused]] static const bool registered =
      (nvfp4::registerAllPasses(), true);
}
