//===- GroupedKernelTest.cpp - whole kernels of this project ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grouped NVFP4 kernels of Inputs/, one CTA a tile and a pair a tile, with
// ragged groups and reuse of all stages: right results and no report, for many
// seeds, delays and both profiles of the checker.
//
//===----------------------------------------------------------------------===//

#include "GroupedProblem.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace nvfp4::sim;

namespace {

class GroupedKernel : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    std::string name =
        GetParam() ? "grouped_nvfp4_pair.ptx" : "grouped_nvfp4.ptx";
    std::ifstream file(std::string(NVFP4_SIMULATOR_INPUTS) + "/" + name);
    ASSERT_TRUE(file) << name;
    std::string text((std::istreambuf_iterator<char>(file)), {});
    Diagnostics diagnostics(name);
    program = Program::load(text, name, diagnostics);
    ASSERT_NE(program, nullptr) << diagnostics.str();
  }

  void expectRight(GroupedProblem &problem, unsigned ctas,
                   const RunOptions &options) {
    problem.poisonResults();
    const Kernel &kernel = *program->kernel("");
    RunResult result = program->launch(kernel, problem.config(ctas),
                                       problem.deviceMemory(), options);
    EXPECT_TRUE(result.ok()) << "seed " << options.seed << "\n"
                             << result.reports.str(kernel);
    EXPECT_EQ(problem.check().value_or(""), "") << "seed " << options.seed;
  }

  std::unique_ptr<Program> program;
};

TEST_P(GroupedKernel, RightAndSilentForAllSeeds) {
  // Fewer CTAs than tiles and more steps than stages.
  GroupedProblem problem({"ragged", {200, 0, 60}, 512, 1024}, GetParam());
  RunOptions options;
  for (options.seed = 1; options.seed <= 32; ++options.seed) {
    options.check = options.seed % 2;
    options.profile =
        options.seed % 4 == 1 ? CheckProfile::Strict : CheckProfile::Cutlass;
    options.delays =
        options.seed % 8 < 5 ? DelayMode::Uniform : DelayMode::Adversarial;
    expectRight(problem, 2 + 2 * (options.seed % 3), options);
  }
}

TEST_P(GroupedKernel, RightWithImmediateDelays) {
  GroupedProblem problem({"small", {130}, 256, 512}, GetParam());
  RunOptions options;
  options.delays = DelayMode::Immediate;
  options.check = true;
  expectRight(problem, 2, options);
}

TEST_P(GroupedKernel, AccumulationModelsAgreeWithinTheirBounds) {
  GroupedProblem problem({"small", {30}, 256, 256}, GetParam());
  for (Accumulation mode : {Accumulation::Aligned, Accumulation::SequentialF32,
                            Accumulation::F64}) {
    RunOptions options;
    options.accumulation = mode;
    expectRight(problem, 4, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, GroupedKernel, testing::Bool());

} // namespace
