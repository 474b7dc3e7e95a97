//===- Code.cpp - Code of a module ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipelines and back ends that the options ask for.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Code.h"

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/KernelLibrary/KernelLibrary.h"
#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Pipelines/GsgToCpu.h"
#include "nvfp4/Pipelines/GsgToSm100.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"
#include "nvfp4/Strategy/KernelTargets.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/LLVMIR.h"
#include "nvfp4/Target/SharedObject.h"
#include "nvfp4/Target/TemporaryFile.h"
#include "nvfp4/Target/Versions.h"
#include "nvfp4/Tools/TextFiles.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;

// A symbol of LLVM's OpenMP runtime, to find the library of which this process
// and the artefact use the same copy.
extern "C" int omp_get_max_threads(void);

int tools::reportError(const CodeOptions &options, const Twine &message) {
  options.report(("error: " + message).str());
  return 1;
}

static SmallVector<std::string> splitIsas(const CodeOptions &options) {
  SmallVector<StringRef> names;
  StringRef(options.isa).split(names, ',');
  return llvm::map_to_vector(names, [](StringRef name) { return name.str(); });
}

LogicalResult tools::resolve(CodeOptions &options) {
  strategy::registerKernelTargets();
  if (options.target != "cpu" && !target::GpuTarget::isName(options.target)) {
    reportError(options, "expected target " + strategy::listGpus("cpu") +
                             ", but got '" + options.target + "'");
    return failure();
  }
  if (options.memory != "host" && options.memory != "device") {
    reportError(options, "expected --memory of host or device, but got '" +
                             options.memory + "'");
    return failure();
  }
  if (options.memory == "device" && options.target == "cpu") {
    reportError(options, "expected --memory=host for --target=cpu, but got "
                         "device; or a GPU as target");
    return failure();
  }
  if (options.versions < 1) {
    reportError(options, "expected --versions of 1 or more, but got " +
                             Twine(options.versions));
    return failure();
  }
  if (options.multiprocessors < 0 || options.multiprocessors > 4096) {
    reportError(options, "expected --multiprocessors from 0 to 4096, but got " +
                             Twine(options.multiprocessors));
    return failure();
  }
  if (options.multiprocessors && options.target == "cpu") {
    reportError(options,
                "expected a GPU as --target for --multiprocessors, but "
                "got cpu");
    return failure();
  }
  if (options.assemble && options.target == "cpu") {
    reportError(options, "expected a GPU as --target for --assemble, but got "
                         "cpu");
    return failure();
  }
  if (options.optLevel > 3) {
    reportError(options,
                "expected -O0 to -O3, but got -O" + Twine(options.optLevel));
    return failure();
  }
  if (options.isa == "all")
    options.isa = "generic,avx2,avx512vnni,avx512bf16,amx";
  if (options.isa == "native") {
    int isa = 0;
    if (nvfp4_choose_cpu_isa(&isa)) {
      reportError(options, nvfp4_last_error());
      return failure();
    }
    options.isa = nvfp4_cpu_isa_name(isa);
  }
  for (const std::string &isa : splitIsas(options)) {
    auto target = target::NativeTarget::forIsa(isa);
    if (!target) {
      llvm::consumeError(target.takeError());
      reportError(
          options,
          "expected --isa of generic, avx2, avx512vnni, avx512bf16 or amx, of "
          "several of them, native or all, but got '" +
              Twine(isa) + "'");
      return failure();
    }
  }
  return success();
}

target::NativeTarget tools::getNativeTarget(const CodeOptions &options) {
  SmallVector<std::string> isas = splitIsas(options);
  for (StringRef isa : {"generic", "avx2", "avx512vnni", "avx512bf16", "amx"}) {
    if (!llvm::is_contained(isas, isa))
      continue;
    target::NativeTarget target = llvm::cantFail(
        target::NativeTarget::forIsa(isa), "the options are resolved");
    target.optLevel = options.optLevel;
    return target;
  }
  llvm_unreachable("the options are resolved");
}

static void copyOptions(const CodeOptions &options,
                        GsgToSm100Options &pipeline) {
  pipeline.isas = splitIsas(options);
  pipeline.threads = options.threads;
  pipeline.runtimeChecks = options.runtimeChecks;
  pipeline.target = options.target;
  pipeline.memory = options.memory;
  pipeline.versions = options.versions;
  pipeline.fuseLaunches = options.fuseLaunches;
  pipeline.multiprocessors = options.multiprocessors;
  pipeline.assemble = options.assemble;
}

LogicalResult tools::explainStrategies(ModuleOp module,
                                       const CodeOptions &options) {
  PassManager pm(module->getName());
  if (target::GpuTarget::isName(options.target)) {
    GsgToSm100Options pipeline;
    pipeline.target = options.target;
    pipeline.memory = options.memory;
    pipeline.versions = options.versions;
    pipeline.fuseLaunches = options.fuseLaunches;
    pipeline.multiprocessors = options.multiprocessors;
    // A product that any later pass refuses gets no strategy.
    OwningOpRef<ModuleOp> trial = module.clone();
    PassManager kernels(module->getName());
    buildGsgToKernelsPipeline(kernels, pipeline);
    if (failed(kernels.run(*trial)))
      return failure();
    buildSelectKernelsPipeline(pm, pipeline, /*explain=*/true);
    return pm.run(module);
  }
  gsg::SelectStrategyPassOptions pass;
  pass.target = options.target;
  pass.multiprocessors = options.multiprocessors;
  pass.explain = true;
  pm.addPass(gsg::createSelectStrategyPass(pass));
  return pm.run(module);
}

