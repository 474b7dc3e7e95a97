//===- OpJit.cpp - operations on memrefs as callable functions --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers one operation on memrefs through convert-gsg-to-cpu and calls it with
// descriptors.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"

#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/Patterns.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

static MLIRContext &sharedContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registerAllToLLVMIRTranslations(registry);
    registry.insert<GroupedScaledGemmDialect>();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto *result = new MLIRContext(registry);
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

/// No pass here rewrites arithmetic on floats below 32 bits: what the lowerings
/// emit must not need it.
static LogicalResult lower(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateActivationToCpuPatterns(patterns);
  populatePermutationToCpuPatterns(patterns);
  loops::populateQuantizationPatterns(patterns, /*onDevice=*/false);
  loops::populateRelayoutPatterns(patterns, /*onDevice=*/false);
  populateRoutingToCpuPatterns(patterns);
  walkAndApplyPatterns(module, std::move(patterns));
  if (failed(verify(module)))
    return failure();
  PassManager pm(module.getContext());
  pm.addPass(createCSEPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  return pm.run(module);
}

OpJit::OpJit(const std::string &arguments, const std::string &body,
             bool baseline) {
  MLIRContext &context = sharedContext();
  std::string text = "func.func @f(" + arguments +
                     ") attributes {llvm.emit_c_interface} {\n" + body +
                     "\nreturn\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module || failed(lower(*module)))
    return;
  auto target =
      llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (baseline)
    target = llvm::orc::JITTargetMachineBuilder(target.getTargetTriple())
                 .setCPU("x86-64");
  auto machine = llvm::cantFail(target.createTargetMachine());
  auto optimizer = makeOptimizingTransformer(2, 0, machine.get());
  ExecutionEngineOptions options;
  options.transformer = optimizer;
  auto created = ExecutionEngine::create(
      *module, options, llvm::cantFail(target.createTargetMachine()));
  if (!created) {
    llvm::logAllUnhandledErrors(created.takeError(), llvm::errs());
    return;
  }
  engine = std::move(*created);
}

void OpJit::operator()(std::vector<Argument> arguments) const {
  std::vector<int64_t *> descriptors;
  for (Argument &argument : arguments)
    descriptors.push_back(argument.words.data());
  SmallVector<void *> packed;
  for (auto [argument, descriptor] : llvm::zip_equal(arguments, descriptors))
    packed.push_back(argument.isMemRef ? static_cast<void *>(&descriptor)
                                       : static_cast<void *>(descriptor));
  llvm::cantFail(engine->invokePacked("_mlir_ciface_f", packed));
}
