//===- Run.cpp - What nvfp4-run does ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One invocation of nvfp4-run: load, execute, write, time, check. Long steps
// report their progress on standard error.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Run.h"

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Strategy/KernelTargets.h"
#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/Tools/Compile.h"
#include "nvfp4/Tools/CompiledFunction.h"
#include "nvfp4/Tools/FlopCount.h"
#include "nvfp4/Tools/Inputs.h"
#include "nvfp4/Tools/Progress.h"
#include "nvfp4/Tools/ReferenceRun.h"
#include "nvfp4/Tools/RunPlan.h"
#include "nvfp4/Tools/TextFiles.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <chrono>

using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;
using tensorio::Tensor;

using Seconds = std::chrono::duration<double>;

/// A failure of which the reason has been printed already.
static const Error kReported{""};

namespace {
/// One invocation of nvfp4-run.
class Session {
public:
  Session(RunOptions options, RunPlan plan, std::string device)
      : options(std::move(options)), plan(plan), device(std::move(device)) {}
  Status run();

private:
  Status open();
  Status checkOutputs() const;
  Status load();
  Status execute();
  Status executeReference();
  Status check();
  Status timeCalls();
  Status writeOutputs();
  /// Results and then the arguments that the function wrote.
  std::vector<std::pair<std::string, Tensor>> getOutputs() const;

  RunOptions options;
  RunPlan plan;
  /// Where kernels run, as given: empty for what $NVFP4_DEVICE says.
  std::string device;
  /// The entry point of the input, or the one that `reference` names; null for
  /// an artefact without one.
  std::unique_ptr<ParsedModule> module;
  std::unique_ptr<CompiledFunction> function;
  Signature signature;
  std::vector<Tensor> arguments;
  std::vector<Tensor> results;
};
} // namespace

/// True if the file is a shared object, or has the name of one: what is wrong
/// with it is then the runtime's to say.
static bool isSharedObject(const std::string &path) {
  llvm::file_magic magic;
  if (llvm::StringRef(path).ends_with(".so") && llvm::sys::fs::exists(path))
    return true;
  // A device may have no end.
  return llvm::sys::fs::is_regular_file(path) &&
         !llvm::identify_magic(path, magic) &&
         magic == llvm::file_magic::elf_shared_object;
}

Status Session::open() {
  if (options.input.empty())
    return Error{"expected a module or an artefact to run, but got an empty "
                 "name"};
  bool isArtefact = isSharedObject(options.input);
  std::string source = isArtefact ? options.reference : options.input;
  if (isArtefact) {
    auto loaded = CompiledFunction::load(options.input, options.entry);
    if (!loaded)
      return loaded.takeError();
    function = std::move(*loaded);
    // Bounds are those of what the artefact was compiled for.
    if (std::string target = function->getTarget(); !target.empty()) {
      if (options.isTargetGiven && options.target != target)
        return Error{"expected --target=" + target + ", for which '" +
                     options.input + "' was compiled, but got '" +
                     options.target + "'"};
      options.target = target;
    }
  } else if (!options.reference.empty()) {
    return Error{"--reference is for artefacts; '" + options.input +
                 "' is its own reference"};
  }
  if (source.empty() && !options.passPipeline.empty())
    return Error{"expected --reference=module.mlir with --pass-pipeline, which "
                 "is for modules; '" +
                 options.input + "' is an artefact"};
  if (!source.empty()) {
    module = ParsedModule::parse(source, options);
    if (!module)
      return kReported;
  }
  if (!module && !options.check.empty())
    return Error{"expected --reference=module.mlir to check an artefact"};
  if (!module && options.device == "reference")
    return Error{"expected --reference=module.mlir to interpret an artefact"};
  auto found = function ? Signature::get(function->get())
                        : Signature::get(module->get(), options.entry);
  if (!found)
    return found.takeError();
  signature = std::move(*found);
  return {};
}

Status Session::checkOutputs() const {
  size_t count = signature.results.size();
  for (const ValueType &argument : signature.arguments)
    count += argument.isMutable;
  if (options.outputs.size() > count)
    return Error{"expected at most " + std::to_string(count) +
                 " outputs, but got " + std::to_string(options.outputs.size())};
  return {};
}

Status Session::load() {
  Progress progress(options.report, "reading the inputs");
  std::vector<std::string> notes;
  auto loaded = loadInputs(signature, options.inputs, notes);
  for (const std::string &note : notes)
    options.report("note: " + note);
  if (!loaded)
    return loaded.takeError();
  arguments = std::move(*loaded);
  return {};
}

Status Session::execute() {
  if (!function) {
    Progress progress(options.report, "compiling the module");
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->get().clone();
    auto compiled = CompiledFunction::compile(*copy, options, signature.name);
    if (!compiled)
      return compiled.takeError();
    function = std::move(*compiled);
  }
  Progress progress(options.report, "running the function");
  auto returned = function->call(arguments, signature, device);
  if (!returned)
    return returned.takeError();
  results = std::move(*returned);
  return {};
}

Status Session::executeReference() {
  Progress progress(options.report, "interpreting the function");
  auto values = interpret(module->get(), signature, arguments, {},
                          options.target, options.numThreads);
  if (!values)
    return values.takeError();
  auto tensors = flatten(*values);
  if (!tensors)
    return tensors.takeError();
  results = std::move(*tensors);
  return {};
}

