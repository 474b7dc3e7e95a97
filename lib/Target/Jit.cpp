//===- Jit.cpp - Modules compiled into this process -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ORC on one module at a time. OpenMP and the checks of the runtime are found
// from where this file is linked: in a plug-in, opened without RTLD_GLOBAL,
// they are not among the global symbols of the process.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Jit.h"

#include "nvfp4/Target/LLVMIR.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <dlfcn.h>

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

/// The functions that `module` calls and does not define.
static SmallVector<std::string> findCallees(const llvm::Module &module) {
  SmallVector<std::string> names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      names.push_back(function.getName().str());
  return names;
}

/// Those of `names` that are visible from here.
static llvm::orc::SymbolMap resolve(ArrayRef<std::string> names,
                                    llvm::orc::MangleAndInterner intern) {
  llvm::orc::SymbolMap symbols;
  for (const std::string &name : names)
    if (void *address = dlsym(RTLD_DEFAULT, name.c_str()))
      symbols[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                               llvm::JITSymbolFlags::Exported};
  return symbols;
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
  SmallVector<std::string> callees;
  auto build = [&](Operation *op, llvm::LLVMContext &context) {
    auto translated = translateToLLVMIR(cast<ModuleOp>(op), context, machineRef,
                                        target.optLevel);
    if (translated)
      callees = findCallees(*translated);
    return translated;
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
  (*engine)->registerSymbols([&](llvm::orc::MangleAndInterner intern) {
    return resolve(callees, intern);
  });
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
