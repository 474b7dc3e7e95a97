//===- GroupedProblem.h - a grouped product in simulated memory -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random operands of the kernels in Inputs/ in device memory, the kernel's
// argument block, and a check of sampled results in f64. Benchmarks use it too.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_SIMULATOR_GROUPEDPROBLEM_H
#define NVFP4_UNITTESTS_SIMULATOR_GROUPEDPROBLEM_H

#include "nvfp4/Simulator/Simulator.h"

#include <optional>

namespace nvfp4::sim {

/// Extents of the groups; N is a multiple of 256 and K of 256.
struct GroupedShape {
  std::string name;
  std::vector<int> m;
  int n = 0;
  int k = 0;

  /// 128x256 tiles of all groups, or 256x256 ones of pairs.
  unsigned tiles(bool pair) const;
};

/// One problem; operands are a function of the shape.
class GroupedProblem {
public:
  /// For Inputs/grouped_nvfp4.ptx, or grouped_nvfp4_pair.ptx with `pair`.
  explicit GroupedProblem(const GroupedShape &shape, bool pair = false);

  /// Launch of at most `ctas` CTAs.
  LaunchConfig config(unsigned ctas) const;
  DeviceMemory &deviceMemory() { return memory; }
  /// Forgets the results of an earlier run.
  void poisonResults();
  /// Compares sampled results; the first that is wrong, or nothing.
  std::optional<std::string> check() const;

private:
  struct Group {
    std::vector<uint8_t> a, b, sa, sb;
    uint64_t result = 0;
  };

  GroupedShape shape;
  bool pair;
  DeviceMemory memory;
  std::vector<Group> groups;
  std::vector<uint8_t> arguments;
};

} // namespace nvfp4::sim

#endif // NVFP4_UNITTESTS_SIMULATOR_GROUPEDPROBLEM_H
