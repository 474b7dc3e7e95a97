//===- GsgToSm100.cpp - Products to kernels for Blackwell -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front of gsg-to-cpu, kernels, and the back of gsg-to-cpu for the host.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Pipelines/GsgToSm100.h"

#include "nvfp4/Conversion/GpuHostToLLVM/GpuHostToLLVM.h"
#include "nvfp4/Conversion/GsgToGpu/GsgToGpu.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Conversion/LinalgToGpu/LinalgToGpu.h"
#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Pipelines/WarpSpecToNVVM.h"
#include "nvfp4/Target/Passes.h"
#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace nvfp4;

static bool isOnDevice(const GsgToSm100Options &options) {
  return options.memory.getValue() == "device";
}

/// Whether kernels check what the host cannot read.
static bool doKernelsCheck(const GsgToSm100Options &options) {
  return options.runtimeChecks && isOnDevice(options);
}

void nvfp4::buildSelectKernelsPipeline(OpPassManager &pm,
                                       const GsgToSm100Options &options,
                                       bool explain) {
  // Buffers of private functions belong to the calls, which own no memory of
  // the device. No canonicalisation: what is not inlined stays as it is.
  if (isOnDevice(options))
    pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(gsg::createVerifyExtentsPass());
  gsg::VerifyTargetPassOptions verify;
  verify.target = options.target;
  pm.addPass(gsg::createVerifyTargetPass(verify));
  buildDecomposePipeline(pm, options.target, options.memory, explain);
  if (isOnDevice(options) && options.fuseLaunches)
    pm.addPass(gsg::createSeparateRowsPass());
  buildBufferizePipeline(pm);
  // Before checks, which come between operations.
  if (isOnDevice(options) && options.fuseLaunches) {
    gsg::FuseLaunchesPassOptions fuse;
    fuse.explain = explain;
    pm.addPass(gsg::createFuseLaunchesPass(fuse));
  }
  if (options.runtimeChecks) {
    EmitRuntimeChecksPassOptions checks;
    checks.data = !isOnDevice(options);
    pm.addPass(createEmitRuntimeChecksPass(checks));
  }
  pm.addPass(gsg::createSplitListPass());
  // Before versions, each of which would copy them.
  pm.addPass(gsg::createStackWeightsPass());
  // Before gate layouts are chosen, which quantised results narrow.
  gsg::SeparateQuantizationPassOptions separate;
  separate.explain = explain;
  pm.addPass(gsg::createSeparateQuantizationPass(separate));
  gsg::AssignScaleLayoutPassOptions layout;
  layout.target = options.target;
  pm.addPass(gsg::createAssignScaleLayoutPass(layout));
  // After the gate layouts have been chosen, on which tiles depend.
  if (options.versions > 1 && options.expectedRows == 0) {
    gsg::VersionProductsPassOptions version;
    version.target = options.target;
    version.most = options.versions;
    version.multiprocessors = options.multiprocessors;
    version.explain = explain;
    pm.addPass(gsg::createVersionProductsPass(version));
  }
  gsg::SelectStrategyPassOptions select;
  select.target = options.target;
  select.expectedRows = options.expectedRows;
  select.multiprocessors = options.multiprocessors;
  select.kernels = true;
  select.explain = explain;
  pm.addPass(gsg::createSelectStrategyPass(select));
  if (isOnDevice(options))
    pm.addPass(createUseDeviceMemoryPass());
  gsg::InsertTransfersPassOptions transfers;
  transfers.memory = options.memory;
  pm.addPass(gsg::createInsertTransfersPass(transfers));
}

