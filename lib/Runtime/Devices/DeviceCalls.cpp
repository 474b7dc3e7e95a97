//===- DeviceCalls.cpp - C interface of devices -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks arguments, then asks the device.
//
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "Backend.h"

#include <charconv>
#include <cstdlib>

using namespace nvfp4::runtime;

static nvfp4_status expected(const char *what) {
  return fail(NVFP4_INVALID_ARGUMENT,
              "expected " + std::string(what) + ", but got null");
}

//===- Devices
//-------------------------------------------------------------===//

nvfp4_status nvfp4_device_open(const char *name, nvfp4_device **device) try {
  if (!device)
    return expected("a place for the device");
  *device = nullptr;
  const char *from = "";
  if (!name) {
    name = std::getenv("NVFP4_DEVICE");
    from = "NVFP4_DEVICE: ";
    if (!name || !*name)
      name = "cuda";
  }
  std::string_view text = name;
  std::string_view kind = text.substr(0, text.find(':'));
  int ordinal = 0;
  bool valid = kind == "cpu" || kind == "cuda" || kind == "sim";
  if (kind.size() < text.size()) {
    const char *end = text.data() + text.size();
    auto [stop, error] =
        std::from_chars(text.data() + kind.size() + 1, end, ordinal);
    valid &=
        kind != "cpu" && error == std::errc() && stop == end && ordinal >= 0;
  }
  if (!valid)
    return fail(NVFP4_INVALID_ARGUMENT,
                from +
                    std::string("expected cpu, cuda, cuda:<number> or sim, "
                                "but got '") +
                    name + "'");
  nvfp4_status status = NVFP4_OK;
  if (kind == "cpu")
    *device = makeHostBackend().release();
  else
    *device = makeDriverBackend(kind, ordinal, status).release();
  return status;
} catch (...) {
  return failWithException();
}

void nvfp4_device_release(nvfp4_device *device) { delete device; }

