/*===- nvfp4-c/Registration.h - Dialects and passes for C -----------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * For compilers that drive MLIR through its C API: our dialects for their
 * context, our passes and pipelines for their pass managers. libNVFP4Compiler
 * holds MLIR's C API as well (mlir-c/IR.h, mlir-c/Pass.h and what belongs to
 * them), which Debian has as static archives only.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_REGISTRATION_H
#define NVFP4_C_REGISTRATION_H

#include <mlir-c/IR.h>

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__grouped_scaled_gemm__(), for
 * mlirDialectHandleRegisterDialect and its like. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(GroupedScaledGemm, grouped_scaled_gemm);

/* mlirGetDialectHandle__warpspec__(): kernels on their way to PTX. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(WarpSpec, warpspec);

/* Inserts our dialects, the models that bufferization and the translation to
 * LLVM IR need, and nothing of upstream's: our pipelines also need upstream's
 * dialects (nvfp4ContextCreate of Compiler.h makes a context with all). */
MLIR_CAPI_EXPORTED void nvfp4RegisterAllDialects(MlirDialectRegistry registry);

/* Makes our passes and pipelines known to mlirParsePassPipeline and
 * mlirOpPassManagerAddPipeline, by the names of docs/Passes.md and
 * `gsg-to-cpu`, `gsg-to-sm100`, `warpspec-to-nvvm`. May be called again and
 * from any thread. */
MLIR_CAPI_EXPORTED void nvfp4RegisterAllPasses(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_REGISTRATION_H */
