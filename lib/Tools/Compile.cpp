//===- Compile.cpp - What nvfp4-compile does --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What nvfp4-compile does, from reading the module to writing the artefact, and
// the options and lowering that nvfp4-run shares with it.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Compile.h"

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/KernelLibrary/KernelLibrary.h"
#include "nvfp4/Pipelines/GsgToCpu.h"
#include "nvfp4/Pipelines/GsgToSm100.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/LLVMIR.h"
#include "nvfp4/Target/SharedObject.h"
#include "nvfp4/Target/Versions.h"
#include "nvfp4/Tools/RunPlan.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <dlfcn.h>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;

// Of LLVM's OpenMP runtime, to find the library of which this process and the
// artefact use the same copy.
extern "C" int omp_get_max_threads(void);

/// Reports an error; what is returned is both an exit code and a failure.
static int reportError(const CodeOptions &options, const Twine &message) {
  options.report(("error: " + message).str());
  return 1;
}

LogicalResult tools::explainStrategies(ModuleOp module,
                                       const std::string &target) {
  PassManager pm(module->getName());
  if (target::GpuTarget::isName(target)) {
    GsgToSm100Options options;
    options.target = target;
    buildSelectKernelsPipeline(pm, options, /*explain=*/true);
    return pm.run(module);
  }
  gsg::SelectStrategyPassOptions pass;
  pass.target = target;
  pass.explain = true;
  pm.addPass(gsg::createSelectStrategyPass(pass));
  return pm.run(module);
}

static SmallVector<std::string> splitIsas(const CodeOptions &options) {
  SmallVector<StringRef> names;
  StringRef(options.isa).split(names, ',');
  return llvm::map_to_vector(names, [](StringRef name) { return name.str(); });
}

LogicalResult tools::resolve(CodeOptions &options) {
  if (options.target != "cpu" && !target::GpuTarget::isName(options.target)) {
    reportError(
        options,
        "expected target cpu, sm_90a, sm_100a, sm_103a or sm_100f, but got '" +
            options.target + "'");
    return failure();
  }
  if (options.optLevel > 3) {
    reportError(options,
                "expected -O0 to -O3, but got -O" + Twine(options.optLevel));
    return failure();
  }
  if (options.isa == "all")
    options.isa = "generic,avx2,avx512vnni";
  if (options.isa == "native")
    options.isa = nvfp4_cpu_isa_name(nvfp4_cpu_isa());
  for (const std::string &isa : splitIsas(options)) {
    auto target = target::NativeTarget::forIsa(isa);
    if (!target) {
      reportError(options, llvm::toString(target.takeError()));
      return failure();
    }
  }
  return success();
}

