//===- Task.h - One launch by compiled code ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The task behind nvfp4_launch.h, for the files that implement its calls.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_LAUNCH_TASK_H
#define NVFP4_LIB_RUNTIME_LAUNCH_TASK_H

#include "../Devices/LaunchDevice.h"
#include "CodedWeights.h"
#include "TaskGroups.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace nvfp4::runtime {

struct Buffer {
  char *host;
  int64_t rows, rowBytes, pitch;
  int32_t access;
  void *memory = nullptr;
  int64_t partRows = 0;
  /// Of tiled scales: how many columns of the last tile of a row are padding.
  int64_t paddingColumns = 0;
  /// Of coded weights: each matrix, a row of the buffer, and the factor of its
  /// products.
  CodedShape coded{};
  std::vector<float> factors{};

  int64_t getBytes() const { return rows * pitch; }
};

/// A parameter's value: a tensor map is the largest.
struct alignas(128) Parameter {
  char bytes[128];
};

/// Rows of parameters in device memory: in the first entry of a row its numbers
/// and pointers, then its maps.
struct Table {
  std::vector<Parameter> entries;
  size_t words = 0, bytes = 0;
};
} // namespace nvfp4::runtime

struct nvfp4_task {
  std::string where;
  nvfp4::runtime::LaunchDevice *device = nullptr;
  nvfp4_kernel *kernel = nullptr;
  /// Of its own, since other threads may run tasks.
  nvfp4_stream *stream = nullptr;
  std::vector<nvfp4::runtime::Buffer> buffers;
  std::deque<nvfp4::runtime::Parameter> parameters;
  nvfp4::runtime::TaskGroups groups;
  /// The one that parameters go to; null if they are the kernel's.
  std::unique_ptr<nvfp4::runtime::Table> table;
  bool failed = false;

  ~nvfp4_task();
  /// Within a handler: what it tells is the task's error.
  void failWithException() noexcept;
  /// Keeps the first error; false if `status` is one.
  bool check(nvfp4_status status);
  bool fail(const std::string &message,
            nvfp4_status status = NVFP4_DEVICE_ERROR);
  /// Whether kernels can hold `extent` as an i32; fails if they cannot.
  bool checkExtent(int64_t extent);
  bool synchronize() {
    return check(nvfp4_stream_synchronize(device->device, stream));
  }
  template <typename T> void add(const T &value) {
    if (table)
      return addWord(&value, sizeof value);
    std::memcpy(parameters.emplace_back().bytes, &value, sizeof value);
  }
  /// To the numbers of the table's last row.
  void addWord(const void *value, size_t bytes);
  void addMap(const nvfp4_tensor_map_spec &spec);
  int32_t addBuffer(const nvfp4::runtime::Buffer &buffer);
  /// Zeros of the buffer's size.
  bool allocate(nvfp4::runtime::Buffer &buffer);
  /// `rows` rows of the host to those from `first` on.
  bool copyIn(const nvfp4::runtime::Buffer &buffer, const char *host,
              int64_t first, int64_t rows);
  bool copyOut(const nvfp4::runtime::Buffer &buffer);
  /// Runs the kernel on at most `blocks` blocks, and waits for it. `flags` are
  /// those of nvfp4_launch.
  bool launch(int64_t blocks, int32_t threads, int32_t sharedBytes,
              int32_t cluster, int32_t flags);
};

namespace nvfp4::runtime {

/// Compiled code, which knows of no exceptions, calls the functions below: does
/// `work` if there is a task, and makes what is thrown its error.
template <typename Callable>
void guarded(nvfp4_task *task, Callable work) noexcept {
  if (!task || task->failed)
    return;
  try {
    work();
  } catch (...) {
    task->failWithException();
  }
}

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_LAUNCH_TASK_H
