//===- MeasureFrame.cpp - Calls that only count -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses lie where no process has memory, so that code which reads them is
// found out. Arguments, results and the workspace are far apart, since checks
// compare their addresses.
//
//===----------------------------------------------------------------------===//

#include "MeasureFrame.h"

#include "../Error.h"

using namespace nvfp4::runtime;

/// Past the addresses that systems give to processes.
static constexpr uint64_t kArguments = uint64_t{1} << 60;
static constexpr uint64_t kResults = uint64_t{2} << 60;
static constexpr uint64_t kWorkspace = uint64_t{3} << 60;
/// Between two of them: more than a tensor may have.
static constexpr uint64_t kDistance = uint64_t{1} << 48;

void *MeasureFrame::getAddress(size_t argument) {
  return reinterpret_cast<void *>(kArguments + argument * kDistance);
}

nvfp4_status MeasureFrame::getStream(nvfp4_stream *&stream) {
  stream = nullptr;
  return NVFP4_OK;
}

nvfp4_status MeasureFrame::allocate(uint64_t bytes, void *&pointer) {
  pointer = reinterpret_cast<void *>(kWorkspace + workspace.allocate(bytes));
  return NVFP4_OK;
}

nvfp4_status MeasureFrame::free(void *pointer) {
  workspace.free(reinterpret_cast<uint64_t>(pointer) - kWorkspace);
  return NVFP4_OK;
}

nvfp4_status MeasureFrame::allocateResult(size_t index,
                                          std::span<const int64_t>, uint64_t,
                                          void *&pointer) {
  pointer = reinterpret_cast<void *>(kResults + index * kDistance);
  return NVFP4_OK;
}

nvfp4_status MeasureFrame::refuseModules() {
  return fail(NVFP4_UNSUPPORTED,
              "code that loads modules itself cannot be measured");
}
