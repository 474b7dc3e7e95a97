//===- MeasureFrame.h - Calls that only count -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a call runs on shapes alone: memory has addresses that nobody
// uses, and nothing is launched. What it asks for in the same order as a call
// that runs is the size of the workspace and the shapes of results.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FRAME_MEASUREFRAME_H
#define NVFP4_LIB_RUNTIME_FRAME_MEASUREFRAME_H

#include "CallFrame.h"
#include "Workspace.h"

namespace nvfp4::runtime {

class MeasureFrame final : public CallFrame {
public:
  using CallFrame::CallFrame;

  /// Stands for the memory of an argument.
  static void *getAddress(size_t argument);

  uint64_t getBytes() const { return workspace.getPeak(); }

  nvfp4_status getStream(nvfp4_stream *&stream) override;
  nvfp4_status synchronize() override { return NVFP4_OK; }
  nvfp4_status allocate(uint64_t bytes, void *&pointer) override;
  nvfp4_status free(void *pointer) override;
  nvfp4_status copy(const RowCopy &) override { return NVFP4_OK; }
  nvfp4_status fill(void *, uint32_t, unsigned, size_t) override {
    return NVFP4_OK;
  }
  nvfp4_status launch(const KernelLaunch &) override { return NVFP4_OK; }
  nvfp4_status launchOwn(const char *, nvfp4_launch, void *const *) override {
    return NVFP4_OK;
  }
  nvfp4_status encode(const nvfp4_tensor_map_spec &, void *) override {
    return NVFP4_OK;
  }
  nvfp4_status allocateResult(size_t index, std::span<const int64_t> extents,
                              uint64_t bytes, void *&pointer) override;
  nvfp4_status getDataRecord(nvfp4_data_record *&record) override {
    record = nullptr;
    return NVFP4_OK;
  }
  nvfp4_status refuseModules() override;
  nvfp4_status registerHost(void *, size_t) override { return NVFP4_OK; }
  nvfp4_status unregisterHost(void *) override { return NVFP4_OK; }

private:
  Workspace workspace;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FRAME_MEASUREFRAME_H
