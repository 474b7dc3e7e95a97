//===- Fragments.h - matrix fragments in registers --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How mma and wgmma spread matrices over the lanes of a warp (PTX 9.7.14.5):
// lane 4g + t, elements of b bits packed e = 32 / b to a register.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FRAGMENTS_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FRAGMENTS_H

#include "Lanewise.h"

#include "nvfp4/Simulator/TensorCore/Accumulate.h"

namespace nvfp4::sim {

/// Element type of a multiplicand.
struct FragmentType {
  FloatFormat format{};
  unsigned bits = 16;
};

/// The fragment type of f16, bf16, tf32, e4m3 and e5m2; false for others.
bool fragmentType(Type type, FragmentType &result);

/// A 16 x k matrix held by a warp: register r of lane 4g + t holds row
/// g + 8 (r % 2) and columns e t + 4 e (r / 2) onwards. `values` is register-
/// major, 32 lanes each.
void readFragmentA(const std::vector<uint32_t> &values,
                   const FragmentType &type, unsigned k, MmaMatrix &out);

/// A k x 8 matrix: register r holds column g and rows e t + 4 e r onwards.
void readFragmentB(const std::vector<uint32_t> &values,
                   const FragmentType &type, unsigned k, MmaMatrix &out);

/// 16 x n accumulators: for each 8 columns, f32 in four registers or f16 pairs
/// in two.
void readAccumulators(const std::vector<uint32_t> &values, bool half,
                      unsigned n, std::vector<float> &out);
void writeAccumulators(const std::vector<float> &in, bool half, unsigned n,
                       std::vector<uint32_t> &values);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FRAGMENTS_H
