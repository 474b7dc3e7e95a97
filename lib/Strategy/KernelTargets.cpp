//===- KernelTargets.cpp - The registry of targets --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each GPU. docs/HowTo/target.md says what else a new one needs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Alternatives.h"
#include "nvfp4/Strategy/Tcgen05/Target.h"
#include "nvfp4/Strategy/Wgmma/Target.h"

#include <array>

using namespace nvfp4::strategy;

static const auto &getKernelTargets() {
  static const WgmmaTarget sm90a(
      {.name = "sm_90a", .computeCapability = 90, .isSimulated = true});
  static const Tcgen05Target sm100a(
      {.name = "sm_100a", .computeCapability = 100, .isSimulated = true},
      kB200);
  static const Tcgen05Target sm103a(
      {.name = "sm_103a", .computeCapability = 103, .isSimulated = false},
      kB200);
  // One PTX for all devices of the family.
  static const Tcgen05Target sm100f(
      {.name = "sm_100f", .computeCapability = 0, .isSimulated = true}, kB200);
  static const std::array<const KernelTarget *, 4> targets = {&sm90a, &sm100a,
                                                              &sm103a, &sm100f};
  return targets;
}

const KernelTarget *nvfp4::strategy::findKernelTarget(std::string_view name) {
  for (const KernelTarget *target : getKernelTargets())
    if (target->getName() == name)
      return target;
  return nullptr;
}

const KernelTarget *
nvfp4::strategy::findKernelTargetOfDevice(int computeCapability) {
  for (const KernelTarget *target : getKernelTargets())
    if (target->getGpu().computeCapability == computeCapability)
      return target;
  return nullptr;
}

std::vector<std::string>
nvfp4::strategy::getTargetNames(const TargetFilter &which) {
  std::vector<std::string> names;
  for (const KernelTarget *target : getKernelTargets())
    if (!which || which(*target))
      names.emplace_back(target->getName());
  return names;
}

std::string nvfp4::strategy::listGpus(std::string_view first,
                                      const TargetFilter &which) {
  std::vector<std::string> names = getTargetNames(which);
  if (!first.empty())
    names.emplace(names.begin(), first);
  return joinAlternatives(names);
}
