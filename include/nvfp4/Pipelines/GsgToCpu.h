//===- GsgToCpu.h - grouped_scaled_gemm to the LLVM dialect -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline `gsg-to-cpu` and its stages, each of which can be run alone. The
// order of the stages is the order of the functions here.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_PIPELINES_GSGTOCPU_H
#define NVFP4_PIPELINES_GSGTOCPU_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>

namespace nvfp4 {

/// Options of `gsg-to-cpu`.
struct GsgToCpuOptions : mlir::PassPipelineOptions<GsgToCpuOptions> {
  ListOption<std::string> isas{
      *this, "isa",
      llvm::cl::desc(
          "Instruction sets of the kernels: generic, avx2, "
          "avx512vnni, avx512bf16, amx, or auto for the fastest here; with "
          "several the runtime chooses, and all give the same bits "
          "(default: auto)")};
  Option<bool> threads{
      *this, "threads",
      llvm::cl::desc("Run parallel loops on OpenMP threads; false: one thread"),
      llvm::cl::init(true)};
  Option<bool> runtimeChecks{
      *this, "runtime-checks",
      llvm::cl::desc("Check group offsets, indices and dynamic extents where "
                     "the code runs; it then calls the runtime (default: "
                     "false)"),
      llvm::cl::init(false)};
};

/// Tensors of scaled values to plain tensors in storage form, and the
/// description of the entry points, whose tensors are in `memory` (host or
/// device). `explain` adds remarks.
void buildDecomposePipeline(mlir::OpPassManager &pm,
                            llvm::StringRef target = "cpu",
                            llvm::StringRef memory = "host",
                            bool explain = false);

/// Tensors to memrefs with every allocation freed; results of entry points
/// belong to the caller.
void buildBufferizePipeline(mlir::OpPassManager &pm);

/// Operations of the dialect on memrefs to loops and calls of vector code for
/// `isas`.
void buildConvertToLoopsPipeline(mlir::OpPassManager &pm,
                                 llvm::ArrayRef<std::string> isas);

/// Upstream dialects on memrefs to the LLVM dialect (and `omp`, with threads).
void buildLowerToLLVMPipeline(mlir::OpPassManager &pm, bool threads);

/// All of `gsg-to-cpu`.
void buildGsgToCpuPipeline(mlir::OpPassManager &pm,
                           const GsgToCpuOptions &options);

/// Registers the pipelines of this library.
void registerPipelines();

} // namespace nvfp4

#endif // NVFP4_PIPELINES_GSGTOCPU_H
