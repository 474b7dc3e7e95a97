//===- SimulatorBenchmark.cpp - how fast the simulator runs kernels -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nvfp4-simulator-benchmark KERNEL.ptx CASE [--check] [--ctas N]
//   [--repetitions N] [--seed N]
//
// Runs the grouped kernel on a case, checks sampled results, and prints the
// median time of the launches and counters as one line of JSON.
//
//===----------------------------------------------------------------------===//

#include "GroupedProblem.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace nvfp4::sim;

namespace {

const GroupedShape cases[] = {
    {"two_groups_256x512x512", {256, 256}, 512, 512},
    {"gpumode_shape1", {80, 176, 128, 72, 64, 248, 96, 160}, 4096, 7168},
    {"gpumode_shape4", {128, 384}, 4096, 1536},
};

int fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("usage: nvfp4-simulator-benchmark KERNEL.ptx CASE [--check] "
                "[--ctas N] [--repetitions N] [--seed N]");
  RunOptions options;
  unsigned ctas = 148, repetitions = 1;
  for (int i = 3; i < argc; ++i) {
    auto number = [&] { return std::strtoull(argv[++i], nullptr, 10); };
    if (!std::strcmp(argv[i], "--check"))
      options.check = true;
    else if (i + 1 == argc)
      return fail(std::string("expected an option with a value, but got ") +
                  argv[i]);
    else if (!std::strcmp(argv[i], "--ctas"))
      ctas = static_cast<unsigned>(number());
    else if (!std::strcmp(argv[i], "--repetitions"))
      repetitions = std::max(1u, static_cast<unsigned>(number()));
    else if (!std::strcmp(argv[i], "--seed"))
      options.seed = number();
    else
      return fail(std::string("unknown option ") + argv[i]);
  }
  const auto *found =
      std::find_if(std::begin(cases), std::end(cases),
                   [&](const GroupedShape &s) { return s.name == argv[2]; });
  if (found == std::end(cases))
    return fail(std::string("unknown case ") + argv[2]);
  std::ifstream file(argv[1]);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  Diagnostics diagnostics(argv[1]);
  auto program = Program::load(text, argv[1], diagnostics);
  if (!program)
    return fail(diagnostics.str());
  bool pair = program->kernel("grouped_nvfp4_pair");
  const Kernel *kernel = program->kernel("");
  GroupedProblem problem(*found, pair);
  std::vector<double> seconds, cpuSeconds;
  RunStatistics statistics;
  for (unsigned r = 0; r < repetitions; ++r) {
    problem.poisonResults();
    std::clock_t start = std::clock();
    RunResult result = program->launch(*kernel, problem.config(ctas),
                                       problem.deviceMemory(), options);
    cpuSeconds.push_back(static_cast<double>(std::clock() - start) /
                         CLOCKS_PER_SEC);
    if (!result.ok())
      return fail(result.reports.str(*kernel));
    if (auto wrong = problem.check())
      return fail(*wrong);
    seconds.push_back(result.statistics.seconds);
    statistics = result.statistics;
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(cpuSeconds.begin(), cpuSeconds.end());
  std::printf("{\"case\": \"%s\", \"check\": %s, \"seconds\": %.6f, "
              "\"cpu_seconds\": %.6f, "
              "\"warp_instructions\": %llu, \"mmas\": %llu, "
              "\"tma_bytes\": %llu}\n",
              found->name.c_str(), options.check ? "true" : "false",
              seconds[seconds.size() / 2], cpuSeconds[cpuSeconds.size() / 2],
              static_cast<unsigned long long>(statistics.warpInstructions),
              static_cast<unsigned long long>(statistics.mmas),
              static_cast<unsigned long long>(statistics.tmaBytes));
  return 0;
}
