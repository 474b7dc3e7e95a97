//===- nvfp4-run.cpp - Runs a module on tensors from files ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options only; the work is in lib/Tools/Run.cpp. This file alone knows that
// reports go to standard error.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Run.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

template <typename T> using Opt = cl::opt<T, true>;
using List = cl::list<std::string, std::vector<std::string>>;

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // LLVM's library registers options of its own, some under our names.
  cl::ResetCommandLineParser();
  // The reset forgets the general category, and with it what --help lists.
  cl::OptionCategory category("Options");
  nvfp4::tools::RunOptions run;
  run.report = [](const std::string &message) { errs() << message << "\n"; };
  // clang-format off
  Opt<std::string> input(cl::Positional, cl::cat(category), cl::desc("<module.mlir | artefact.so>"), cl::location(run.input));
  Opt<std::string> entry("entry", cl::cat(category), cl::desc("The function, if there are several"), cl::location(run.entry));
  List inputs("inputs", cl::CommaSeparated, cl::cat(category), cl::desc("One for each argument: a.npy, a.npy@bf16 (its bytes as bf16), m.safetensors:name, f32:1.5"), cl::location(run.inputs));
  List outputs("outputs", cl::CommaSeparated, cl::cat(category), cl::desc(".npy files for the results, then for written arguments; - skips"), cl::location(run.outputs));
  Opt<std::string> device("device", cl::cat(category), cl::desc("cpu, cuda or sim (products as kernels), or reference (the interpreter)"), cl::location(run.device));
  Opt<std::string> target("target", cl::cat(category), cl::desc("The GPU to compile for: sm_90a, sm_100a, sm_103a or sm_100f (default: what the device is)"), cl::location(run.target));
  Opt<std::string> check("check", cl::cat(category), cl::desc("reference[:sampled=N]: compare with the interpreter"), cl::location(run.check));
  Opt<std::string> reference("reference", cl::cat(category), cl::desc("The module to interpret, when running an artefact"), cl::location(run.reference));
  Opt<bool> exact("exact", cl::cat(category), cl::desc("Results must be the interpreter's, rounded once, to the bit: for sums that are exact and epilogues without exp or tanh"), cl::location(run.exact));
  Opt<std::string> time("time", cl::ValueOptional, cl::cat(category), cl::desc("Time this many calls (5 without a number)"), cl::location(run.time));
  Opt<int> threads("threads", cl::cat(category), cl::desc("Threads (default: NVFP4_NUM_THREADS, or what OpenMP chooses)"), cl::location(run.numThreads));
  Opt<std::string> isa("isa", cl::cat(category), cl::desc("generic, avx2, avx512vnni, avx512bf16, amx (or several: the runtime chooses) or native"), cl::location(run.isa));
  Opt<std::string> passPipeline("pass-pipeline", cl::cat(category), cl::desc("Passes to run on the module first, such as builtin.module(raise-to-grouped-scaled-gemm)"), cl::value_desc("pipeline"), cl::location(run.passPipeline));
  Opt<bool> runtimeChecks("runtime-checks", cl::cat(category), cl::desc("Check offsets, indices and dynamic extents where the code runs (default)"), cl::location(run.runtimeChecks));
  Opt<unsigned> optLevel("O", cl::Prefix, cl::cat(category), cl::desc("Optimisation level, 0 to 3"), cl::location(run.optLevel));
  Opt<bool> signature("print-signature", cl::cat(category), cl::desc("Print what the function takes and stop"), cl::location(run.printSignature));
  // clang-format on
  cl::ParseCommandLineOptions(argc, argv, "Runs a function on tensors\n");
  if (time.getNumOccurrences() && run.time.empty())
    run.time = "5";
  return nvfp4::tools::runRun(run);
}
