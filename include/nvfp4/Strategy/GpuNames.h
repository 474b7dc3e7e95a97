//===- GpuNames.h - GPUs that kernels are made for --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one list of them, for every message that names them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_GPUNAMES_H
#define NVFP4_STRATEGY_GPUNAMES_H

#include <optional>
#include <string>
#include <string_view>

namespace nvfp4::strategy {

/// GPUs whose kernels can do different things: sm_90a, and sm_100a with its
/// family.
enum class KernelTarget { SM90A, SM100A };

/// What runs kernels for the GPU `name`, if there is such a GPU.
std::optional<KernelTarget> findKernelTarget(std::string_view name);

/// The GPUs for a message, those of `only` if it is given: `sm_90a, sm_100a,
/// sm_103a or sm_100f`. `first` comes before them.
std::string listGpus(std::string_view first = "",
                     std::optional<KernelTarget> only = std::nullopt);

/// The name of the GPU that stands for its family.
std::string_view stringify(KernelTarget target);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_GPUNAMES_H
