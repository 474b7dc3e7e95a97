//===- GpuNames.cpp - GPUs that kernels are made for ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names are those of LLVM and ptxas.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/GpuNames.h"

#include "nvfp4/Strategy/Alternatives.h"

using namespace nvfp4::strategy;

namespace {
struct Gpu {
  std::string_view name;
  KernelTarget target;
};
} // namespace

static constexpr Gpu kGpus[] = {{"sm_90a", KernelTarget::SM90A},
                                {"sm_100a", KernelTarget::SM100A},
                                {"sm_103a", KernelTarget::SM100A},
                                {"sm_100f", KernelTarget::SM100A}};

std::optional<KernelTarget>
nvfp4::strategy::findKernelTarget(std::string_view name) {
  for (const Gpu &gpu : kGpus)
    if (gpu.name == name)
      return gpu.target;
  return std::nullopt;
}

std::string nvfp4::strategy::listGpus(std::string_view first,
                                      std::optional<KernelTarget> only) {
  std::vector<std::string> names;
  if (!first.empty())
    names.emplace_back(first);
  for (const Gpu &gpu : kGpus)
    if (!only || gpu.target == *only)
      names.emplace_back(gpu.name);
  return joinAlternatives(names);
}

std::string_view nvfp4::strategy::stringify(KernelTarget target) {
  return target == KernelTarget::SM90A ? "sm_90a" : "sm_100a";
}
