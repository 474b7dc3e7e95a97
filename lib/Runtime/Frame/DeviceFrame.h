//===- DeviceFrame.h - Frames that work on a device -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two frames that do what compiled code asks for, on a stream of the caller
// or of their own.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FRAME_DEVICEFRAME_H
#define NVFP4_LIB_RUNTIME_FRAME_DEVICEFRAME_H

#include "../Devices/KernelTable.h"
#include "CallFrame.h"
#include "Workspace.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace nvfp4::runtime {

/// The common part of both: work goes to `stream` of `device`.
class DeviceFrame : public CallFrame {
public:
  using CallFrame::CallFrame;

  nvfp4_status copy(const RowCopy &copy) override;
  nvfp4_status fill(void *target, uint32_t value, unsigned width,
                    size_t count) override;
  nvfp4_status launch(const KernelLaunch &launch) override;
  nvfp4_status encode(const nvfp4_tensor_map_spec &spec, void *map) override;
  nvfp4_status launchOwn(const char *name, nvfp4_launch launch,
                         void *const *parameters) override;

protected:
  /// Sets `device` and `stream`, if they are not known from the start.
  virtual nvfp4_status prepare() { return NVFP4_OK; }
  /// Sets `kernel` to an entry of the artefact.
  virtual nvfp4_status findKernel(const nvfp4_kernel_entry &entry,
                                  nvfp4_kernel *&kernel) = 0;
  /// Starts `kernel` in the stream.
  virtual nvfp4_status start(nvfp4_kernel *kernel, nvfp4_launch launch,
                             void *const *parameters);

  LaunchDevice *device = nullptr;
  nvfp4_stream *stream = nullptr;
};

/// A call of nvfp4_function_run: every byte and the stream are the caller's.
class RunFrame final : public DeviceFrame {
public:
  /// The memory of a result.
  struct Result {
    void *data;
    std::span<const int64_t> extents;
  };

  /// `kernels` are those of the artefact on `device`, which record violations
  /// in `record`. The workspace begins at a multiple of 256 bytes.
  RunFrame(nvfp4_call &call, LaunchDevice &device, const KernelTable &kernels,
           nvfp4_data_record &record, nvfp4_stream *stream, void *workspace,
           uint64_t bytes, std::vector<Result> results);

  nvfp4_status getStream(nvfp4_stream *&stream) override;
  nvfp4_status synchronize() override { return NVFP4_OK; }
  nvfp4_status allocate(uint64_t bytes, void *&pointer) override;
  nvfp4_status free(void *pointer) override;
  nvfp4_status copy(const RowCopy &copy) override;
  nvfp4_status allocateResult(size_t index, std::span<const int64_t> extents,
                              uint64_t bytes, void *&pointer) override;
  nvfp4_status getDataRecord(nvfp4_data_record *&record) override {
    record = &this->record;
    return NVFP4_OK;
  }
  nvfp4_status refuseModules() override;
  nvfp4_status registerHost(void *pointer, size_t bytes) override;
  nvfp4_status unregisterHost(void *pointer) override;

private:
  nvfp4_status findKernel(const nvfp4_kernel_entry &entry,
                          nvfp4_kernel *&kernel) override;

  const KernelTable &kernels;
  nvfp4_data_record &record;
  char *memory;
  uint64_t capacity;
  Workspace workspace;
  std::vector<Result> results;
};

/// A call of nvfp4_function_call: the device is opened and a stream made when
/// the code first asks for one, so that code for the CPU needs neither.
class OwnFrame final : public DeviceFrame {
public:
  /// `kernels` are those of the artefact. `name` is that of the device; null
  /// stands for the one of calls that name none.
  OwnFrame(nvfp4_call &call, KernelTables &kernels, const char *name);
  /// Waits for the stream and frees what the code has left.
  ~OwnFrame() override;

  nvfp4_status getStream(nvfp4_stream *&stream) override;
  nvfp4_status synchronize() override;
  nvfp4_status allocate(uint64_t bytes, void *&pointer) override;
  nvfp4_status free(void *pointer) override;
  nvfp4_status allocateResult(size_t index, std::span<const int64_t> extents,
                              uint64_t bytes, void *&pointer) override;
  nvfp4_status getDataRecord(nvfp4_data_record *&record) override;
  nvfp4_status refuseModules() override { return prepare(); }
  nvfp4_status registerHost(void *pointer, size_t bytes) override;
  nvfp4_status unregisterHost(void *pointer) override;
  /// The violation that the kernels have found, after all work is done; an
  /// empty text if they have found none.
  std::string takeDataViolation();

private:
  nvfp4_status prepare() override;
  nvfp4_status findKernel(const nvfp4_kernel_entry &entry,
                          nvfp4_kernel *&kernel) override;
  nvfp4_status start(nvfp4_kernel *kernel, nvfp4_launch launch,
                     void *const *parameters) override;
  /// Adds the times of kernels that have ended.
  nvfp4_status takeTimes();

  KernelTables &artefact;
  const KernelTable *kernels = nullptr;
  std::optional<DataRecords::Lease> record;
  const char *name;
  /// The thread that made the frame and ends it, and whether it has entered the
  /// device's context.
  const std::thread::id owner = std::this_thread::get_id();
  bool hasEntered = false;
  std::vector<void *> allocations;
  std::vector<void *> registered;
  /// Before and after each kernel that is timed.
  std::vector<nvfp4_event *> events;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FRAME_DEVICEFRAME_H
