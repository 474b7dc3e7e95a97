//===- KernelJit.cpp - kernels as callable functions ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers a module of kernels with upstream passes and calls them by pointers
// and strides.
//
//===----------------------------------------------------------------------===//

#include "KernelJit.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <ctime>

using namespace mlir;
using namespace nvfp4::gsg::cpu;

/// Processor time, which other work on the machine does not distort.
static double seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

KernelJit::KernelJit(ArrayRef<KernelSpec> specs) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  context = std::make_unique<MLIRContext>(registry);
  loadKernelDialects(*context);
  double start = seconds();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(context.get()));
  for (const KernelSpec &spec : specs)
    getOrEmitKernels(*module, spec, LLVM::Linkage::External);
  if (failed(verify(*module)))
    return;
  PassManager manager(context.get());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  if (failed(manager.run(*module)))
    return;
  passSeconds = seconds() - start;

  start = seconds();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto targetBuilder =
      llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  targetBuilder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto optimizerTarget = llvm::cantFail(targetBuilder.createTargetMachine());
  auto optimizer = makeOptimizingTransformer(2, 0, optimizerTarget.get());
  ExecutionEngineOptions options;
  options.transformer = optimizer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  options.enableObjectDump = true;
  auto created = ExecutionEngine::create(
      *module, options, llvm::cantFail(targetBuilder.createTargetMachine()));
  if (!created) {
    llvm::logAllUnhandledErrors(created.takeError(), llvm::errs());
    return;
  }
  engine = std::move(*created);
  for (const KernelSpec &spec : specs)
    if (auto found = engine->lookup(spec.name() + "_gemm_tile"); !found) {
      llvm::logAllUnhandledErrors(found.takeError(), llvm::errs());
      engine = nullptr;
      return;
    }
  jitSeconds = seconds() - start;
}

KernelJit::~KernelJit() = default;

CompiledKernel KernelJit::get(const KernelSpec &spec) const {
  auto find = [&](const char *suffix) {
    return llvm::cantFail(engine->lookup(spec.name() + suffix));
  };
  return {KernelPlan(spec),
          reinterpret_cast<PrepareRowsFn>(find("_prepare_rows")),
          reinterpret_cast<GemmTileFn>(find("_gemm_tile"))};
}