LogicalResult
tools::lowerToLLVM(ModuleOp module, const CodeOptions &options,
                   llvm::function_ref<void(PassManager &)> configure) {
  PassManager pm(module->getName());
  // Takes a third of the time of the passes; nvfp4-opt does it after each.
  pm.enableVerifier(false);
  if (configure)
    configure(pm);
  if (options.target != "cpu") {
    GsgToSm100Options pipeline;
    copyOptions(options, pipeline);
    buildGsgToSm100Pipeline(pm, pipeline);
    return failure(failed(pm.run(module)) || failed(verify(module)));
  }
  GsgToCpuOptions pipeline;
  pipeline.isas = splitIsas(options);
  pipeline.threads = options.threads;
  pipeline.runtimeChecks = options.runtimeChecks;
  buildGsgToCpuPipeline(pm, pipeline);
  if (splitIsas(options).size() > 1) {
    SmallVector<std::string> isas = splitIsas(options);
    SmallVector<StringRef> names(isas.begin(), isas.end());
    module->setAttr(target::kIsasAttr,
                    Builder(module.getContext()).getStrArrayAttr(names));
  }
  if (options.kernels != CodeOptions::Kernels::Emitted)
    kernels::declareKernels(module);
  return failure(failed(pm.run(module)) || failed(verify(module)) ||
                 (options.kernels == CodeOptions::Kernels::Assembly &&
                  failed(kernels::attachKernels(module))));
}

std::unique_ptr<target::Jit> tools::createJit(ModuleOp module,
                                              CodeOptions options) {
  options.kernels = CodeOptions::Kernels::Objects;
  if (failed(lowerToLLVM(module, options)))
    return nullptr;
  FailureOr<std::vector<std::string>> objects = kernels::takeObjects(module);
  if (failed(objects))
    return nullptr;
  return target::Jit::create(module, getNativeTarget(options), *objects);
}

/// The file that holds the code at `address`, by the name it was loaded under:
/// its folder is where the artefact will look.
static std::string fileOf(void *address) {
  Dl_info info;
  if (!dladdr(address, &info))
    return "";
  SmallString<128> path(info.dli_fname);
  if (llvm::sys::fs::make_absolute(path))
    return "";
  return path.str().str();
}

LogicalResult tools::emitSharedObject(ModuleOp module,
                                      const CodeOptions &options,
                                      const std::string &output) {
  auto fail = [&](llvm::Error error) {
    return failure(reportError(options, llvm::toString(std::move(error))));
  };
  auto object = target::TemporaryFile::create("o");
  if (!object)
    return fail(object.takeError());
  // The linker removes what is there before it knows that it can do better.
  auto linked = target::TemporaryFile::create("so");
  if (!linked)
    return fail(linked.takeError());
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  if (failed(target::emitModule(module, getNativeTarget(options),
                                target::EmitKind::Object, os)))
    return failure();
  if (llvm::Error error = (*object)->write(os.str()))
    return fail(std::move(error));
  SmallVector<std::string> libraries = {
      fileOf(reinterpret_cast<void *>(&nvfp4_module_load)),
      fileOf(reinterpret_cast<void *>(&omp_get_max_threads))};
  llvm::erase(libraries, "");
  if (llvm::Error error = target::linkSharedObject(
          (*object)->getPath(), (*linked)->getPath(), libraries))
    return fail(std::move(error));
  llvm::Expected<std::string> bytes = (*linked)->read();
  if (!bytes)
    return fail(bytes.takeError());
  if (tensorio::Status status = writeText(output, *bytes, /*executable=*/true);
      !status)
    return failure(reportError(options, status.message()));
  return success();
}

LogicalResult tools::checkFunctions(ModuleOp module, const CodeOptions &options,
                                    const Twine &owner) {
  if (llvm::any_of(module.getOps<FunctionOpInterface>(),
                   [](FunctionOpInterface function) {
                     return function.isPublic() && !function.isExternal();
                   }))
    return success();
  return failure(reportError(
      options, "expected a public function with a body to compile, but " +
                   owner + " has none"));
}

FailureOr<std::string> tools::emitKernelCode(ModuleOp module,
                                             const CodeOptions &options,
                                             StringRef emit) {
  PassManager pm(module->getName());
  pm.enableVerifier(false);
  GsgToSm100Options pipeline;
  copyOptions(options, pipeline);
  buildGsgToKernelsPipeline(pm, pipeline);
  if (failed(pm.run(module)) || failed(verify(module)))
    return failure();
  auto kernels = module.getOps<gpu::GPUModuleOp>();
  if (kernels.empty())
    return failure(reportError(options, "expected a product to compile for " +
                                            options.target +
                                            ", but there is none"));
  auto gpu = llvm::cantFail(target::GpuTarget::forName(options.target),
                            "the options are resolved");
  gpu.optLevel = options.optLevel;
  auto parts = target::emitKernels(*kernels.begin(), gpu);
  if (failed(parts))
    return failure();
  std::string text = target::joinPtx(*parts);
  if (emit != "cubin")
    return text;
  auto cubin = target::assemblePtx(text, gpu);
  if (!cubin)
    return failure(reportError(options, llvm::toString(cubin.takeError())));
  options.report(cubin->notes);
  return std::move(cubin->bytes);
}
