//===- HostBackend.cpp - the device cpu -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory of the host. Work is complete when the call that asks for it returns.
//
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "Backend.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace nvfp4::runtime;

/// An event is the time at which it was recorded.
struct nvfp4_event {
  double seconds = 0;
};

namespace {

nvfp4_status noKernels(const std::string &target = "") {
  return fail(NVFP4_UNSUPPORTED, "expected device cuda or sim for kernels" +
                                     (target.empty() ? "" : " for " + target) +
                                     ", but got cpu");
}

/// The GPU that PTX names, empty for other images.
std::string findTarget(const char *image) {
  constexpr std::string_view directive = "\n.target ";
  if (!image || std::strncmp(image, "\177ELF", 4) == 0)
    return "";
  const char *found = std::strstr(image, directive.data());
  if (!found)
    return "";
  found += directive.size();
  return std::string(found, std::strcspn(found, ", \t\r\n"));
}

class HostBackend final : public nvfp4_device {
public:
  nvfp4_status query(nvfp4_device_info &info) override {
    info = {};
    info.kind = "cpu";
    info.name = "host";
    info.multiprocessors =
        static_cast<int>(std::thread::hardware_concurrency());
    return NVFP4_OK;
  }
  nvfp4_status synchronize() override { return NVFP4_OK; }

  nvfp4_status createStream(nvfp4_stream *&stream) override {
    // Streams have no state; the address only has to be one of its own.
    stream = reinterpret_cast<nvfp4_stream *>(new char);
    return NVFP4_OK;
  }
  nvfp4_status destroyStream(nvfp4_stream *stream) override {
    delete reinterpret_cast<char *>(stream);
    return NVFP4_OK;
  }
  nvfp4_status synchronizeStream(nvfp4_stream *) override { return NVFP4_OK; }
  nvfp4_status waitEvent(nvfp4_stream *, nvfp4_event *) override {
    return NVFP4_OK;
  }
  nvfp4_status createEvent(bool, nvfp4_event *&event) override {
    event = new nvfp4_event;
    return NVFP4_OK;
  }
  nvfp4_status destroyEvent(nvfp4_event *event) override {
    delete event;
    return NVFP4_OK;
  }
  nvfp4_status recordEvent(nvfp4_event *event, nvfp4_stream *) override {
    event->seconds = std::chrono::duration<double>(
                         std::chrono::steady_clock::now().time_since_epoch())
                         .count();
    return NVFP4_OK;
  }
  nvfp4_status synchronizeEvent(nvfp4_event *) override { return NVFP4_OK; }
  nvfp4_status elapsed(nvfp4_event *start, nvfp4_event *end,
                       float &milliseconds) override {
    milliseconds = static_cast<float>((end->seconds - start->seconds) * 1e3);
    return NVFP4_OK;
  }

  nvfp4_status allocate(size_t bytes, void *&pointer) override {
    constexpr size_t alignment = 256;
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    pointer =
        rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
    if (pointer)
      return NVFP4_OK;
    return fail(NVFP4_OUT_OF_MEMORY,
                "no memory for " + std::to_string(bytes) + " bytes");
  }
  nvfp4_status free(void *pointer) override {
    std::free(pointer);
    return NVFP4_OK;
  }
  nvfp4_status copy(void *target, const void *source, size_t bytes,
                    nvfp4_stream *) override {
    std::memmove(target, source, bytes);
    return NVFP4_OK;
  }
  nvfp4_status copyRows(const RowCopy &copy, nvfp4_stream *) override {
    for (size_t row = 0; row < copy.rows; ++row)
      std::memmove(static_cast<char *>(copy.target) + row * copy.targetPitch,
                   static_cast<const char *>(copy.source) +
                       row * copy.sourcePitch,
                   copy.bytes);
    return NVFP4_OK;
  }
  nvfp4_status isCapturing(nvfp4_stream *, bool &capturing) override {
    capturing = false;
    return NVFP4_OK;
  }
  nvfp4_status fill(void *target, uint32_t value, unsigned width, size_t count,
                    nvfp4_stream *) override {
    auto *bytes = static_cast<char *>(target);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(bytes + i * width, &value, width);
    return NVFP4_OK;
  }
  nvfp4_status registerHost(void *, size_t) override { return NVFP4_OK; }
  nvfp4_status unregisterHost(void *) override { return NVFP4_OK; }
  nvfp4_status allocateHost(size_t bytes, void *&pointer) override {
    return allocate(bytes, pointer);
  }
  nvfp4_status freeHost(void *pointer) override { return free(pointer); }

  nvfp4_status loadModule(const void *image, nvfp4_device_module *&) override {
    return noKernels(findTarget(static_cast<const char *>(image)));
  }
  nvfp4_status encodeTensorMap(const nvfp4_tensor_map_spec &, void *) override {
    return noKernels();
  }
};

} // namespace

std::unique_ptr<nvfp4_device> nvfp4::runtime::makeHostBackend() {
  return std::make_unique<HostBackend>();
}
