//===- MachineTest.cpp - Tests of threads and instruction sets --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the number of threads and the instruction set come from, and that wrong
// environments are reported.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace {
class Machine : public testing::Test {
protected:
  Machine() { clear(); }
  ~Machine() override { clear(); }

private:
  static void clear() {
    unsetenv("NVFP4_NUM_THREADS");
    unsetenv("NVFP4_CPU_ISA");
    nvfp4_set_num_threads(0);
  }
};
} // namespace

TEST_F(Machine, ThreadsComeFromTheCallerThenTheEnvironment) {
  int standard = nvfp4_num_threads();
  EXPECT_GE(standard, 1);
  setenv("NVFP4_NUM_THREADS", "3", 1);
  EXPECT_EQ(nvfp4_num_threads(), 3);
  EXPECT_EQ(nvfp4_set_num_threads(5), NVFP4_OK);
  EXPECT_EQ(nvfp4_num_threads(), 5);
  EXPECT_EQ(nvfp4_set_num_threads(0), NVFP4_OK);
  EXPECT_EQ(nvfp4_num_threads(), 3);
  unsetenv("NVFP4_NUM_THREADS");
  EXPECT_EQ(nvfp4_num_threads(), standard);
  EXPECT_EQ(nvfp4_set_num_threads(-1), NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_set_num_threads(1 << 20), NVFP4_INVALID_ARGUMENT);
}

TEST_F(Machine, TheEnvironmentChoosesAmongInstructionSetsOfTheCpu) {
  int best = nvfp4_cpu_isa();
  ASSERT_NE(nvfp4_cpu_isa_name(best), nullptr);
  EXPECT_EQ(nvfp4_cpu_isa_name(5), nullptr);
  EXPECT_EQ(nvfp4_cpu_isa_name(-1), nullptr);
  for (int isa = 0; isa < 5; ++isa) {
    setenv("NVFP4_CPU_ISA", nvfp4_cpu_isa_name(isa), 1);
    // The CPU may have it without it being the fastest.
    bool hasPairs = isa == 3 && __builtin_cpu_supports("avx512bf16");
    EXPECT_EQ(nvfp4_cpu_isa(), hasPairs ? 3 : std::min(isa, best));
  }
  setenv("NVFP4_CPU_ISA", "mmx", 1);
  EXPECT_EQ(nvfp4_cpu_isa(), 0);
  int isa = -1;
  EXPECT_EQ(nvfp4_choose_cpu_isa(&isa), NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(isa, 0);
  EXPECT_STREQ(nvfp4_last_error(),
               "expected generic, avx2, avx512vnni, avx512bf16 or amx in "
               "NVFP4_CPU_ISA, but got 'mmx'");
  setenv("NVFP4_CPU_ISA", "", 1);
  EXPECT_EQ(nvfp4_choose_cpu_isa(&isa), NVFP4_OK);
  EXPECT_EQ(isa, best);
  EXPECT_EQ(nvfp4_choose_cpu_isa(nullptr), NVFP4_INVALID_ARGUMENT);
}
