//===- LLVMIR.cpp - LLVM dialect to LLVM IR and machine code ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the LLVM dialect to LLVM IR, through its optimiser, to text or an object
// file. Floating point is never contracted: bits must not depend on the target.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/LLVMIR.h"

#include "Optimize.h"
#include "VersionFunctions.h"
#include "nvfp4/Target/Versions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/OpenMP/OpenMPToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace nvfp4::target;

void nvfp4::target::registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerOpenMPDialectTranslation(registry);
}

/// True for what widens a float of a byte or less.
static bool isDequantising(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return from && to && from.getWidth() <= 8 && to.getWidth() > from.getWidth();
}

/// Names an operation that no pass could lower, which the translation would
/// not.
static LogicalResult checkLowered(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    Dialect *dialect = op->getDialect();
    if (dialect &&
        dialect->getRegisteredInterface<LLVMTranslationDialectInterface>())
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError("on (");
    llvm::interleaveComma(op->getOperandTypes(), error);
    error << ") -> (";
    llvm::interleaveComma(op->getResultTypes(), error);
    error << ") has no lowering to LLVM IR";
    if (isDequantising(op))
      error << "; where it dequantises an operand of a product, "
               "raise-to-grouped-scaled-gemm makes it a part of that, or says "
               "with its option explain why not";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

std::unique_ptr<llvm::Module>
nvfp4::target::translateToLLVMIR(ModuleOp module, llvm::LLVMContext &context,
                                 llvm::TargetMachine &machine,
                                 unsigned optLevel) {
  for (Operation &op : module.getOps()) {
    if (!isa_and_nonnull<LLVM::LLVMDialect>(op.getDialect())) {
      op.emitOpError("expected only operations of the LLVM dialect in a module "
                     "to translate; lower it with gsg-to-cpu first");
      return nullptr;
    }
  }
  if (failed(checkLowered(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context);
  if (!result) {
    module.emitError("could not translate the module to LLVM IR");
    return nullptr;
  }
  ExecutionEngine::setupTargetTripleAndDataLayout(result.get(), &machine);
  if (auto isas = module->getAttrOfType<ArrayAttr>(kIsasAttr)) {
    SmallVector<StringRef> names;
    for (auto name : isas.getAsRange<StringAttr>())
      names.push_back(name.getValue());
    if (llvm::Error error = versionFunctions(*result, names)) {
      module.emitError(llvm::toString(std::move(error)));
      return nullptr;
    }
  }

  std::string problem;
  llvm::raw_string_ostream problemStream(problem);
  if (llvm::verifyModule(*result, &problemStream)) {
    module.emitError("translation made invalid LLVM IR: ") << problem;
    return nullptr;
  }
  optimize(*result, machine, optLevel);
  return result;
}

namespace {
/// Signals of the process go to CrashRecoveryContext while one of these lives.
class RecoveryScope {
public:
  RecoveryScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0)
      llvm::CrashRecoveryContext::Enable();
  }
  ~RecoveryScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0)
      llvm::CrashRecoveryContext::Disable();
  }
  RecoveryScope(const RecoveryScope &) = delete;
  RecoveryScope &operator=(const RecoveryScope &) = delete;

private:
  inline static std::mutex mutex;
  inline static unsigned users = 0;
};
} // namespace

LogicalResult
nvfp4::target::runCodeGeneration(ModuleOp module, StringRef cpu,
                                 llvm::function_ref<void()> generate) {
  bool finished = false;
  {
    RecoveryScope scope;
    finished = llvm::CrashRecoveryContext().RunSafely(generate);
  }
  if (!finished)
    return module.emitError("LLVM could not generate code for CPU '")
           << cpu
           << "'; an operation may need an instruction set that was not asked "
              "for";
  return success();
}

static LogicalResult generateCode(ModuleOp module, llvm::Module &llvmModule,
                                  llvm::TargetMachine &machine,
                                  llvm::CodeGenFileType fileType,
                                  llvm::raw_pwrite_stream &os) {
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  if (machine.addPassesToEmitFile(*passes, os, nullptr, fileType))
    return module.emitError("the target cannot write this kind of file");
  LogicalResult result = runCodeGeneration(module, machine.getTargetCPU(),
                                           [&] { passes->run(llvmModule); });
  // Passes that were interrupted cannot be destroyed.
  if (failed(result))
    (void)passes.release();
  return result;
}

LogicalResult nvfp4::target::emitModule(ModuleOp module,
                                        const NativeTarget &target,
                                        EmitKind kind,
                                        llvm::raw_pwrite_stream &os) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return module.emitError(llvm::toString(machine.takeError()));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateToLLVMIR(module, context, **machine, target.optLevel);
  if (!llvmModule)
    return failure();
  switch (kind) {
  case EmitKind::LLVM:
    llvmModule->print(os, nullptr);
    return success();
  case EmitKind::Assembly:
    return generateCode(module, *llvmModule, **machine,
                        llvm::CodeGenFileType::AssemblyFile, os);
  case EmitKind::Object:
    return generateCode(module, *llvmModule, **machine,
                        llvm::CodeGenFileType::ObjectFile, os);
  }
  llvm_unreachable("unknown EmitKind");
}
