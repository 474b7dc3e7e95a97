//===- OwnFrame.cpp - Calls with a stream of their own ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tools and for code whose memory is the host's.
//
//===----------------------------------------------------------------------===//

#include "DeviceFrame.h"

#include "../Error.h"
#include "KernelTimes.h"

#include <algorithm>

using namespace nvfp4::runtime;

OwnFrame::OwnFrame(nvfp4_call &call, KernelTables &kernels, const char *name)
    : DeviceFrame(call), artefact(kernels), name(name) {}

OwnFrame::~OwnFrame() {
  if (!device)
    return;
  // Nobody is left to hear of an error.
  if (stream)
    nvfp4_stream_synchronize(device->device, stream);
  for (nvfp4_event *event : events)
    nvfp4_event_destroy(device->device, event);
  for (void *pointer : registered)
    nvfp4_device_unregister_host(device->device, pointer);
  for (void *pointer : allocations)
    nvfp4_device_free(device->device, pointer);
  if (stream)
    nvfp4_stream_destroy(device->device, stream);
  if (hasEntered)
    device->device->leave();
}

nvfp4_status OwnFrame::prepare() {
  if (stream)
    return NVFP4_OK;
  if (!device) {
    LaunchDevice *found = nullptr;
    if (nvfp4_status status = findLaunchDevice(name, found))
      return status;
    // Contexts are of a thread. Others of a parallel loop enter for each
    // request.
    if (std::this_thread::get_id() == owner) {
      if (nvfp4_status status = found->device->enter())
        return status;
      hasEntered = true;
    }
    device = found;
    // Before any memory: the device may not run them.
    if (nvfp4_status status = artefact.load(*device, kernels))
      return status;
  }
  return nvfp4_stream_create(device->device, &stream);
}

nvfp4_status OwnFrame::getStream(nvfp4_stream *&stream) {
  nvfp4_status status = prepare();
  stream = this->stream;
  return status;
}

nvfp4_status OwnFrame::findKernel(const nvfp4_kernel_entry &entry,
                                  nvfp4_kernel *&kernel) {
  kernel = kernels ? kernels->find(entry) : nullptr;
  if (kernel)
    return NVFP4_OK;
  return fail(NVFP4_BAD_ARTEFACT, "the artefact does not list its kernel " +
                                      std::string(entry.name));
}

nvfp4_status OwnFrame::synchronize() {
  if (!stream)
    return NVFP4_OK;
  if (nvfp4_status status = nvfp4_stream_synchronize(device->device, stream))
    return status == NVFP4_OUT_OF_MEMORY ? status : NVFP4_DEVICE_ERROR;
  return takeTimes();
}

nvfp4_status OwnFrame::allocate(uint64_t bytes, void *&pointer) {
  if (nvfp4_status status = prepare())
    return status;
  allocations.reserve(allocations.size() + 1);
  // Memory of no bytes has an address, too.
  if (nvfp4_status status = nvfp4_device_alloc(
          device->device, std::max<uint64_t>(bytes, 1), &pointer))
    return status == NVFP4_OUT_OF_MEMORY ? status : NVFP4_DEVICE_ERROR;
  allocations.push_back(pointer);
  return NVFP4_OK;
}

nvfp4_status OwnFrame::free(void *pointer) {
  auto found = std::find(allocations.rbegin(), allocations.rend(), pointer);
  if (found == allocations.rend())
    return pointer ? fail(NVFP4_DEVICE_ERROR,
                          "expected memory of this call to be freed")
                   : NVFP4_OK;
  // Work that uses it may be under way.
  if (nvfp4_status status = synchronize())
    return status;
  *found = allocations.back();
  allocations.pop_back();
  return nvfp4_device_free(device->device, pointer);
}

nvfp4_status OwnFrame::allocateResult(size_t, std::span<const int64_t>,
                                      uint64_t bytes, void *&pointer) {
  return allocate(bytes, pointer);
}

nvfp4_status OwnFrame::getDataRecord(nvfp4_data_record *&record) {
  if (nvfp4_status status = prepare())
    return status;
  if (kernels->getRecords().isEmpty())
    return fail(NVFP4_UNSUPPORTED, "expected kernels with data checks in a "
                                   "module on device memory "
                                   "(--memory=device)");
  if (!this->record)
    this->record.emplace(kernels->getRecords());
  record = &this->record->get();
  return NVFP4_OK;
}

std::string OwnFrame::takeDataViolation() {
  return record ? takeViolation(record->get()) : std::string();
}

nvfp4_status OwnFrame::registerHost(void *pointer, size_t bytes) {
  if (nvfp4_status status = prepare())
    return status;
  registered.reserve(registered.size() + 1);
  if (nvfp4_status status =
          nvfp4_device_register_host(device->device, pointer, bytes))
    return status;
  registered.push_back(pointer);
  return NVFP4_OK;
}

nvfp4_status OwnFrame::unregisterHost(void *pointer) {
  auto found = std::find(registered.begin(), registered.end(), pointer);
  if (found == registered.end())
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected memory that this call has registered");
  registered.erase(found);
  return nvfp4_device_unregister_host(device->device, pointer);
}

nvfp4_status OwnFrame::start(nvfp4_kernel *kernel, nvfp4_launch launch,
                             void *const *parameters) {
  if (!areKernelsTimed())
    return DeviceFrame::start(kernel, launch, parameters);
  auto record = [&]() -> nvfp4_status {
    events.reserve(events.size() + 1);
    nvfp4_event *event = nullptr;
    if (nvfp4_status status = nvfp4_event_create(device->device, 1, &event))
      return status;
    events.push_back(event);
    return nvfp4_event_record(device->device, event, stream);
  };
  if (nvfp4_status status = record())
    return status;
  if (nvfp4_status status = DeviceFrame::start(kernel, launch, parameters))
    return status;
  return record();
}

nvfp4_status OwnFrame::takeTimes() {
  for (size_t i = 0; i + 1 < events.size(); i += 2) {
    float milliseconds = 0;
    if (nvfp4_status status = nvfp4_event_elapsed(device->device, events[i],
                                                  events[i + 1], &milliseconds))
      return status;
    addKernelTime(1e3 * milliseconds);
  }
  for (nvfp4_event *event : events)
    nvfp4_event_destroy(device->device, event);
  events.clear();
  return NVFP4_OK;
}
