//===- KernelTargetTest.cpp - The registry of targets ---------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/KernelTargets.h"

#include "nvfp4/KernelTarget/KernelTarget.h"

#include "gtest/gtest.h"

using namespace nvfp4::strategy;

namespace {

struct KernelTargets : testing::Test {
  static void SetUpTestSuite() { registerKernelTargets(); }
};

TargetFilter ofFamily(KernelFamily family) {
  return [=](const KernelTarget &each) { return each.getFamily() == family; };
}

TEST_F(KernelTargets, AreListedInOneOrder) {
  EXPECT_EQ(listGpus(), "sm_90a, sm_100a, sm_103a or sm_100f");
  EXPECT_EQ(listGpus("cpu"), "cpu, sm_90a, sm_100a, sm_103a or sm_100f");
  EXPECT_EQ(listGpus("", ofFamily(KernelFamily::Wgmma)), "sm_90a");
  EXPECT_EQ(listGpus("", ofFamily(KernelFamily::Tcgen05)),
            "sm_100a, sm_103a or sm_100f");
}

TEST_F(KernelTargets, HaveKernelsOfTheirFamily) {
  for (const std::string &name : getTargetNames()) {
    const KernelTarget *target = findKernelTarget(name);
    ASSERT_NE(target, nullptr) << name;
    EXPECT_EQ(target->getName(), name);
    bool isWgmma = name == "sm_90a";
    EXPECT_EQ(target->getFamily(),
              isWgmma ? KernelFamily::Wgmma : KernelFamily::Tcgen05)
        << name;
    EXPECT_EQ(target->getFamilyName(), isWgmma ? "sm_90a" : "sm_100a") << name;
  }
  for (const char *name : {"", "cpu", "sm_90", "sm_80", "sm_100"})
    EXPECT_EQ(findKernelTarget(name), nullptr) << name;
}

TEST_F(KernelTargets, AreThoseOfTheirDevices) {
  EXPECT_EQ(findKernelTargetOfDevice(90)->getName(), "sm_90a");
  EXPECT_EQ(findKernelTargetOfDevice(100)->getName(), "sm_100a");
  EXPECT_EQ(findKernelTargetOfDevice(103)->getName(), "sm_103a");
  EXPECT_EQ(findKernelTargetOfDevice(80), nullptr);
}

/// The data sheet of sm_103a promises more products, and as many bytes.
TEST_F(KernelTargets, HaveMachinesOfTheirOwn) {
  Problem problem;
  problem.groups = {{8, 4096, 4096, 4096}};
  Floor b200 = findKernelTarget("sm_100a")->computeFloor(problem);
  Floor b300 = findKernelTarget("sm_103a")->computeFloor(problem);
  EXPECT_EQ(b300.memory, b200.memory);
  EXPECT_DOUBLE_EQ(b300.math * 15, b200.math * 9);
  EXPECT_EQ(findKernelTarget("sm_103a")->rankTiles(problem).front().tile,
            findKernelTarget("sm_100a")->rankTiles(problem).front().tile);
}

/// What every target promises of its candidates.
TEST_F(KernelTargets, RankLegalTilesFirst) {
  Problem problem;
  problem.forKernels = true;
  problem.groups = {{8, 100, 1024, 4096}};
  for (const std::string &name : getTargetNames()) {
    const KernelTarget *target = findKernelTarget(name);
    EXPECT_EQ(target->explainNoModel(problem), "") << name;
    EXPECT_GT(target->computeFloor(problem).getTotal(), 0) << name;
    std::vector<Candidate> candidates = target->rankTiles(problem);
    ASSERT_FALSE(candidates.empty()) << name;
    EXPECT_FALSE(candidates.front().violation) << name;
    bool isIllegal = false;
    for (const Candidate &each : candidates) {
      EXPECT_TRUE(each.violation || !isIllegal) << name << toString(each.tile);
      isIllegal |= each.violation.has_value();
      if (each.violation)
        continue;
      EXPECT_FALSE(target->findViolation(each.tile, problem)) << name;
      EXPECT_EQ(target->complete(each.tile, problem), each.tile) << name;
    }
    Tile byDefault = target->getDefaultTile(problem);
    EXPECT_FALSE(target->findViolation(byDefault, problem)) << name;
  }
}

TEST_F(KernelTargets, FindTheNearestLegalTile) {
  Problem problem;
  problem.forKernels = true;
  problem.groups = {{8, 100, 1024, 4096}};
  Tile odd = {.m = 7, .n = 100, .k = 300};
  for (const std::string &name : getTargetNames()) {
    const KernelTarget *target = findKernelTarget(name);
    EXPECT_TRUE(target->findViolation(odd, problem)) << name;
    std::optional<Tile> legal = target->findNearestLegal(odd, problem);
    ASSERT_TRUE(legal) << name;
    EXPECT_FALSE(target->findViolation(*legal, problem)) << name;
  }
}

} // namespace