Status Session::check() {
  Progress progress(options.report, "checking the results");
  auto expected = interpret(module->get(), signature, arguments, plan.sample,
                            options.target, options.numThreads);
  if (!expected)
    return expected.takeError();
  return checkResults(signature, results, *expected, options.exact,
                      llvm::outs());
}

Status Session::timeCalls() {
  Progress progress(options.report, "timing calls");
  std::vector<double> times;
  for (unsigned i = 0; i < plan.repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    auto returned = function->call(arguments, signature, device);
    Seconds elapsed = std::chrono::steady_clock::now() - start;
    if (!returned)
      return returned.takeError();
    times.push_back(elapsed.count());
  }
  std::sort(times.begin(), times.end());
  double median = times[times.size() / 2];
  llvm::outs() << llvm::format(
      "time: median %.3f ms, fastest %.3f ms of %u calls, %d threads",
      median * 1e3, times.front() * 1e3, plan.repeats, nvfp4_num_threads());
  std::optional<double> flops;
  if (module)
    flops = countFlops(module->get(), signature, arguments);
  if (flops)
    llvm::outs() << llvm::format(", %.1f GFLOP/s", *flops / median * 1e-9);
  llvm::outs() << "\n";
  return {};
}

std::vector<std::pair<std::string, Tensor>> Session::getOutputs() const {
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace_back("result " + std::to_string(i), results[i]);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (signature.arguments[i].isMutable)
      outputs.emplace_back("argument " + std::to_string(i), arguments[i]);
  return outputs;
}

Status Session::writeOutputs() {
  std::vector<std::pair<std::string, Tensor>> outputs = getOutputs();
  for (size_t i = 0; i < options.outputs.size(); ++i)
    if (options.outputs[i] != "-")
      if (Status status =
              tensorio::writeNpy(options.outputs[i], outputs[i].second);
          !status)
        return status;
  return {};
}

Status Session::run() {
  if (Status status = open(); !status)
    return status;
  if (options.printSignature) {
    llvm::outs() << signature.describe();
    return {};
  }
  if (Status status = checkOutputs(); !status)
    return status;
  if (Status status = load(); !status)
    return status;
  bool isReference = options.device == "reference";
  if (Status status = isReference ? executeReference() : execute(); !status)
    return status;
  for (const auto &[name, tensor] : getOutputs())
    llvm::outs() << name << ": " << tensor.describe() << "\n";
  if (Status status = writeOutputs(); !status)
    return status;
  if (plan.repeats)
    if (Status status = timeCalls(); !status)
      return status;
  return options.check.empty() ? Status() : check();
}

/// Opens the device, which says its target if none is given. Returns what is
/// wrong, or an empty string.
static std::string chooseGpu(RunOptions &options) {
  bool isSimulator = options.device == "sim";
  // Code for a target without a simulated device is only compiled.
  auto hasDevice = [=](const strategy::KernelTarget &target) {
    return !isSimulator || target.getGpu().isSimulated;
  };
  bool isCpu = options.target == "cpu";
  const auto *target = strategy::findKernelTarget(options.target);
  if (isCpu || (target && !hasDevice(*target)))
    return "expected --target=" + strategy::listGpus("", hasDevice) +
           " with --device=" + options.device + ", but got '" + options.target +
           (isCpu ? "'; --device=cpu runs on the host" : "'");
  nvfp4_device *device = nullptr;
  nvfp4_device_info info{};
  if (nvfp4_device_open(options.device.c_str(), &device))
    return nvfp4_last_error();
  bool failed = nvfp4_device_query(device, &info);
  nvfp4_device_release(device);
  if (failed)
    return nvfp4_last_error();
  // The tiles suit this device.
  options.multiprocessors = info.multiprocessors;
  if (!options.target.empty())
    return "";
  const auto *own = strategy::findKernelTargetOfDevice(info.architecture);
  if (!own)
    return "expected a device that runs kernels for " + strategy::listGpus() +
           ", but got '" + info.name + "' of architecture " +
           std::to_string(info.architecture);
  options.target = own->getName();
  return "";
}

int tools::runRun(RunOptions options) {
  strategy::registerKernelTargets();
  auto reportError = [report = options.report](const std::string &message) {
    llvm::outs().flush();
    if (!message.empty())
      report("error: " + message);
    return 1;
  };
  // Not asked for, kernels of an artefact run where NVFP4_DEVICE says.
  std::string device = options.device;
  if (options.device.empty())
    options.device = "cpu";
  options.isTargetGiven = !options.target.empty();
  if (isGpuDevice(options.device))
    if (std::string problem = chooseGpu(options); !problem.empty())
      return reportError(problem);
  if (options.target.empty())
    options.target = "cpu";
  if (mlir::failed(resolve(options)))
    return 1;
  if (nvfp4_set_num_threads(options.numThreads))
    return reportError(nvfp4_last_error());
  std::vector<std::string> notes;
  Expected<RunPlan> plan = RunPlan::get(options, notes);
  for (const std::string &note : notes)
    options.report("note: " + note);
  if (!plan)
    return reportError(plan.message());
  if (Status status = Session(std::move(options), *plan, device).run(); !status)
    return reportError(status.message());
  if (Status status = flushStandardOutput(); !status)
    return reportError(status.message());
  return 0;
}
