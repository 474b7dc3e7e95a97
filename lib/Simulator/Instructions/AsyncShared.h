//===- AsyncShared.h - shared memory as asynchronous operations see it ----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies between a byte vector and swizzled shared memory with bounds checks,
// initialisation tracking and checker calls; used by all copy engines.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_ASYNCSHARED_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_ASYNCSHARED_H

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

/// An asynchronous operation in flight, for reports and the checker.
struct AsyncOperation {
  Machine *machine = nullptr;
  uint32_t pc = noPc;
  std::string where;
  /// The checker's number of the operation.
  uint32_t id = 0;

  void fault(ReportKind kind, std::string message) const;
  void note(ReportKind kind, std::string message) const;
};

/// Starts an operation issued by `lane` of `warp`.
AsyncOperation beginOperation(Warp &warp, unsigned lane, OperationProxy proxy);

/// Writes `bytes` at `offset` of `cta`'s shared memory. Bytes whose `written`
/// is 0 count as not initialised; when it is empty all are.
bool writeShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                 const std::vector<uint8_t> &bytes, TensorSwizzle swizzle,
                 const std::vector<uint8_t> &written = {},
                 Access access = Access::Write);

/// Reads `size` bytes.
bool readShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                uint32_t size, std::vector<uint8_t> &bytes,
                TensorSwizzle swizzle, Access access = Access::Read);

/// Counts `bytes` on the mbarrier at `address`.
void completeOn(const AsyncOperation &operation, Cta &from, uint32_t address,
                uint32_t bytes);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_ASYNCSHARED_H
