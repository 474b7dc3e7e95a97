//===- GpuNamesTest.cpp - The list of GPUs --------------------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/GpuNames.h"
#include "nvfp4/Strategy/Tcgen05/Machine.h"

#include "gtest/gtest.h"

using namespace nvfp4::strategy;

namespace {

TEST(GpuNames, AreListedInOneOrder) {
  EXPECT_EQ(listGpus(), "sm_90a, sm_100a, sm_103a or sm_100f");
  EXPECT_EQ(listGpus("cpu"), "cpu, sm_90a, sm_100a, sm_103a or sm_100f");
  EXPECT_EQ(listGpus("", KernelTarget::SM90A), "sm_90a");
  EXPECT_EQ(listGpus("", KernelTarget::SM100A), "sm_100a, sm_103a or sm_100f");
}

TEST(GpuNames, HaveKernelsOfTheirFamily) {
  EXPECT_EQ(findKernelTarget("sm_90a"), KernelTarget::SM90A);
  for (const char *name : {"sm_100a", "sm_103a", "sm_100f"}) {
    EXPECT_EQ(findKernelTarget(name), KernelTarget::SM100A) << name;
    // All of them have a model.
    EXPECT_NE(findMachine(name), nullptr) << name;
  }
  for (const char *name : {"", "cpu", "sm_90", "sm_80", "sm_100"})
    EXPECT_FALSE(findKernelTarget(name)) << name;
}

} // namespace
