//===- CallFrame.h - Where the device work of a call goes -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code asks for streams, memory, copies and launches through functions
// that cannot fail: mgpu... and those of nvfp4_kernels.h. The frame of the
// running call answers them. There are three:
//
//   RunFrame      the caller's stream and workspace: nothing is allocated,
//                 copied from the host or waited for
//   MeasureFrame  counts the bytes of the workspace, and does nothing
//   OwnFrame      a stream and memory of its own; waits where it is told to
//
// The first error of a frame is the call's. After it the frame does nothing.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FRAME_CALLFRAME_H
#define NVFP4_LIB_RUNTIME_FRAME_CALLFRAME_H

#include "../Devices/Backend.h"
#include "../Violation.h"
#include "nvfp4/Runtime/nvfp4_kernels.h"

#include <mutex>
#include <span>
#include <string>

namespace nvfp4::runtime {

/// A launch by compiled code. `parameters` has a pointer to each value.
struct KernelLaunch {
  const nvfp4_kernel_entry &kernel;
  nvfp4_launch launch{};
  /// The grid is no larger than the device runs at a time, whole clusters.
  bool isPersistent = false;
  void *const *parameters;
};

class CallFrame {
public:
  explicit CallFrame(nvfp4_call &call) : call(call) {}
  virtual ~CallFrame() = default;
  CallFrame(const CallFrame &) = delete;
  CallFrame &operator=(const CallFrame &) = delete;

  /// That of the call that this thread works for; null outside of calls.
  static CallFrame *current();

  /// Does `work`, which returns a status, unless the call has failed; then or
  /// if it fails now, false. `where` begins the message. Threads of a parallel
  /// loop take turns.
  template <typename Callable>
  bool attempt(const char *where, Callable work) noexcept {
    if (call.slot.isSet())
      return false;
    try {
      std::lock_guard<std::mutex> lock(mutex);
      nvfp4_status status = work();
      if (status == NVFP4_OK)
        return true;
      recordViolation(std::string(where) + ": " + nvfp4_last_error(), status);
    } catch (...) {
      recordException();
    }
    return false;
  }

  // Each of these returns a status with a message.
  virtual nvfp4_status getStream(nvfp4_stream *&stream) = 0;
  virtual nvfp4_status synchronize() = 0;
  virtual nvfp4_status allocate(uint64_t bytes, void *&pointer) = 0;
  virtual nvfp4_status free(void *pointer) = 0;
  virtual nvfp4_status copy(const RowCopy &copy) = 0;
  virtual nvfp4_status fill(void *target, uint32_t value, unsigned width,
                            size_t count) = 0;
  virtual nvfp4_status launch(const KernelLaunch &launch) = 0;
  /// A kernel of the runtime's own, by name.
  virtual nvfp4_status launchOwn(const char *name, nvfp4_launch launch,
                                 void *const *parameters) = 0;
  virtual nvfp4_status encode(const nvfp4_tensor_map_spec &spec, void *map) = 0;
  /// The memory of result `index`, which has these extents.
  virtual nvfp4_status allocateResult(size_t index,
                                      std::span<const int64_t> extents,
                                      uint64_t bytes, void *&pointer) = 0;
  /// Where kernels record violations of their data.
  virtual nvfp4_status getDataRecord(nvfp4_data_record *&record) = 0;
  /// An error unless the code may load modules and launch their kernels itself.
  virtual nvfp4_status refuseModules() = 0;
  /// Lets kernels read memory of the host.
  virtual nvfp4_status registerHost(void *pointer, size_t bytes) = 0;
  virtual nvfp4_status unregisterHost(void *pointer) = 0;

protected:
  nvfp4_call &call;

private:
  std::mutex mutex;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FRAME_CALLFRAME_H
