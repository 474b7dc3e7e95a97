//===- GsgToCpu.cpp - grouped_scaled_gemm to the LLVM dialect ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stages of gsg-to-cpu, each as a list of passes. What the order of passes
// depends on is said where it matters.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Pipelines/GsgToCpu.h"

#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Target/Passes.h"
#include "nvfp4/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nvfp4::buildDecomposePipeline(OpPassManager &pm, StringRef target,
                                   StringRef memory, bool explain) {
  target::DeclareEntryPointsPassOptions declare;
  declare.target = target.str();
  declare.memory = memory.str();
  gsg::DecomposeGradientPassOptions gradient;
  gradient.explain = explain;
  pm.addPass(gsg::createDecomposeGradientPass(gradient));
  pm.addPass(gsg::createDecomposeExchangePass());
  pm.addPass(gsg::createFuseEpiloguePass());
  pm.addPass(gsg::createDecomposeScaledPass());
  pm.addPass(target::createDeclareEntryPointsPass(declare));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void nvfp4::buildBufferizePipeline(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  options.unknownTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(createConvertElementwiseToLinalgPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void nvfp4::buildConvertToLoopsPipeline(OpPassManager &pm,
                                        llvm::ArrayRef<std::string> isas) {
  pm.addPass(gsg::createOutlineRepeatedPass());
  pm.addPass(gsg::createExpandEpiloguePass());
  ConvertGsgToCpuPassOptions options;
  options.isas.assign(isas.begin(), isas.end());
  pm.addPass(createConvertGsgToCpuPass(options));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void nvfp4::buildLowerToLLVMPipeline(OpPassManager &pm, bool threads) {
  // What is left of structured operations.
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createForallToParallelLoopPass());
  pm.addPass(createLowerAffinePass());
  if (threads) {
    pm.addPass(createConvertSCFToOpenMPPass());
    pm.addPass(createShareCallPass());
    // Before control flow splits the bodies into blocks.
    pm.addPass(createInlineAllocaScopesPass());
  }
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());

  // bf16 is rounded by integer operations everywhere: hardware that converts
  // flushes subnormals, and results must not depend on the CPU.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  // Not f4E2M1FN, which would round ties away from zero and lose signs, and not
  // f8E8M0FNU, whose 2^-127 would be 0.
  pm.addPass(arith::createArithExpandOpsPass(expand));
  // Before vectors, of which libm takes the lanes one by one.
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertComplexToLLVMPass());
  // Before convert-openmp-to-llvm, which lowers memrefs too, with malloc.
  pm.addPass(createGuardAllocationsPass());
  FinalizeMemRefToLLVMConversionPassOptions memory;
  memory.useGenericFunctions = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
  if (threads)
    pm.addPass(createConvertOpenMPToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(target::createEmitEntryPointsPass());
  pm.addPass(target::createExportFunctionsPass());
}

void nvfp4::buildGsgToCpuPipeline(OpPassManager &pm,
                                  const GsgToCpuOptions &options) {
  // First, where operations still are as the user wrote them. The target of
  // gsg-verify-target is the CPU unless told otherwise.
  pm.addPass(gsg::createVerifyExtentsPass());
  pm.addPass(gsg::createVerifyTargetPass());
  buildDecomposePipeline(pm);
  buildBufferizePipeline(pm);
  std::vector<std::string> isas(options.isas.begin(), options.isas.end());
  if (options.runtimeChecks)
    pm.addPass(createEmitRuntimeChecksPass());
  buildConvertToLoopsPipeline(pm, isas);
  buildLowerToLLVMPipeline(pm, options.threads);
}

void nvfp4::registerPipelines() {
  static PassPipelineRegistration<GsgToCpuOptions> gsgToCpu(
      "gsg-to-cpu", "Lower grouped_scaled_gemm to the LLVM dialect for a CPU",
      buildGsgToCpuPipeline);
}