target::NativeTarget tools::getNativeTarget(const CodeOptions &options) {
  SmallVector<std::string> isas = splitIsas(options);
  for (StringRef isa : {"generic", "avx2", "avx512vnni"}) {
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
}

LogicalResult
tools::lowerToLLVM(ModuleOp module, const CodeOptions &options,
                   llvm::function_ref<void(PassManager &)> configure) {
  PassManager pm(module->getName());
  if (configure)
    configure(pm);
  if (options.target != "cpu") {
    GsgToSm100Options pipeline;
    copyOptions(options, pipeline);
    buildGsgToSm100Pipeline(pm, pipeline);
    return pm.run(module);
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
  if (!options.kernelLibrary)
    return pm.run(module);
  kernels::declareKernels(module);
  return failure(failed(pm.run(module)) ||
                 failed(kernels::attachKernels(module)));
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
  int descriptor;
  SmallString<128> object;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("nvfp4", "o", descriptor, object))
    return failure(reportError(options, "could not make a temporary file: " +
                                            code.message()));
  llvm::FileRemover removeObject(object);
  {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    if (failed(target::emitModule(module, getNativeTarget(options),
                                  target::EmitKind::Object, os)))
      return failure();
  }
  SmallVector<std::string> libraries = {
      fileOf(reinterpret_cast<void *>(&nvfp4_module_load)),
      fileOf(reinterpret_cast<void *>(&omp_get_max_threads))};
  llvm::erase(libraries, "");
  if (llvm::Error error = target::linkSharedObject(object, output, libraries))
    return failure(reportError(options, llvm::toString(std::move(error))));
  return success();
}

static bool isBinary(const CompileOptions &options) {
  return llvm::is_contained({"so", "obj", "cubin"}, options.emit);
}

/// The name of the file to write, `-` for standard output.
static std::string chooseOutput(const CompileOptions &options) {
  if (!options.output.empty())
    return options.output;
  if (!isBinary(options) || options.input == "-")
    return "-";
  SmallString<128> name(llvm::sys::path::filename(options.input));
  llvm::sys::path::replace_extension(
      name, options.emit == "obj" ? "o" : options.emit);
  return name.str().str();
}

static LogicalResult emit(ModuleOp module, const CompileOptions &options,
                          const std::string &output) {
  if (options.emit == "so")
    return emitSharedObject(module, options, output);
  target::NativeTarget target = getNativeTarget(options);

  std::error_code code;
  llvm::ToolOutputFile file(output, code, llvm::sys::fs::OF_None);
  if (code)
    return failure(reportError(options, "could not write '" + output +
                                            "': " + code.message()));
  if (options.emit == "mlir") {
    module.print(file.os());
    file.os() << "\n";
  } else {
    target::EmitKind kind = options.emit == "llvm"  ? target::EmitKind::LLVM
                            : options.emit == "asm" ? target::EmitKind::Assembly
                                                    : target::EmitKind::Object;
    // Object files need a stream that can seek.
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream os(bytes);
    if (failed(target::emitModule(module, target, kind, os)))
      return failure();
    file.os() << os.str();
  }
  file.keep();
  return success();
}

bool tools::hasFunctions(ModuleOp module) {
  return llvm::any_of(module.getOps<FunctionOpInterface>(),
                      [](FunctionOpInterface function) {
                        return function.isPublic() && !function.isExternal();
                      });
}

FailureOr<std::string> tools::emitKernelCode(ModuleOp module,
                                             const CodeOptions &options,
                                             StringRef emit) {
  PassManager pm(module->getName());
  GsgToSm100Options pipeline;
  copyOptions(options, pipeline);
  buildGsgToKernelsPipeline(pm, pipeline);
  if (failed(pm.run(module)))
    return failure();
  auto kernels = module.getOps<gpu::GPUModuleOp>();
  if (kernels.empty())
    return failure(reportError(options, "expected a product to compile for " +
                                            options.target +
                                            ", but there is none"));
  auto gpu = llvm::cantFail(target::GpuTarget::forName(options.target),
                            "the options are resolved");
  gpu.optLevel = options.optLevel;
  FailureOr<std::string> text = target::emitPtx(*kernels.begin(), gpu);
  if (failed(text) || emit != "cubin")
    return text;
  auto cubin = target::assemblePtx(*text, gpu);
  if (!cubin)
    return failure(reportError(options, llvm::toString(cubin.takeError())));
  options.report(cubin->notes);
  return std::move(cubin->bytes);
}

/// Writes the PTX or the cubin of the kernels of `module`.
static LogicalResult emitKernels(ModuleOp module, const CompileOptions &options,
                                 const std::string &output) {
  FailureOr<std::string> text = emitKernelCode(module, options, options.emit);
  if (failed(text))
    return failure();
  std::error_code code;
  llvm::ToolOutputFile file(output, code, llvm::sys::fs::OF_None);
  if (code)
    return failure(reportError(options, "could not write '" + output +
                                            "': " + code.message()));
  file.os() << *text;
  file.keep();
  return success();
}

int tools::runCompile(CompileOptions options) {
  if (options.explain) {
    if (!options.forOutput.empty())
      return reportError(options, "expected --explain, which writes no code, "
                                  "without " +
                                      options.forOutput.front());
    auto module = ParsedModule::parse(options.input, options.report);
    return !module || failed(explainStrategies(module->get(), options.target));
  }
  // An artefact may meet another CPU, text is for this one.
  if (options.isa.empty())
    options.isa = isBinary(options) ? "all" : "native";
  if (failed(resolve(options)))
    return 1;
  bool isKernels = options.emit == "ptx" || options.emit == "cubin";
  if (!isKernels &&
      !llvm::is_contained({"mlir", "llvm", "asm", "obj", "so"}, options.emit))
    return reportError(
        options, "expected --emit=mlir, llvm, asm, obj, so, ptx or cubin, "
                 "but got '" +
                     options.emit + "'");
  if (isKernels && options.target == "cpu")
    return reportError(options,
                       "expected --target=sm_100a or sm_90a for --emit=" +
                           options.emit + ", but got cpu");
  options.kernelLibrary = !llvm::is_contained({"mlir", "llvm"}, options.emit);
  std::string output = chooseOutput(options);
  if (output == "-" && isBinary(options))
    return reportError(options, "expected a file for binary output: -o FILE");
  if (output != "-")
    if (tensorio::Status status = checkOutputPath(output); !status)
      return reportError(options, status.message());
  std::unique_ptr<ParsedModule> module =
      ParsedModule::parse(options.input, options.report);
  if (!module)
    return 1;
  if (!hasFunctions(module->get()))
    return reportError(options,
                       "expected a public function with a body to compile, but "
                       "'" +
                           options.input + "' has none");
  if (isKernels ? failed(emitKernels(module->get(), options, output))
                : failed(lowerToLLVM(module->get(), options)) ||
                      failed(emit(module->get(), options, output)))
    return 1;
  if (output != "-")
    llvm::outs() << "wrote " << output << "\n";
  return 0;
}
