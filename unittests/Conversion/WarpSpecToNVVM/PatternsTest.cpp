//===- PatternsTest.cpp - Patterns in conversions of others -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiler with a conversion of its own relies on two things: a family of
// patterns converts its operations and no others, and the patterns do not
// depend on how the driver rolls back.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/WarpSpecToNVVM/KernelAnalysis.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

namespace nvfp4::warpspec {
namespace {

using namespace mlir;

class PatternsTest : public testing::Test {
protected:
  PatternsTest() {
    context.loadDialect<WarpSpecDialect, arith::ArithDialect, gpu::GPUDialect,
                        LLVM::LLVMDialect, memref::MemRefDialect,
                        NVVM::NVVMDialect, scf::SCFDialect, ub::UBDialect,
                        vector::VectorDialect>();
  }

  /// Kernels without roles, ready to be converted.
  OwningOpRef<ModuleOp> load(StringRef name) {
    std::string path = std::string(NVFP4_TEST_KERNELS) + "/" + name.str();
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
    PassManager pm(&context);
    pm.addPass(createPlanMemoryPass());
    pm.addPass(createMaterializeStagesPass());
    pm.addPass(createInsertFencesPass());
    pm.addPass(createLowerRolesPass());
    if (module && failed(pm.run(*module)))
      return {};
    return module;
  }

  LogicalResult run(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager pm(&context);
    pm.addPass(std::move(pass));
    return pm.run(module);
  }

  MLIRContext context;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

template <typename Op> int64_t count(ModuleOp module) {
  int64_t number = 0;
  module.walk([&](Op) { ++number; });
  return number;
}

class EveryKernel : public PatternsTest,
                    public testing::WithParamInterface<const char *> {};

TEST_P(EveryKernel, IsTheSameWithAndWithoutRollback) {
  OwningOpRef<ModuleOp> module = load(GetParam());
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> other = module->clone();
  ASSERT_TRUE(succeeded(run(*module, createConvertWarpSpecToNVVMPass())));

  FailureOr<KernelAnalysis> kernels = KernelAnalysis::create(*other);
  ASSERT_TRUE(succeeded(kernels));
  TypeConverter converter;
  populateWarpSpecToNVVMTypeConversions(converter);
  RewritePatternSet patterns(&context);
  populateWarpSpecToNVVMConversionPatterns(converter, *kernels, patterns);
  ConversionTarget target(context);
  configureWarpSpecToNVVMConversionTarget(converter, target);
  target.addLegalOp<ModuleOp>();
  ConversionConfig config;
  config.allowPatternRollback = true;
  ASSERT_TRUE(succeeded(
      applyPartialConversion(*other, target, std::move(patterns), config)));

  // Casts and constants may stand elsewhere.
  for (ModuleOp converted : {*module, *other}) {
    ASSERT_TRUE(succeeded(run(converted, createCanonicalizerPass())));
    ASSERT_TRUE(succeeded(run(converted, createCSEPass())));
  }
  EXPECT_EQ(print(*module), print(*other));
  EXPECT_GT(count<NVVM::MBarrierInitOp>(*module) +
                count<LLVM::LoadOp>(*module) +
                count<NVVM::FenceProxyOp>(*module),
            0);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, EveryKernel,
    testing::Values("decoded.mlir", "decoded-cut.mlir", "decoded-formats.mlir",
                    "descriptors.mlir", "destination.mlir", "flags.mlir",
                    "hand-over.mlir", "waiting.mlir"),
    [](const testing::TestParamInfo<const char *> &info) {
      std::string name = StringRef(info.param).drop_back(5).str();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_F(PatternsTest, FamilyConvertsItsOperationsOnly) {
  OwningOpRef<ModuleOp> module = load("hand-over.mlir");
  ASSERT_TRUE(module);
  FailureOr<KernelAnalysis> kernels = KernelAnalysis::create(*module);
  ASSERT_TRUE(succeeded(kernels));
  int64_t waits = count<WaitOp>(*module), copies = count<CopyScalesOp>(*module);
  ASSERT_GT(waits, 0);
  ASSERT_GT(copies, 0);
  TypeConverter converter;
  populateWarpSpecToNVVMTypeConversions(converter);
  RewritePatternSet patterns(&context);
  populateTensorCoreToNVVMPatterns(converter, *kernels, patterns);
  ConversionTarget target(context);
  target.addIllegalOp<CopyScalesOp, TmemLoadOp, TmemWaitOp, ReserveTmemOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  ASSERT_TRUE(
      succeeded(applyPartialConversion(*module, target, std::move(patterns))));
  EXPECT_EQ(count<CopyScalesOp>(*module), 0);
  EXPECT_EQ(count<NVVM::Tcgen05CpOp>(*module), copies);
  EXPECT_EQ(count<NVVM::Tcgen05LdOp>(*module), 1);
  EXPECT_EQ(count<WaitOp>(*module), waits);
  EXPECT_EQ(count<KernelOp>(*module), 1);
}

TEST_F(PatternsTest, AnalysisKnowsWhatOperationsSayOfEachOther) {
  OwningOpRef<ModuleOp> module = load("hand-over.mlir");
  ASSERT_TRUE(module);
  FailureOr<KernelAnalysis> kernels = KernelAnalysis::create(*module);
  ASSERT_TRUE(succeeded(kernels));
  bool sawFill = false;
  module->walk([&](AcquireOp acquire) {
    const PipelineFacts &pipeline = kernels->getPipeline(acquire);
    EXPECT_EQ(pipeline.depth, 2);
    if (pipeline.producer != Agent::Tma)
      return;
    sawFill = true;
    // Values and scales of a slot.
    EXPECT_EQ(kernels->getExpectedBytes(acquire).constant, 16384 + 512);
    ASSERT_EQ(pipeline.strides.size(), 2U);
    EXPECT_EQ(pipeline.strides[0], 16384);
    EXPECT_EQ(pipeline.strides[1], 512);
    EXPECT_EQ(pipeline.handOver.full, Signal::Bytes);
  });
  EXPECT_TRUE(sawFill);
  module->walk([&](CommitOp commit) {
    EXPECT_EQ(&kernels->getPipeline(commit),
              &kernels->getPipeline(getOpener(commit.getToken())));
  });
}

} // namespace
} // namespace nvfp4::warpspec
