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
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <dlfcn.h>
#include <memory>

using namespace mlir;
using namespace nvfp4::target;

Jit::Jit(std::unique_ptr<llvm::orc::LLJIT> engine)
    : engine(std::move(engine)) {}
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

/// The symbols of `names` that are visible from here.
static llvm::orc::SymbolMap resolve(ArrayRef<std::string> names,
                                    llvm::orc::MangleAndInterner intern) {
  llvm::orc::SymbolMap symbols;
  for (const std::string &name : names)
    if (void *address = dlsym(RTLD_DEFAULT, name.c_str()))
      symbols[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                               llvm::JITSymbolFlags::Exported};
  return symbols;
}

/// The optimised module, and the symbols that it needs from outside.
static FailureOr<llvm::orc::ThreadSafeModule>
translate(ModuleOp module, llvm::TargetMachine &machine, unsigned optLevel,
          SmallVectorImpl<std::string> &callees) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto translated = translateToLLVMIR(module, *context, machine, optLevel);
  if (!translated)
    return failure();
  callees = findCallees(*translated);
  return llvm::orc::ThreadSafeModule(std::move(translated), std::move(context));
}

/// The memory that an engine reserves at a time. Code and the objects of the
/// library of kernels that it calls fit it several times.
static constexpr size_t kReservedBytes = size_t(16) << 20;

/// An engine that compiles with `machine`. Its code calls the objects that are
/// linked with it by offsets of 32 bits, so that all of them are in one piece
/// of memory: mapped one by one, they can be 2 GiB apart in a process with much
/// other memory, such as one that uses a GPU.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createEngine(std::unique_ptr<llvm::TargetMachine> machine) {
  llvm::orc::JITTargetMachineBuilder target(machine->getTargetTriple());
  return llvm::orc::LLJITBuilder()
      .setJITTargetMachineBuilder(std::move(target))
      .setDataLayout(machine->createDataLayout())
      .setCompileFunctionCreator(
          [&](llvm::orc::JITTargetMachineBuilder)
              -> llvm::Expected<
                  std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler>> {
            return std::make_unique<llvm::orc::TMOwningSimpleCompiler>(
                std::move(machine));
          })
      .setObjectLinkingLayerCreator(
          [](llvm::orc::ExecutionSession &session)
              -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
            auto memory =
                llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<
                    llvm::orc::InProcessMemoryMapper>(kReservedBytes);
            if (!memory)
              return memory.takeError();
            return std::make_unique<llvm::orc::ObjectLinkingLayer>(
                session, std::move(*memory));
          })
      .create();
}

std::unique_ptr<Jit> Jit::create(ModuleOp module, const NativeTarget &target,
                                 ArrayRef<std::string> objects) {
  auto fail = [&](llvm::Error error) {
    module.emitError("could not compile the module: ")
        << llvm::toString(std::move(error));
    return nullptr;
  };
  auto machine = createTargetMachine(target);
  if (!machine)
    return fail(machine.takeError());
  std::string cpu = (*machine)->getTargetCPU().str();
  SmallVector<std::string> callees;
  auto translated = translate(module, **machine, target.optLevel, callees);
  if (failed(translated))
    return nullptr;
  auto engine = createEngine(std::move(*machine));
  if (!engine)
    return fail(engine.takeError());
  llvm::orc::LLJIT &jit = **engine;
  // The session tells what is missing, and the lookup only that it failed. It
  // may outlive this function.
  auto reasons = std::make_shared<std::string>();
  jit.getExecutionSession().setErrorReporter([reasons](llvm::Error error) {
    *reasons += llvm::toString(std::move(error)) + "; ";
  });
  llvm::orc::MangleAndInterner intern(jit.getExecutionSession(),
                                      jit.getDataLayout());
  if (llvm::Error error = jit.getMainJITDylib().define(
          llvm::orc::absoluteSymbols(resolve(callees, intern))))
    return fail(std::move(error));
  for (const std::string &object : objects)
    if (llvm::Error error =
            jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)))
      return fail(std::move(error));
  if (llvm::Error error = jit.addIRModule(std::move(*translated)))
    return fail(std::move(error));
  std::unique_ptr<Jit> result(new Jit(std::move(*engine)));
  // Code is generated on the first lookup; do that here, where it can fail.
  StringRef symbol = findDefinition(module);
  if (symbol.empty())
    return result;
  std::string problem;
  auto generate = [&] {
    auto address = result->engine->lookup(symbol);
    if (!address)
      problem = llvm::toString(address.takeError());
  };
  if (failed(runCodeGeneration(module, cpu, generate))) {
    // An engine that was interrupted holds locks and cannot be destroyed.
    (void)result.release();
    return nullptr;
  }
  if (problem.empty())
    return result;
  module.emitError("could not compile the module: ") << *reasons << problem;
  return nullptr;
}

void *Jit::lookup(StringRef symbol) const {
  auto address = engine->lookup(symbol);
  if (address)
    return address->toPtr<void *>();
  llvm::consumeError(address.takeError());
  return nullptr;
}