nvfp4_status nvfp4_device_query(nvfp4_device *device,
                                nvfp4_device_info *info) try {
  if (!device || !info)
    return expected("a device and a place for what is known about it");
  return device->query(*info);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_synchronize(nvfp4_device *device) try {
  return device ? device->synchronize() : expected("a device");
} catch (...) {
  return failWithException();
}

//===- Streams and events
//--------------------------------------------------===//

nvfp4_status nvfp4_stream_create(nvfp4_device *device,
                                 nvfp4_stream **stream) try {
  if (!device || !stream)
    return expected("a device and a place for the stream");
  return device->createStream(*stream);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_stream_destroy(nvfp4_device *device,
                                  nvfp4_stream *stream) try {
  if (!device || !stream)
    return expected("a device and a stream");
  return device->destroyStream(stream);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_stream_synchronize(nvfp4_device *device,
                                      nvfp4_stream *stream) try {
  return device ? device->synchronizeStream(stream) : expected("a device");
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_stream_wait_event(nvfp4_device *device, nvfp4_stream *stream,
                                     nvfp4_event *event) try {
  if (!device || !event)
    return expected("a device and an event");
  return device->waitEvent(stream, event);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_event_create(nvfp4_device *device, int timing,
                                nvfp4_event **event) try {
  if (!device || !event)
    return expected("a device and a place for the event");
  return device->createEvent(timing != 0, *event);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_event_destroy(nvfp4_device *device, nvfp4_event *event) try {
  if (!device || !event)
    return expected("a device and an event");
  return device->destroyEvent(event);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_event_record(nvfp4_device *device, nvfp4_event *event,
                                nvfp4_stream *stream) try {
  if (!device || !event)
    return expected("a device and an event");
  return device->recordEvent(event, stream);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_event_synchronize(nvfp4_device *device,
                                     nvfp4_event *event) try {
  if (!device || !event)
    return expected("a device and an event");
  return device->synchronizeEvent(event);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_event_elapsed(nvfp4_device *device, nvfp4_event *start,
                                 nvfp4_event *end, float *milliseconds) try {
  if (!device || !start || !end || !milliseconds)
    return expected("a device, two events and a place for the time");
  return device->elapsed(start, end, *milliseconds);
} catch (...) {
  return failWithException();
}

//===- Memory
//--------------------------------------------------------------===//

nvfp4_status nvfp4_device_alloc(nvfp4_device *device, size_t bytes,
                                void **pointer) try {
  if (!device || !pointer)
    return expected("a device and a place for the pointer");
  if (bytes == 0)
    return fail(NVFP4_INVALID_ARGUMENT, "expected at least 1 byte, but got 0");
  return device->allocate(bytes, *pointer);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_free(nvfp4_device *device, void *pointer) try {
  if (!device)
    return expected("a device");
  return pointer ? device->free(pointer) : NVFP4_OK;
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_copy(nvfp4_device *device, void *target,
                               const void *source, size_t bytes,
                               nvfp4_stream *stream) try {
  if (!device)
    return expected("a device");
  if (bytes == 0)
    return NVFP4_OK;
  if (!target || !source)
    return expected("a target and a source");
  return device->copy(target, source, bytes, stream);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_fill(nvfp4_device *device, void *target,
                               uint32_t value, unsigned width, size_t count,
                               nvfp4_stream *stream) try {
  if (!device)
    return expected("a device");
  if (width != 1 && width != 2 && width != 4)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a width of 1, 2 or 4 bytes, but got " +
                    std::to_string(width));
  if (count == 0)
    return NVFP4_OK;
  return target ? device->fill(target, value, width, count, stream)
                : expected("a target");
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_register_host(nvfp4_device *device, void *pointer,
                                        size_t bytes) try {
  if (!device || !pointer)
    return expected("a device and a pointer");
  return device->registerHost(pointer, bytes);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_unregister_host(nvfp4_device *device,
                                          void *pointer) try {
  if (!device || !pointer)
    return expected("a device and a pointer");
  return device->unregisterHost(pointer);
} catch (...) {
  return failWithException();
}

//===- Modules and kernels
//-------------------------------------------------===//

nvfp4_status nvfp4_device_module_load(nvfp4_device *device, const void *image,
                                      nvfp4_device_module **module) try {
  if (!device || !image || !module)
    return expected("a device, an image and a place for the module");
  *module = nullptr;
  return device->loadModule(image, *module);
} catch (...) {
  return failWithException();
}

void nvfp4_device_module_release(nvfp4_device_module *module) { delete module; }

nvfp4_status nvfp4_device_module_kernel(nvfp4_device_module *module,
                                        const char *name,
                                        nvfp4_kernel **kernel) try {
  if (!module || !name || !kernel)
    return expected("a module, a name and a place for the kernel");
  *kernel = nullptr;
  return module->kernel(name, *kernel);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_device_module_variable(nvfp4_device_module *module,
                                          const char *name, void **pointer,
                                          size_t *bytes) try {
  if (!module || !name || !pointer)
    return expected("a module, a name and a place for the pointer");
  size_t size = 0;
  nvfp4_status status = module->variable(name, *pointer, size);
  if (bytes)
    *bytes = size;
  return status;
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_kernel_launch(nvfp4_kernel *kernel,
                                 const nvfp4_launch *launch,
                                 void *const *arguments) try {
  if (!kernel || !launch)
    return expected("a kernel and a launch");
  if (launch->flags > NVFP4_LAUNCH_COOPERATIVE)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected flags 0, NVFP4_LAUNCH_PROGRAMMATIC or "
                "NVFP4_LAUNCH_COOPERATIVE, but got " +
                    std::to_string(launch->flags));
  return kernel->launch(*launch, arguments);
} catch (...) {
  return failWithException();
}

nvfp4_status nvfp4_tensor_map_encode(nvfp4_device *device,
                                     const nvfp4_tensor_map_spec *spec,
                                     void *map) try {
  if (!device || !spec || !map)
    return expected("a device, a specification and a place for the map");
  if (spec->rank < 1 || spec->rank > 5)
    return fail(NVFP4_INVALID_ARGUMENT, "expected a rank of 1 to 5, but got " +
                                            std::to_string(spec->rank));
  if (reinterpret_cast<uintptr_t>(map) % 64)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a tensor map at a multiple of 64 bytes");
  return device->encodeTensorMap(*spec, map);
} catch (...) {
  return failWithException();
}
