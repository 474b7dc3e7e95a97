//===- StablehloToGsg.h - Exporters' output to products ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline `stablehlo-to-gsg`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_PIPELINES_STABLEHLOTOGSG_H
#define NVFP4_PIPELINES_STABLEHLOTOGSG_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace nvfp4 {

/// Options of `stablehlo-to-gsg`, those of `raise-to-grouped-scaled-gemm`.
struct StablehloToGsgOptions
    : mlir::PassPipelineOptions<StablehloToGsgOptions> {
  Option<bool> moveGlobalScales{
      *this, "move-global-scales",
      llvm::cl::desc("That of raise-to-grouped-scaled-gemm"),
      llvm::cl::init(false)};
  Option<bool> explain{*this, "explain",
                       llvm::cl::desc("That of raise-to-grouped-scaled-gemm"),
                       llvm::cl::init(false)};
};

/// Modules of StableHLO to linalg with products of the dialect: functions are
/// inlined, arguments of f4E2M1FN become packed bytes.
void buildStablehloToGsgPipeline(mlir::OpPassManager &pm,
                                 const StablehloToGsgOptions &options);

void registerStablehloToGsgPipeline();

} // namespace nvfp4

#endif // NVFP4_PIPELINES_STABLEHLOTOGSG_H
