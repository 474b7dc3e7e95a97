//===- Shadow.h - the latest accesses of each piece of memory ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell keeps the last write and the reads since. Shared memory has a cell for
// each 4 bytes, tensor memory one for each column of 32 lanes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_SHADOW_H
#define NVFP4_SIMULATOR_CHECK_SHADOW_H

#include <cstdint>
#include <vector>

namespace nvfp4::sim {

/// One access of a warp or of an asynchronous operation.
struct AccessRecord {
  static constexpr uint32_t nobody = ~0u;
  /// Warp number in the cluster, or operation number with `isOperation`.
  uint32_t agent = nobody;
  uint32_t clock = 0;
  uint32_t pc = 0;
  bool isOperation = false;
  bool isAtomic = false;
  /// Bytes of the cell touched.
  uint8_t bytes = 15;

  bool valid() const { return agent != nobody; }
  bool sameAgent(const AccessRecord &other) const {
    return agent == other.agent && isOperation == other.isOperation;
  }
};

struct ShadowCell {
  AccessRecord write;
  std::vector<AccessRecord> reads;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_SHADOW_H
