//===- KernelTarget.cpp - GPUs that kernels are made for --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets are registered before anyone asks for one, and never removed.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/KernelTarget.h"

#include "nvfp4/KernelTarget/Alternatives.h"

using namespace nvfp4::strategy;

static std::vector<const KernelTarget *> &getRegistry() {
  static std::vector<const KernelTarget *> registry;
  return registry;
}

void nvfp4::strategy::registerKernelTarget(const KernelTarget &target) {
  getRegistry().push_back(&target);
}

const KernelTarget *nvfp4::strategy::findKernelTarget(std::string_view name) {
  for (const KernelTarget *target : getRegistry())
    if (target->getName() == name)
      return target;
  return nullptr;
}

const KernelTarget *
nvfp4::strategy::findKernelTargetOfDevice(int computeCapability) {
  for (const KernelTarget *target : getRegistry())
    if (target->getGpu().computeCapability == computeCapability)
      return target;
  return nullptr;
}

std::vector<std::string>
nvfp4::strategy::getTargetNames(const TargetFilter &which) {
  std::vector<std::string> names;
  for (const KernelTarget *target : getRegistry())
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
