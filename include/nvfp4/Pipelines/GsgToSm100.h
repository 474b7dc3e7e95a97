//===- GsgToSm100.h - Products to kernels for Blackwell ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline `gsg-to-sm100`: products become kernels, all else code for the
// host that starts them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_PIPELINES_GSGTOSM100_H
#define NVFP4_PIPELINES_GSGTOSM100_H

#include "nvfp4/Pipelines/GsgToCpu.h"

namespace nvfp4 {

/// Options of `gsg-to-sm100`: those of the host's code, and the GPU.
struct GsgToSm100Options : GsgToCpuOptions {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("The GPU: sm_100a, sm_103a or sm_100f; sm_90a for "
                     "gsg-to-sm90"),
      llvm::cl::init("sm_100a")};
  Option<int64_t> expectedRows{
      *this, "expected-rows",
      llvm::cl::desc("Rows of all groups to choose tiles for where only the "
                     "device knows them, 0 for no hint"),
      llvm::cl::init(0)};
  Option<int64_t> multiprocessors{
      *this, "multiprocessors",
      llvm::cl::desc("Multiprocessors to choose tiles for, 0 for those of the "
                     "largest device"),
      llvm::cl::init(0)};
  Option<std::string> memory{
      *this, "memory",
      llvm::cl::desc("Where arguments and results of functions are: host, or "
                     "device for code that copies nothing"),
      llvm::cl::init("host")};
  Option<int64_t> versions{
      *this, "versions",
      llvm::cl::desc(
          "Kernels for few and for many rows of a product whose rows "
          "are known only when it runs, at most; 1 for none"),
      llvm::cl::init(1)};
  Option<bool> fuseLaunches{
      *this, "fuse-launches",
      llvm::cl::desc("One launch for operations beside products where it is "
                     "predicted to be faster, on memory of the device"),
      llvm::cl::init(true)};
  Option<bool> assemble{
      *this, "assemble",
      llvm::cl::desc("Machine code beside the PTX; needs NVIDIA's ptxas"),
      llvm::cl::init(false)};
  Option<bool> verify{
      *this, "verify",
      llvm::cl::desc("Check the schedule of kernels after every pass"),
      llvm::cl::init(true)};
};

/// Options of `gsg-to-sm90`: the same, for the one GPU.
struct GsgToSm90Options : GsgToSm100Options {
  GsgToSm90Options() { target = "sm_90a"; }
};

/// Up to the choice of strategies: products on memrefs with the layouts of
/// kernels, each with a strategy. `explain` adds remarks.
void buildSelectKernelsPipeline(mlir::OpPassManager &pm,
                                const GsgToSm100Options &options,
                                bool explain = false);

/// The part that is the same for all outputs: afterwards a `gpu.module` holds
/// kernels in the LLVM and NVVM dialects, and products are calls that start
/// them.
void buildGsgToKernelsPipeline(mlir::OpPassManager &pm,
                               const GsgToSm100Options &options);

/// All of `gsg-to-sm100`: the kernels as constants of code in the LLVM dialect.
void buildGsgToSm100Pipeline(mlir::OpPassManager &pm,
                             const GsgToSm100Options &options);

/// Registers `gsg-to-sm100`, `gsg-to-sm90`, and the same with `-kernels`.
void registerGsgToSm100Pipeline();

} // namespace nvfp4

#endif // NVFP4_PIPELINES_GSGTOSM100_H