void nvfp4::buildGsgToKernelsPipeline(OpPassManager &pm,
                                      const GsgToSm100Options &options) {
  buildSelectKernelsPipeline(pm, options);
  // After all that reads or moves clauses.
  pm.addPass(gsg::createExpandEpiloguePass());
  gsg::ConvertGsgToWarpSpecPassOptions convert;
  convert.target = options.target;
  convert.dataChecks = doKernelsCheck(options);
  pm.addPass(gsg::createConvertGsgToWarpSpecPass(convert));
  // Again, for what stands before launches now.
  gsg::InsertTransfersPassOptions transfers;
  transfers.memory = options.memory;
  pm.addPass(gsg::createInsertTransfersPass(transfers));
  // After products, some of whose operands kernels prepare.
  gsg::ConvertGsgToGpuPassOptions others;
  others.dataChecks = doKernelsCheck(options);
  pm.addPass(gsg::createConvertGsgToGpuPass(others));
  pm.addPass(createConvertLinalgToGpuPass());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addNestedPass<func::FuncOp>(createCancelTransfersPass());
  // Kernels as one would write them, for those who read or edit them here.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  WarpSpecToNVVMOptions kernels;
  kernels.verify = options.verify;
  buildWarpSpecToNVVMPipeline(pm, kernels);
}

void nvfp4::buildGsgToSm100Pipeline(OpPassManager &pm,
                                    const GsgToSm100Options &options) {
  buildGsgToKernelsPipeline(pm, options);
  pm.addNestedPass<func::FuncOp>(createGpuAsyncRegionPass());
  pm.addPass(createConvertGpuHostToLLVMPass());
  target::EmbedKernelsPassOptions embed;
  embed.target = options.target;
  embed.assemble = options.assemble;
  pm.addPass(target::createEmbedKernelsPass(embed));
  std::vector<std::string> isas(options.isas.begin(), options.isas.end());
  buildConvertToLoopsPipeline(pm, isas);
  buildLowerToLLVMPipeline(pm, options.threads);
}

/// A pipeline for one family of GPUs; `other` is that for the others.
template <typename Options>
static void
registerPipeline(StringRef name, StringRef description, StringRef other,
                 void (*build)(OpPassManager &, const GsgToSm100Options &)) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &pm, StringRef text,
          function_ref<LogicalResult(const Twine &)> emitError) {
        Options options;
        auto family =
            strategy::findKernelTarget(options.target.getValue())->getFamily();
        auto isOfFamily = [=](const strategy::KernelTarget &target) {
          return target.getFamily() == family;
        };
        if (failed(options.parseFromString(text)))
          return failure();
        const strategy::KernelTarget *target =
            strategy::findKernelTarget(options.target.getValue());
        if (!target)
          return emitError("expected target " + strategy::listGpus() +
                           ", but got '" + options.target + "'");
        if (!isOfFamily(*target))
          return emitError("expected target " +
                           strategy::listGpus("", isOfFamily) + " for " + name +
                           ", but got '" + options.target + "', for which " +
                           other + " is");
        build(pm, options);
        return success();
      },
      [](function_ref<void(const detail::PassOptions &)> describe) {
        describe(Options());
      });
}

void nvfp4::registerGsgToSm100Pipeline() {
  registerPipeline<GsgToSm100Options>(
      "gsg-to-sm100",
      "Lower products to kernels for sm_100a, and the rest to the LLVM dialect "
      "for the host that starts them",
      "gsg-to-sm90", buildGsgToSm100Pipeline);
  registerPipeline<GsgToSm100Options>(
      "gsg-to-sm100-kernels",
      "The part of gsg-to-sm100 before kernels become PTX",
      "gsg-to-sm90-kernels", buildGsgToKernelsPipeline);
  registerPipeline<GsgToSm90Options>(
      "gsg-to-sm90",
      "Lower products to kernels for sm_90a, and the rest to the LLVM dialect "
      "for the host that starts them",
      "gsg-to-sm100", buildGsgToSm100Pipeline);
  registerPipeline<GsgToSm90Options>(
      "gsg-to-sm90-kernels",
      "The part of gsg-to-sm90 before kernels become PTX",
      "gsg-to-sm100-kernels", buildGsgToKernelsPipeline);
}
