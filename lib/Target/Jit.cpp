//===- Jit.cpp - Modules compiled into this process -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ORC on one module at a time. Symbols of this process are visible to it, which
// is how OpenMP and the checks of the runtime are found.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Jit.h"

#include "nvfp4/Target/LLVMIR.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace nvfp4::target;

Jit::Jit(std::unique_ptr<ExecutionEngine> engine) : engine(std::move(engine)) {}
Jit::~Jit() = default;

/// The name of a symbol with external linkage that the module defines, or "".
static StringRef findDefinition(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() &&
        function.getLinkage() == LLVM::Linkage::External)
      return function.getSymName();
  return "";
}

std::unique_ptr<Jit> Jit::create(ModuleOp module, const NativeTarget &target) {
  auto machine = createTargetMachine(target);
  if (!machine) {
    module.emitError(llvm::toString(machine.takeError()));
    return nullptr;
  }
  // The engine takes the machine; the builder keeps using it until it returns.
  llvm::TargetMachine &machineRef = **machine;
  std::string cpu = machineRef.getTargetCPU().str();
  auto build = [&](Operation *op, llvm::LLVMContext &context) {
    return translateToLLVMIR(cast<ModuleOp>(op), context, machineRef,
                             target.optLevel);
  };
  ExecutionEngineOptions options;
  options.llvmModuleBuilder = build;
  options.jitCodeGenOptLevel = machineRef.getOptLevel();
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine) {
    module.emitError("could not compile the module: ")
        << llvm::toString(engine.takeError());
    return nullptr;
  }
  std::unique_ptr<Jit> jit(new Jit(std::move(*engine)));
  // Code is generated on the first lookup; do that here, where it can fail.
  StringRef symbol = findDefinition(module);
  if (!symbol.empty() &&
      failed(runCodeGeneration(module, cpu, [&] { jit->lookup(symbol); }))) {
    // An engine that was interrupted holds locks and cannot be destroyed.
    (void)jit.release();
    return nullptr;
  }
  return jit;
}

void *Jit::lookup(StringRef symbol) const {
  auto address = engine->lookup(symbol);
  if (address)
    return *address;
  llvm::consumeError(address.takeError());
  return nullptr;
}
