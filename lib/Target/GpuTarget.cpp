//===- GpuTarget.cpp - PTX of kernels ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels take the way of host modules to LLVM IR, then that of another
// machine.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/GpuTarget.h"

#include "NarrowStores.h"
#include "SplitKernels.h"
#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Target/LLVMIR.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace nvfp4::target;

bool GpuTarget::isName(llvm::StringRef name) {
  return nvfp4::strategy::findKernelTarget(name) != nullptr;
}

llvm::Expected<GpuTarget> GpuTarget::forName(llvm::StringRef name) {
  if (!isName(name))
    return llvm::createStringError("expected target " +
                                   nvfp4::strategy::listGpus() + ", but got '" +
                                   name + "'");
  GpuTarget target;
  target.chip = name.str();
  return target;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createGpuMachine(const GpuTarget &target) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return llvm::createStringError(
        "this LLVM has no code generator for GPUs: " + message);
  llvm::TargetOptions options;
  // Results are defined to the bit: no products are fused into additions.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.chip, target.features, options, llvm::Reloc::PIC_,
      std::nullopt,
      llvm::CodeGenOpt::getLevel(
          static_cast<int>(std::min(target.optLevel, 3u)))
          .value_or(llvm::CodeGenOptLevel::Aggressive)));
}

/// Prepares a module of kernels for its translation.
static void annotate(ModuleOp module) {
  // What an scf.for says of itself the conversions leave beside its branch.
  module.walk([](LLVM::BrOp branch) {
    if (auto loop = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(
            "llvm.loop_annotation"))
      branch.setLoopAnnotationAttr(loop);
  });
  // LLVM loads vectors of shared memory as if its alignment were the preferred
  // one, but writes that of an element into the PTX.
  static constexpr unsigned sharedSpace = 3, vectorBytes = 16;
  module.walk([](LLVM::GlobalOp global) {
    if (global.getAddrSpace() == sharedSpace && !global.getAlignment())
      global.setAlignment(vectorBytes);
  });
}

static FailureOr<std::string> emitPtx(ModuleOp module,
                                      const GpuTarget &target) {
  auto machine = createGpuMachine(target);
  if (!machine)
    return module.emitError(llvm::toString(machine.takeError()));
  annotate(module);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateToLLVMIR(module, context, **machine, target.optLevel);
  if (!llvmModule)
    return failure();
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream os(text);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  if ((*machine)->addPassesToEmitFile(*passes, os, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("the target cannot write PTX");
  LogicalResult result =
      runCodeGeneration(module, target.chip, [&] { passes->run(*llvmModule); });
  if (failed(result)) {
    // Passes that were interrupted cannot be destroyed.
    (void)passes.release();
    (void)llvmModule.release();
    return failure();
  }
  return keepBitsOfNarrowStores(os.str().str());
}

FailureOr<SmallVector<KernelPtx>>
nvfp4::target::emitKernels(gpu::GPUModuleOp module, const GpuTarget &target) {
  SmallVector<OwningOpRef<ModuleOp>> modules = splitKernels(module);
  SmallVector<KernelPtx> parts(modules.size());
  // Diagnostics of several threads in the order of the kernels.
  ParallelDiagnosticHandler diagnostics(module.getContext());
  auto emit = [&](size_t index) -> LogicalResult {
    diagnostics.setOrderIDForThread(index);
    llvm::scope_exit forgetOrder([&] { diagnostics.eraseOrderIDForThread(); });
    FailureOr<std::string> text = emitPtx(*modules[index], target);
    if (failed(text))
      return failure();
    parts[index].text = std::move(*text);
    for (auto function : modules[index]->getOps<LLVM::LLVMFuncOp>())
      if (isKernel(function))
        parts[index].kernels.push_back(function.getSymName().str());
    return success();
  };
  if (failed(failableParallelForEachN(module.getContext(), 0, modules.size(),
                                      emit)))
    return failure();
  return parts;
}

std::string nvfp4::target::joinPtx(ArrayRef<KernelPtx> parts) {
  // All have the same first directives, of which this is the last one, and may
  // declare the same memory.
  static constexpr StringLiteral lastDirective = ".address_size 64\n";
  std::string all;
  llvm::StringSet<> declarations;
  for (const KernelPtx &part : parts) {
    StringRef text = part.text;
    size_t header = text.find(lastDirective) + lastDirective.size();
    if (all.empty())
      all = text.take_front(header);
    text = text.drop_front(header);
    while (!text.empty()) {
      bool isExtern = text.starts_with(".extern ");
      // A function takes several lines.
      size_t end = text.find('\n', isExtern ? text.find(';') : 0);
      StringRef piece = text.take_front(end == StringRef::npos ? end : end + 1);
      if (!isExtern || declarations.insert(piece).second)
        all += piece;
      text = text.drop_front(piece.size());
    }
  }
  return all;
}
