//===- nvfp4-compile.cpp - The ahead-of-time compiler -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From .mlir to a shared object that needs only the runtime. Options only; the
// work is in lib/Tools/Compile.cpp.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Compile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

template <typename T> using Opt = cl::opt<T, true>;

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // LLVM registers options under our names; the reset forgets the category too.
  cl::ResetCommandLineParser();
  cl::OptionCategory category("Options");
  nvfp4::tools::CompileOptions compile;
  compile.report = [](const std::string &message) {
    errs() << message << "\n";
  };
  // clang-format off
  Opt<std::string> input(cl::Positional, cl::cat(category), cl::desc("<module.mlir>"), cl::location(compile.input));
  Opt<std::string> output("o", cl::cat(category), cl::desc("The file to write"), cl::value_desc("file"), cl::location(compile.output));
  Opt<std::string> target("target", cl::cat(category), cl::desc("The machine to compile for: cpu, sm_90a, sm_100a, sm_103a or sm_100f"), cl::location(compile.target));
  Opt<std::string> emit("emit", cl::cat(category), cl::desc("mlir (LLVM dialect), llvm, asm, obj or so; ptx or cubin of kernels"), cl::location(compile.emit));
  Opt<std::string> isa("isa", cl::cat(category), cl::desc("generic, avx2, avx512vnni, avx512bf16, amx (or several: the runtime chooses), all of them (default for so and obj) or native"), cl::location(compile.isa));
  Opt<std::string> passPipeline("pass-pipeline", cl::cat(category), cl::desc("Passes to run on the module first, such as builtin.module(raise-to-grouped-scaled-gemm)"), cl::value_desc("pipeline"), cl::location(compile.passPipeline));
  Opt<bool> openmp("openmp", cl::cat(category), cl::desc("Run parallel loops on OpenMP threads (default)"), cl::location(compile.threads));
  Opt<bool> runtimeChecks("runtime-checks", cl::cat(category), cl::desc("Check offsets, indices and dynamic extents where the code runs (default)"), cl::location(compile.runtimeChecks));
  Opt<std::string> memory("memory", cl::cat(category), cl::desc("Where arguments and results of functions for a GPU are: host (default), or device for nvfp4_function_run, which copies nothing"), cl::location(compile.memory));
  Opt<int64_t> versions("versions", cl::cat(category), cl::desc("Kernels for few and for many rows of a product whose rows are known only where the code runs, at most (4)"), cl::location(compile.versions));
  Opt<bool> fuseLaunches("fuse-launches", cl::cat(category), cl::desc("One launch for operations beside products where it is predicted to be faster, with --memory=device (default)"), cl::location(compile.fuseLaunches));
  Opt<int64_t> multiprocessors("multiprocessors", cl::cat(category), cl::desc("Multiprocessors of the GPU to choose tiles for; those of the target's largest device by default"), cl::location(compile.multiprocessors));
  Opt<bool> assemble("assemble", cl::cat(category), cl::desc("Store machine code by NVIDIA's ptxas beside the PTX of kernels, so that loading assembles nothing"), cl::location(compile.assemble));
  Opt<unsigned> optLevel("O", cl::Prefix, cl::cat(category), cl::desc("Optimisation level, 0 to 3"), cl::location(compile.optLevel));
  Opt<bool> explain("explain", cl::cat(category), cl::desc("Print how each product could run on the GPU --target, and stop"), cl::location(compile.explain));
  Opt<std::string> strategies("strategies", cl::cat(category), cl::desc("Strategies that were measured, for products without one"), cl::value_desc("file"), cl::location(compile.strategies));
  Opt<std::string> tune("tune", cl::ValueOptional, cl::cat(category), cl::desc("First measure this many strategies (4 without a number) of each product of which the file knows nothing, on the device $NVFP4_DEVICE"), cl::value_desc("number"), cl::location(compile.tune));
  // clang-format on
  cl::ParseCommandLineOptions(argc, argv, "NVFP4 compiler\n");
  if (tune.getNumOccurrences() && compile.tune.empty())
    compile.tune = "4";
  for (const cl::Option *option : std::initializer_list<cl::Option *>{
           &output, &emit, &isa, &openmp, &runtimeChecks, &assemble, &optLevel})
    if (option->getNumOccurrences())
      compile.forOutput.push_back((option->ArgStr.size() == 1 ? "-" : "--") +
                                  option->ArgStr.str());
  return nvfp4::tools::runCompile(compile);
}
