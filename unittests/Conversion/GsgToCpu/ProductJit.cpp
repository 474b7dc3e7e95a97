//===- ProductJit.cpp - functions on memrefs, compiled and run --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The upstream passes here are those that the kernels need, no more.
//
//===----------------------------------------------------------------------===//

#include "ProductJit.h"

#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mlir;

namespace nvfp4::gsg::cpu {

Buffer::Buffer(std::string name, std::vector<int64_t> shape,
               std::string element, int64_t elementBytes, bool dynamic)
    : name(std::move(name)), shape(std::move(shape)), count(1) {
  type = "memref<";
  for (size_t i = 0; i < this->shape.size(); ++i) {
    count *= this->shape[i];
    type += (dynamic && i == 0 ? "?" : std::to_string(this->shape[i])) + "x";
  }
  type += element + ">";
  memory = std::make_unique<GuardedBuffer>(count * elementBytes);
  std::memset(bytes(), 0xFF, static_cast<size_t>(byteCount()));
}

std::vector<int64_t> Buffer::descriptor() {
  auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(bytes()));
  std::vector<int64_t> words = {address, address, 0};
  words.insert(words.end(), shape.begin(), shape.end());
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

Buffer &Arguments::add(std::string name, std::vector<int64_t> shape,
                       std::string element, int64_t elementBytes,
                       bool dynamic) {
  buffers.push_back(std::make_unique<Buffer>(std::move(name), std::move(shape),
                                             std::move(element), elementBytes,
                                             dynamic));
  return *buffers.back();
}

std::string Arguments::signature() const {
  std::string text;
  for (const auto &buffer : buffers)
    text += (text.empty() ? "%" : ", %") + buffer->name + ": " + buffer->type;
  return text;
}

/// The handle of OpenMP's library, opened once.
static void *openMP() {
  static void *handle = dlopen(NVFP4_TEST_OPENMP, RTLD_NOW | RTLD_GLOBAL);
  return handle;
}

bool haveThreads() { return openMP() != nullptr; }

extern "C" int32_t nvfp4TestCpuIsa() {
  const char *forced = std::getenv("NVFP4_CPU_ISA");
  if (forced) {
    std::optional<Isa> isa = parseIsa(forced);
    return isa ? static_cast<int32_t>(*isa) : 0;
  }
  Isa best = detectHostIsa();
  return static_cast<int32_t>(best == Isa::AMX ? best
                                               : findFastestUntiled(best));
}

// Stands in for the function of the runtime, which tests do not link.
extern "C" void *nvfp4TestMemoryOfThread(int64_t bytes) {
  return std::malloc(static_cast<size_t>(bytes));
}

static void addLowering(PassManager &pm, bool threads) {
  if (threads)
    pm.addPass(createConvertSCFToOpenMPPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  if (threads)
    pm.addPass(createConvertOpenMPToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

std::unique_ptr<ExecutionEngine> compile(const std::string &text,
                                         const RunOptions &options) {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registerAllToLLVMIRTranslations(registry);
    registry.insert<GroupedScaledGemmDialect>();
    registerConversionPasses();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return new MLIRContext(registry);
  }();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text),
                             llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, context);
  if (!module)
    return nullptr;
  PassManager pm(context);
  pm.addPass(createExpandEpiloguePass());
  if (failed(
          parsePassPipeline("convert-gsg-to-cpu{isa=" + options.isa + "}", pm)))
    return nullptr;
  pm.addPass(createCSEPass());
  addLowering(pm, options.threads > 0);
  if (failed(pm.run(*module)))
    return nullptr;
  auto target =
      llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  target.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto machine = llvm::cantFail(target.createTargetMachine());
  auto optimizer = makeOptimizingTransformer(2, 0, machine.get());
  ExecutionEngineOptions engineOptions;
  engineOptions.transformer = optimizer;
  engineOptions.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  auto engine = ExecutionEngine::create(
      *module, engineOptions, llvm::cantFail(target.createTargetMachine()));
  if (!engine) {
    llvm::logAllUnhandledErrors(engine.takeError(), llvm::errs());
    return nullptr;
  }
  (*engine)->registerSymbols([](llvm::orc::MangleAndInterner mangle) {
    llvm::orc::SymbolMap symbols;
    symbols[mangle("nvfp4_cpu_isa")] = {
        llvm::orc::ExecutorAddr::fromPtr(&nvfp4TestCpuIsa),
        llvm::JITSymbolFlags::Exported};
    symbols[mangle("nvfp4_memory_of_thread")] = {
        llvm::orc::ExecutorAddr::fromPtr(&nvfp4TestMemoryOfThread),
        llvm::JITSymbolFlags::Exported};
    return symbols;
  });
  return std::move(*engine);
}

bool run(ExecutionEngine &engine, Arguments &arguments,
         const RunOptions &options) {
  if (options.threads > 0) {
    auto setThreads =
        reinterpret_cast<void (*)(int)>(dlsym(openMP(), "omp_set_num_threads"));
    setThreads(options.threads);
  }
  std::vector<std::vector<int64_t>> descriptors;
  for (const auto &buffer : arguments.buffers)
    descriptors.push_back(buffer->descriptor());
  std::vector<int64_t *> pointers;
  for (auto &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  SmallVector<void *> packed;
  for (auto &pointer : pointers)
    packed.push_back(&pointer);
  if (llvm::Error error = engine.invokePacked("_mlir_ciface_f", packed)) {
    llvm::logAllUnhandledErrors(std::move(error), llvm::errs());
    return false;
  }
  return true;
}

} // namespace nvfp4::gsg::cpu
