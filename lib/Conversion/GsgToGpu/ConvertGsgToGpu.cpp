//===- ConvertGsgToGpu.cpp - The pass convert-gsg-to-gpu --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One launch for each operation. What stands on memory of the host is left to
// the host.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgToGpu/GsgToGpu.h"
#include "nvfp4/Conversion/GsgToLoops/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_CONVERTGSGTOGPUPASS
#include "nvfp4/Conversion/GsgToGpu/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
struct ConvertGsgToGpu
    : nvfp4::gsg::impl::ConvertGsgToGpuPassBase<ConvertGsgToGpu> {
  using ConvertGsgToGpuPassBase::ConvertGsgToGpuPassBase;

  void runOnOperation() override {
    togpu::lowerOneLaunches(getOperation(), dataChecks);
    RewritePatternSet patterns(&getContext());
    togpu::populatePermutationPatterns(patterns, dataChecks);
    togpu::populateActivationPatterns(patterns, dataChecks);
    togpu::populateSumRowsPatterns(patterns, dataChecks);
    togpu::populateAmaxPatterns(patterns);
    togpu::populateSortTokensPatterns(patterns, dataChecks);
    togpu::populateRoutePatterns(patterns);
    togpu::populateStagingPatterns(patterns);
    togpu::populatePackingPatterns(patterns, dataChecks);
    loops::populateQuantizationPatterns(patterns, /*onDevice=*/true,
                                        dataChecks);
    loops::populateRelayoutPatterns(patterns, /*onDevice=*/true, dataChecks);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
