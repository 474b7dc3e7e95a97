//===- Backend.h - what a device must do ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C interface checks arguments and calls one of these. Device cpu is
// HostBackend.cpp, cuda and sim are DriverBackend.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_BACKEND_H
#define NVFP4_LIB_RUNTIME_DEVICES_BACKEND_H

#include "nvfp4/Runtime/nvfp4_device.h"

#include <memory>
#include <string>
#include <string_view>

namespace nvfp4::runtime {

/// A copy in a stream: `rows` rows of `bytes` each, which begin every `pitch`
/// bytes on either side.
struct RowCopy {
  void *target;
  const void *source;
  size_t bytes;
  size_t rows = 1, targetPitch = 0, sourcePitch = 0;
  /// Neither side is the host's: an error if one is.
  bool isOnDevice = false;

  /// Rows follow each other on both sides, so that they are one.
  bool hasGaps() const {
    return rows > 1 && (targetPitch != bytes || sourcePitch != bytes);
  }
};

} // namespace nvfp4::runtime

/// A device behind the C interface. Statuses come with a message.
struct nvfp4_device {
  virtual ~nvfp4_device() = default;

  /// Spares this thread what a call costs to begin and end on the device, until
  /// `leave`. They nest, also with those of other devices.
  virtual nvfp4_status enter() { return NVFP4_OK; }
  virtual void leave() {}

  virtual nvfp4_status query(nvfp4_device_info &info) = 0;
  virtual nvfp4_status synchronize() = 0;

  virtual nvfp4_status createStream(nvfp4_stream *&stream) = 0;
  virtual nvfp4_status destroyStream(nvfp4_stream *stream) = 0;
  virtual nvfp4_status synchronizeStream(nvfp4_stream *stream) = 0;
  virtual nvfp4_status waitEvent(nvfp4_stream *stream, nvfp4_event *event) = 0;
  virtual nvfp4_status createEvent(bool timing, nvfp4_event *&event) = 0;
  virtual nvfp4_status destroyEvent(nvfp4_event *event) = 0;
  virtual nvfp4_status recordEvent(nvfp4_event *event,
                                   nvfp4_stream *stream) = 0;
  virtual nvfp4_status synchronizeEvent(nvfp4_event *event) = 0;
  virtual nvfp4_status elapsed(nvfp4_event *start, nvfp4_event *end,
                               float &milliseconds) = 0;

  virtual nvfp4_status allocate(size_t bytes, void *&pointer) = 0;
  virtual nvfp4_status free(void *pointer) = 0;
  virtual nvfp4_status copy(void *target, const void *source, size_t bytes,
                            nvfp4_stream *stream) = 0;
  virtual nvfp4_status copyRows(const nvfp4::runtime::RowCopy &copy,
                                nvfp4_stream *stream) = 0;
  virtual nvfp4_status isCapturing(nvfp4_stream *stream, bool &capturing) = 0;
  virtual nvfp4_status fill(void *target, uint32_t value, unsigned width,
                            size_t count, nvfp4_stream *stream) = 0;
  virtual nvfp4_status registerHost(void *pointer, size_t bytes) = 0;
  virtual nvfp4_status unregisterHost(void *pointer) = 0;
  /// Memory of the host that kernels reach by the same address, whole pages.
  virtual nvfp4_status allocateHost(size_t bytes, void *&pointer) = 0;
  virtual nvfp4_status freeHost(void *pointer) = 0;

  virtual nvfp4_status loadModule(const void *image,
                                  nvfp4_device_module *&module) = 0;
  virtual nvfp4_status encodeTensorMap(const nvfp4_tensor_map_spec &spec,
                                       void *map) = 0;
};

/// A loaded module.
struct nvfp4_device_module {
  virtual ~nvfp4_device_module() = default;
  virtual nvfp4_status kernel(const char *name, nvfp4_kernel *&kernel) = 0;
  virtual nvfp4_status variable(const char *name, void *&pointer,
                                size_t &bytes) = 0;
};

/// A kernel of a module.
struct nvfp4_kernel {
  virtual ~nvfp4_kernel() = default;
  /// Allows what such a launch asks for, so that it need not.
  virtual nvfp4_status prepare(const nvfp4_launch &launch) = 0;
  virtual nvfp4_status launch(const nvfp4_launch &launch,
                              void *const *arguments) = 0;
};

namespace nvfp4::runtime {

std::unique_ptr<nvfp4_device> makeHostBackend();

/// `kind` is "cuda" or "sim". Null with the thread's last error set, and
/// `status` what to return.
std::unique_ptr<nvfp4_device>
makeDriverBackend(std::string_view kind, int ordinal, nvfp4_status &status);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_BACKEND_H
