//===- Compile.cpp - What nvfp4-compile does --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of nvfp4-compile, from reading the module to writing the artefact.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Compile.h"

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Strategy/KernelTargets.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/LLVMIR.h"
#include "nvfp4/Tools/TextFiles.h"
#include "nvfp4/Tools/Tune.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;

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

/// Writes the code, or says that it could not be written.
static LogicalResult write(const CompileOptions &options,
                           const std::string &output, StringRef bytes) {
  if (tensorio::Status status = writeText(output, bytes); !status)
    return failure(reportError(options, status.message()));
  return success();
}

static LogicalResult emit(ModuleOp module, const CompileOptions &options,
                          const std::string &output) {
  if (options.emit == "so")
    return emitSharedObject(module, options, output);
  target::NativeTarget target = getNativeTarget(options);

  // Object files need a stream that can seek.
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (options.emit == "mlir") {
    module.print(os);
    os << "\n";
  } else {
    target::EmitKind kind = options.emit == "llvm"  ? target::EmitKind::LLVM
                            : options.emit == "asm" ? target::EmitKind::Assembly
                                                    : target::EmitKind::Object;
    if (failed(target::emitModule(module, target, kind, os)))
      return failure();
  }
  return write(options, output, os.str());
}

/// Writes the PTX or the cubin of the kernels of `module`.
static LogicalResult emitKernels(ModuleOp module, const CompileOptions &options,
                                 const std::string &output) {
  FailureOr<std::string> text = emitKernelCode(module, options, options.emit);
  if (failed(text))
    return failure();
  return write(options, output, *text);
}

/// Gives products the strategies of the file, which are measured before that
/// where the options say so.
static LogicalResult chooseStrategies(ModuleOp module,
                                      const CompileOptions &options) {
  if (options.strategies.empty() && options.tune.empty())
    return success();
  auto fail = [&](const std::string &message) {
    return failure(reportError(options, message));
  };
  if (options.target == "cpu")
    return fail("expected --target=" + strategy::listGpus() +
                " for strategies, but got cpu");
  unsigned count = 0;
  if (!options.tune.empty() &&
      (StringRef(options.tune).getAsInteger(10, count) || count == 0))
    return fail("expected a number of strategies from 1 on after --tune=, but "
                "got '" +
                options.tune + "'");
  if (count && options.strategies.empty())
    return fail("expected --strategies with a file for what --tune measures");
  auto tuned = TunedStrategies::load(options.strategies, count > 0);
  if (!tuned)
    return fail(tuned.message());
  if (count) {
    if (tensorio::Status status = checkOutputPath(options.strategies); !status)
      return fail(status.message());
    if (failed(tune(module, options, count, *tuned)))
      return failure();
    if (tensorio::Status status = tuned->save(options.strategies); !status)
      return fail(status.message());
  }
  return tuned->apply(module, options.target);
}

int tools::runCompile(CompileOptions options) {
  strategy::registerKernelTargets();
  if (options.explain) {
    if (!options.forOutput.empty())
      return reportError(options, "expected --explain, which writes no code, "
                                  "without " +
                                      options.forOutput.front());
    if (!target::GpuTarget::isName(options.target))
      return reportError(options, "expected --target=" + strategy::listGpus() +
                                      " for --explain, but got '" +
                                      options.target + "'");
    auto module = ParsedModule::parse(options.input, options);
    return !module || failed(chooseStrategies(module->get(), options)) ||
           failed(explainStrategies(module->get(), options));
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
    return reportError(options, "expected --target=" + strategy::listGpus() +
                                    " for --emit=" + options.emit +
                                    ", but got cpu");
  if (isKernels && options.assemble)
    return reportError(options, "expected --assemble for code of the host that "
                                "starts kernels, such as --emit=so, but got "
                                "--emit=" +
                                    options.emit);
  if (llvm::is_contained({"mlir", "llvm"}, options.emit))
    options.kernels = CodeOptions::Kernels::Emitted;
  if (options.output.empty() && llvm::is_contained(options.forOutput, "-o"))
    return reportError(options,
                       "expected the name of a file after -o, but got none");
  std::string output = chooseOutput(options);
  if (output == "-" && isBinary(options))
    return reportError(options, "expected a file for binary output: -o FILE");
  if (output != "-")
    if (tensorio::Status status = checkOutputPath(output); !status)
      return reportError(options, status.message());
  std::unique_ptr<ParsedModule> module =
      ParsedModule::parse(options.input, options);
  if (!module)
    return 1;
  // Kernels may be all that there is, written by hand.
  bool hasKernels =
      isKernels && !module->get().getOps<gpu::GPUModuleOp>().empty();
  if (!hasKernels && failed(checkFunctions(module->get(), options,
                                           "'" + Twine(options.input) + "'")))
    return 1;
  if (failed(chooseStrategies(module->get(), options)))
    return 1;
  if (isKernels ? failed(emitKernels(module->get(), options, output))
                : failed(lowerToLLVM(module->get(), options)) ||
                      failed(emit(module->get(), options, output)))
    return 1;
  if (output != "-")
    llvm::outs() << "wrote " << output << "\n";
  if (tensorio::Status status = flushStandardOutput(); !status)
    return reportError(options, status.message());
  return 0;
}
